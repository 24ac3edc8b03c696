#include <algorithm>
#include <iterator>
#include <utility>

#include "api/apiserver/cluster_defaults.h"
#include "api/apiserver/join_service.h"
#include "api/controllers/garbage_collector.h"
#include "api/controllers/namespace_terminator.h"
#include "api/resource/core/core_kinds.h"
#include "program/server_addresses.h"
#include "program/server_mode.h"

namespace fairlead::program {
namespace {

class StandaloneParts final : public ModeParts {
 public:
  explicit StandaloneParts(const ServerCore& core);
  Task<Result<>> load() override {
    return apiserver::ensure_defaults(core_.runtime, core_.cache, core_.catalog,
                                      core_.api.writer());
  }
  void listening(const std::vector<runtime::Endpoint>& local) override {
    joining_.set_servers(urls_for_nodes(local, core_.config));
  }
  void start(runtime::Scope& scope) override {
    scope.spawn(garbage_.run());
    scope.spawn(namespaces_.run());
  }

 private:
  ServerCore core_;
  apiserver::JoinService joining_;
  controllers::NamespaceTerminator namespaces_;
  controllers::GarbageCollector garbage_;
};

apiserver::JoinOptions join_options(const ServerConfig& config) {
  const double joins = config.flags.joins_per_second;
  return {.burst = 5 * joins, .per_second = joins};
}

StandaloneParts::StandaloneParts(const ServerCore& core)
    : core_(core),
      joining_({.runtime = core.runtime,
                .catalog = core.catalog,
                .cache = core.cache,
                .writer = core.api.writer(),
                .authority = core.identity.authority(),
                .authenticator = core.identity.authenticator()},
               join_options(core.config)),
      namespaces_(core.runtime, core.catalog, core.cache, core.api.writer(),
                  core.queues.of("namespace-terminator")),
      garbage_(core.runtime, core.catalog, core.cache, core.api.writer(),
               core.queues.of("garbage-collector")) {
  core.api.add_path(joining_);
}

const resource::Catalog& all_kinds() {
  static const resource::Catalog catalog = [] {
    std::vector<resource::Kind> kinds = resource::core_kinds();
    std::ranges::move(feature_kinds(), std::back_inserter(kinds));
    return resource::Catalog(std::move(kinds));
  }();
  return catalog;
}

class StandaloneMode final : public ServerMode {
 public:
  const resource::Catalog& catalog() const override { return all_kinds(); }
  FurtherAuthenticators authenticators() override { return {}; }
  std::vector<identity::Authorizer*> authorizers() override { return {}; }
  control::EventSink* events() override { return nullptr; }
  bool serves_reviews() const override { return true; }
  std::unique_ptr<ModeParts> attach(const ServerCore& core) override {
    return std::make_unique<StandaloneParts>(core);
  }
};

}  // namespace

std::unique_ptr<ServerMode> make_standalone_mode() { return std::make_unique<StandaloneMode>(); }

}  // namespace fairlead::program
