// NodeIndex: which objects are on which node and which values of their shared field concern it, for
// every kind that says so (resource::NodeAccess), kept current from the watch cache. The rights of
// the node role depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/identity/authorizer.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/key_map.h"

namespace fairlead::apiserver {

class NodeIndex final : public identity::NodeFacts {
 public:
  // Observes `cache` from now on; both must live equally long.
  NodeIndex(const resource::Catalog& catalog, watchcache::WatchCache& cache);

  Placement placement(const resource::Kind& kind, std::string_view node,
                      std::string_view namespace_name, std::string_view name) const override;
  bool shares(const resource::Kind& kind, std::string_view node,
              std::uint32_t value) const override;
  std::uint32_t shared_value_of(const resource::Kind& kind, std::string_view namespace_name,
                                std::string_view name) const override;

  // The fingerprint of the key that the Node was registered with
  // (identity::kRegistrationAnnotation); empty: none.
  std::string_view key_pin_of(std::string_view node) const;

  // Called when a node may have lost a right: its registration changed, or its last object with
  // some value of the shared field is gone.
  void on_loss(std::function<void(std::string_view node)> callback) {
    on_loss_ = std::move(callback);
  }

 private:
  // A kind whose objects are placed on nodes.
  struct Placed {
    const resource::Kind* kind;
    std::size_t node_field;  // places in kind.selectable
    std::optional<std::size_t> shared_field;
    // The number of objects by node and shared value.
    KeyMap<std::map<std::uint32_t, std::size_t>> values;

    std::uint32_t value_of(const watchcache::Object& object) const;
    // True when it was its node's last object with its value.
    bool count(const watchcache::Object* object, int by);
  };
  const Placed& placed(const resource::Kind& kind) const;
  void object_changed(Placed& placed, const watchcache::Object* before,
                      const watchcache::Object* after);
  void node_changed(const watchcache::Object* before, const watchcache::Object* after);
  void rebuild();

  std::vector<Placed> placed_;
  const resource::Kind* nodes_;  // null: the server stores no Nodes, so none is registered
  watchcache::WatchCache& cache_;
  KeyMap<std::string> pins_;  // by node
  std::function<void(std::string_view)> on_loss_;
};

}  // namespace fairlead::apiserver
