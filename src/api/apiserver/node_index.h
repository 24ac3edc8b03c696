// NodeIndex: which attachments are on which node and which virtual networks are relevant to it,
// kept current from the watch cache. The rights of the node role depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/identity/authorizer.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/key_map.h"

namespace fairlead::apiserver {

class NodeIndex final : public identity::NodeFacts {
 public:
  // Observes `cache` from now on; both must live equally long.
  NodeIndex(const resource::Catalog& catalog, watchcache::WatchCache& cache);

  Placement placement(std::string_view node, std::string_view namespace_name,
                      std::string_view attachment) const override;
  bool relevant(std::string_view node, std::uint32_t vni) const override;
  std::uint32_t network_of(std::string_view namespace_name,
                           std::string_view attachment) const override;

  // The fingerprint of the key that the Node was registered with
  // (identity::kRegistrationAnnotation); empty: none.
  std::string_view key_pin_of(std::string_view node) const;

  // Called when a node may have lost a right: its registration changed, or its last attachment in a
  // virtual network is gone.
  void on_loss(std::function<void(std::string_view node)> callback) {
    on_loss_ = std::move(callback);
  }

 private:
  struct Seat {
    std::string node;
    std::uint32_t vni = 0;  // 0: no address yet
  };
  Seat seat_of(const watchcache::Object& attachment) const;
  void attachment_changed(const watchcache::Object* before, const watchcache::Object* after);
  void node_changed(const watchcache::Object* before, const watchcache::Object* after);
  // True when it was its node's last attachment in its network.
  bool count(const watchcache::Object* attachment, int by);
  void rebuild();

  const resource::Kind* attachments_;
  const resource::Kind* nodes_;  // null: the server stores no Nodes, so none is registered
  watchcache::WatchCache& cache_;
  std::size_t node_field_ = 0;  // places in kind.selectable
  std::size_t vni_field_ = 0;
  KeyMap<std::map<std::uint32_t, std::size_t>> seats_;  // attachments by node and VNI
  KeyMap<std::string> pins_;                            // by node
  std::function<void(std::string_view)> on_loss_;
};

}  // namespace fairlead::apiserver
