#include "program/host_access.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "api/identity/kubeconfig_file.h"
#include "program/server_config.h"

namespace fairlead::program {
namespace {

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<identity::ClientConfig> read_config(runtime::Runtime& runtime,
                                           const std::string& kubeconfig) {
  const auto read = [&runtime](const std::string& path) { return runtime.files().read(path); };
  if (kubeconfig == kInCluster) return identity::in_cluster_config(environment, read);
  return identity::read_kubeconfig(kubeconfig, read);
}

}  // namespace

Result<std::unique_ptr<delegation::HostCluster>> open_host(runtime::Runtime& runtime,
                                                           const std::string& kubeconfig) {
  const auto named = [&kubeconfig](const Error& error) {
    return fail(error.context("--host-kubeconfig " + kubeconfig));
  };
  Result<identity::ClientConfig> config = read_config(runtime, kubeconfig);
  if (!config) return named(config.error());
  if (Result<> fits = identity::check_config(*config); !fits) return named(fits.error());
  auto host = delegation::HostCluster::open(runtime, std::move(*config));
  if (!host) return named(host.error());
  return host;
}

void register_host_metrics(metrics::Registry& registry, delegation::HostCluster& host) {
  const auto count = [&registry](const char* name, const char* help, auto value) {
    registry.counter_of(name, help, [value] { return static_cast<double>(value()); });
  };
  count("fairlead_host_token_reviews_total", "TokenReviews sent to the host cluster.",
        [&host] { return host.tokens()->reviews(); });
  count("fairlead_host_token_review_failures_total", "TokenReviews that got no answer.",
        [&host] { return host.tokens()->failures(); });
  count("fairlead_host_access_reviews_total", "SubjectAccessReviews sent to the host cluster.",
        [&host] { return host.authorizer().reviews(); });
  count("fairlead_host_access_review_failures_total", "SubjectAccessReviews that got no answer.",
        [&host] { return host.authorizer().failures(); });
  registry.gauge_of("fairlead_host_nodes", "Nodes of the host cluster, as the server sees them.",
                    [&host] { return static_cast<double>(host.nodes().count()); });
}

}  // namespace fairlead::program
