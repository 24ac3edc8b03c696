// ServerMode: what differs between a server that stands alone and one that stands behind the API
// aggregator of a host cluster (docs/design/005). server_program.cc does what both have in common
// and asks its mode for the rest.
//
//                   standalone                           aggregated
//   kinds           all                                  those of the features
//   users, rights   this server's own                    also the host's
//   nodes join      here (JoinService)                   at the host
//   namespaces      NamespaceTerminator                  the host's, followed
//   garbage         GarbageCollector                     the host's garbage collector
//   Events          in this server's store               written to the host
#pragma once

#include <memory>
#include <vector>

#include "api/apiserver/api_server.h"
#include "api/control/event_recorder.h"
#include "api/control/work_queue_metrics.h"
#include "foundation/runtime/scope.h"
#include "program/features.h"
#include "program/server_config.h"
#include "program/server_identity.h"

namespace fairlead::program {

// What every server has.
struct ServerCore {
  runtime::Runtime& runtime;
  const ServerConfig& config;
  const resource::Catalog& catalog;
  watchcache::WatchCache& cache;
  apiserver::ApiServer& api;
  ServerIdentity& identity;
  const ServerFeatures& features;
  control::WorkQueueFamilies& queues;
  metrics::Registry& metrics;
};

// The controllers, admissions and paths that only one mode has. The functions are called in this
// order.
class ModeParts {
 public:
  virtual ~ModeParts() = default;
  // What must be there before anything is served.
  virtual Task<Result<>> load() = 0;
  // The server listens there.
  virtual void listening(const std::vector<runtime::Endpoint>&) {}
  virtual void start(runtime::Scope& scope) = 0;
};

class ServerMode {
 public:
  virtual ~ServerMode() = default;
  virtual const resource::Catalog& catalog() const = 0;
  virtual FurtherAuthenticators authenticators() = 0;
  virtual std::vector<identity::Authorizer*> authorizers() = 0;  // asked after this server's roles
  virtual control::EventSink* events() = 0;  // for a catalog without Events; null: there is none
  virtual bool serves_reviews() const = 0;
  // Once everything in `core` is made. The parts live no longer than `core` and this mode.
  virtual std::unique_ptr<ModeParts> attach(const ServerCore& core) = 0;
};

std::unique_ptr<ServerMode> make_standalone_mode();
// Fails, naming --host-kubeconfig. Nothing is asked of the host yet.
Result<std::unique_ptr<ServerMode>> make_aggregated_mode(runtime::Runtime& runtime,
                                                         const ServerConfig& config);

}  // namespace fairlead::program
