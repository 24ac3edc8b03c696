// The store that --store names, ready for use, with its figures for /metrics.
#pragma once

#include <memory>
#include <string>

#include "api/store/opened_store.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"
#include "program/server_config.h"

namespace fairlead::program {

using store::OpenedStore;

// A store that nobody else uses, and that needs no closing.
OpenedStore used_alone(std::unique_ptr<store::Store> store, std::string description);

// `seen`: a revision that is known to have been handed out, by which a store that was restored
// outside Fairlead is recognised. Only for etcd; the server's folder tells it of another.
Result<OpenedStore> open_store(runtime::Runtime& runtime, const ServerConfig& config,
                               metrics::Registry& metrics, store::Revision seen = 0);

}  // namespace fairlead::program
