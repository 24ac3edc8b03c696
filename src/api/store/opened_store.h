// A store that was chosen by a flag: which one, and, once it is open, what is specific to each.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/store/store.h"
#include "foundation/runtime/task.h"

namespace fairlead::store {

struct StoreChoice {
  enum class Kind { sqlite, etcd, memory };
  Kind kind = Kind::sqlite;
  std::string location;  // sqlite: the folder; etcd: the member URLs
};

struct OpenedStore {
  std::unique_ptr<Store> store;
  std::string description;  // "sqlite:DIR"
  std::function<Task<void>()> close;
  std::function<Task<Result<>>()> compact;  // called once a period: keeps one to two periods
  std::function<Task<void>()> keep;         // runs beside the server until cancelled
  std::shared_ptr<void> folder_lock;  // held for stores that do not lock the folder themselves
};

}  // namespace fairlead::store
