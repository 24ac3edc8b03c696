// The store that --store names, ready for use, and what is specific to each: closing, compaction,
// figures for /metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/store/store.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"
#include "program/server_config.h"

namespace fairlead::program {

struct OpenedStore {
  std::unique_ptr<store::Store> store;
  std::string description;  // "sqlite:DIR"
  std::function<Task<void>()> close;
  std::function<Task<Result<>>()> compact;  // called once a period: keeps one to two periods
  std::function<Task<void>()> keep;         // runs beside the server until cancelled
  std::shared_ptr<void> folder_lock;  // held for stores that do not lock the folder themselves
};

// A store that nobody else uses, and that needs no closing.
OpenedStore used_alone(std::unique_ptr<store::Store> store, std::string description);

// `seen`: a revision that is known to have been handed out, by which a store that was restored
// outside Fairlead is recognised. Only for etcd; the server's folder tells it of another.
Result<OpenedStore> open_store(runtime::Runtime& runtime, const ServerConfig& config,
                               metrics::Registry& metrics, store::Revision seen = 0);

}  // namespace fairlead::program
