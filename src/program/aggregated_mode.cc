#include <algorithm>
#include <iterator>
#include <utility>

#include "api/delegation/host_cluster.h"
#include "program/host_access.h"
#include "program/server_mode.h"

namespace fairlead::program {
namespace {

std::vector<std::string> known_nodes(const ServerFeatures& features) {
  std::vector<std::string> nodes;
  for (const auto& feature : features)
    std::ranges::copy(feature->known_nodes(), std::back_inserter(nodes));
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

Task<Result<>> forget_node(const ServerFeatures& features, std::string node) {
  for (const auto& feature : features) {
    FL_CO_CHECKED(co_await feature->forget_node(node));
  }
  co_return Result<>{};
}

class AggregatedParts final : public ModeParts {
 public:
  AggregatedParts(const ServerCore& core, delegation::HostCluster& host);
  Task<Result<>> load() override;
  void start(runtime::Scope& scope) override { scope.spawn(host_.run()); }

 private:
  watchcache::WatchCache& cache_;
  delegation::HostCluster& host_;
};

AggregatedParts::AggregatedParts(const ServerCore& core, delegation::HostCluster& host)
    : cache_(core.cache), host_(host) {
  core.api.writer().add_admission(host.namespaces());
  host.on_change([&host, &identity = core.identity] {
    identity.set_further_authorities(host.client_authorities());
  });
  host.nodes().serve([&features = core.features] { return known_nodes(features); },
                     [&features = core.features](std::string node) {
                       return forget_node(features, std::move(node));
                     });
  register_host_metrics(core.metrics, host);
}

Task<Result<>> AggregatedParts::load() {
  FL_CO_CHECKED(co_await cache_.wait_ready());
  const Result<> loaded = co_await host_.load();
  if (!loaded) co_return fail(loaded.error().context("--host-kubeconfig"));
  co_return Result<>{};
}

class AggregatedMode final : public ServerMode {
 public:
  explicit AggregatedMode(std::unique_ptr<delegation::HostCluster> host) : host_(std::move(host)) {}
  // The other kinds are the host's.
  const resource::Catalog& catalog() const override {
    static const resource::Catalog catalog(feature_kinds());
    return catalog;
  }
  FurtherAuthenticators authenticators() override {
    return {.request_headers = host_->request_headers(),
            .certificates = host_->certificates(),
            .tokens = host_->tokens()};
  }
  std::vector<identity::Authorizer*> authorizers() override { return {&host_->authorizer()}; }
  control::EventSink* events() override { return &host_->events(); }
  bool serves_reviews() const override { return false; }
  std::unique_ptr<ModeParts> attach(const ServerCore& core) override {
    return std::make_unique<AggregatedParts>(core, *host_);
  }

 private:
  std::unique_ptr<delegation::HostCluster> host_;
};

}  // namespace

Result<std::unique_ptr<ServerMode>> make_aggregated_mode(runtime::Runtime& runtime,
                                                         const ServerConfig& config) {
  FL_TRY(auto host, open_host(runtime, config.flags.host_kubeconfig));
  if (config.agent_tokens) host->accept_agents(*config.agent_tokens);
  return std::make_unique<AggregatedMode>(std::move(host));
}

}  // namespace fairlead::program
