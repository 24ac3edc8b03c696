// What really happened below a store's root in an EtcdModel, in the store's own terms: every change
// from the first revision on, to hold stores and servers to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/store/etcd/keys.h"
#include "api/store/store.h"
#include "sim/models/etcd_model.h"

namespace fairlead::sim {

struct StoredChange {
  std::string key;
  store::Place place;
  std::optional<std::string> value;  // empty: erased
};

inline std::vector<StoredChange> stored_changes(const EtcdModel& model,
                                                std::string_view root = "/fairlead/") {
  const store::EtcdKeys keys(root);
  std::vector<StoredChange> changes;
  store::Place place{0, 0};
  for (const EtcdModel::Event& event : model.log()) {
    place = event.revision == place.revision ? store::Place{place.revision, place.position + 1}
                                             : store::Place{event.revision, 0};
    const auto key = keys.key_of(event.key);
    if (!key) continue;
    StoredChange change{.key = std::string(*key), .place = place, .value = std::nullopt};
    if (!event.erased) {
      const auto opened = store::open_value(event.value);
      change.value = opened->value;
      change.place.position = place.position = opened->position;
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace fairlead::sim
