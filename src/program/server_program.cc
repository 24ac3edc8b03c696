#include "program/server_program.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "apiserver/api_server.h"
#include "apiserver/cluster_defaults.h"
#include "apiserver/join_service.h"
#include "base/log.h"
#include "client/work_queue_metrics.h"
#include "controllers/expirer.h"
#include "controllers/garbage_collector.h"
#include "controllers/namespace_terminator.h"
#include "delegation/host_cluster.h"
#include "http/server.h"
#include "http/server_metrics.h"
#include "identity/authorizer.h"
#include "ipam/virtual_networks.h"
#include "program/audit_file.h"
#include "program/backup_service.h"
#include "program/build_info.h"
#include "program/host_access.h"
#include "program/open_store.h"
#include "program/resident_memory.h"
#include "program/server_identity.h"
#include "runtime/network_namespace.h"
#include "runtime/scope.h"
#include "watchcache/cache_metrics.h"

namespace fairlead::program {
namespace {

constexpr Duration kCompactInterval = 5min;
constexpr Duration kGiveBackInterval = 1min;

// The cache must never end before the server does: without it nothing true could be answered.
Task<void> follow_store(watchcache::WatchCache& cache, std::optional<Error>& failure,
                        runtime::Signal& ended) {
  const Result<> outcome = co_await cache.run();
  if (!outcome && outcome.error().code != Code::cancelled) failure = outcome.error();
  ended.notify();
}

Task<void> compact_now_and_then(runtime::Runtime& runtime, OpenedStore& opened) {
  for (;;) {
    const Result<> slept = co_await runtime::sleep(runtime, kCompactInterval);
    if (!slept) co_return;
    const Result<> compacted = co_await opened.compact();
    if (!compacted)
      log::warning("history not compacted", {{"error", compacted.error().to_string()}});
  }
}

// Starting, and nodes that join by the hundred, need much that serving does not.
Task<void> give_back_now_and_then(runtime::Runtime& runtime) {
  while (co_await runtime::sleep(runtime, kGiveBackInterval)) give_back_memory();
}

Task<void> catch_signal(runtime::EpollRuntime& runtime, int& caught, runtime::Signal& ended) {
  const Result<int> signal = co_await runtime.next_signal();
  if (signal) caught = *signal;
  ended.notify();
}

Task<void> cancel_at(runtime::Signal& ended, runtime::Nested<Result<>>& work) {
  const Result<> told = co_await ended.wait();
  if (told) work.cancel();
}

// What must be known of the host cluster, and the cache, before anything is served; given up when
// the server is to end.
Task<Result<>> load_host(delegation::HostCluster& host, watchcache::WatchCache& cache) {
  FL_CO_CHECKED(co_await cache.wait_ready());
  const Result<> loaded = co_await host.load();
  if (!loaded) co_return fail(loaded.error().context("--host-kubeconfig"));
  co_return Result<>{};
}

Task<Result<>> load_host_until(runtime::Runtime& runtime, delegation::HostCluster& host,
                               watchcache::WatchCache& cache, runtime::Signal& ended) {
  runtime::Nested<Result<>> work(runtime, load_host(host, cache));
  runtime::Scope scope(runtime);
  scope.spawn(cancel_at(ended, work));
  Result<> outcome = co_await work;
  co_await scope.close();
  co_return outcome;
}

std::string url_of(const runtime::Endpoint& local, const ServerConfig& config) {
  if (!config.flags.advertise.empty()) return "https://" + config.flags.advertise.front();
  runtime::Endpoint shown = local;
  if (shown.host == "0.0.0.0") shown.host = "127.0.0.1";
  if (shown.host == "::") shown.host = "::1";
  return "https://" + shown.to_string();
}

// What nodes are told: every --advertise, or the addresses listened on. A wildcard tells them
// nothing; they know the address they joined at.
std::vector<std::string> urls_for_nodes(const std::vector<runtime::Endpoint>& local,
                                        const ServerConfig& config) {
  std::vector<std::string> urls;
  for (const std::string& text : config.flags.advertise) urls.push_back("https://" + text);
  if (!urls.empty()) return urls;
  for (const ElsewhereEndpoint& elsewhere : config.listen_elsewhere)
    urls.push_back("https://" + elsewhere.endpoint.to_string());
  for (const runtime::Endpoint& at : local)
    if (at.kind == runtime::Endpoint::Kind::tcp && at.host != "0.0.0.0" && at.host != "::")
      urls.push_back("https://" + at.to_string());
  return urls;
}

Result<std::unique_ptr<runtime::Listener>> listen_elsewhere(
    runtime::Runtime& runtime, const ElsewhereEndpoint& at,
    std::shared_ptr<const runtime::TlsSource> tls) {
  FL_TRY(const auto visit, runtime::NetworkNamespaceVisit::enter(at.netns));
  return runtime.listen(at.endpoint, std::move(tls));
}

}  // namespace

Task<Result<>> run_server(runtime::EpollRuntime& runtime, const ServerConfig& config) {
  FL_CO_CHECKED(runtime.files().make_directories(config.flags.data, 0700));
  metrics::Registry metrics;
  metrics::register_process_metrics(metrics);
  register_build_info(metrics);
  FL_CO_TRY(OpenedStore opened, open_store(runtime, config, metrics));
  std::unique_ptr<delegation::HostCluster> host;
  if (config.aggregated()) {
    FL_CO_TRY(host, open_host(runtime, config.flags.host_kubeconfig));
  }
  const resource::Catalog& catalog =
      host ? resource::fairlead_catalog() : resource::builtin_catalog();
  watchcache::WatchCache cache(runtime, *opened.store, catalog);
  watchcache::register_cache_metrics(metrics, cache, catalog);
  apiserver::NodeIndex nodes(catalog, cache);
  const auto node_registered = [&nodes](std::string_view node, std::string_view pin) {
    return nodes.key_pin_of(node) == pin;
  };
  FL_CO_TRY(const std::unique_ptr<ServerIdentity> identity,
            ServerIdentity::open(runtime, config, node_registered, host.get()));
  identity::RoleAuthorizer roles(&nodes);
  std::vector<identity::Authorizer*> authorizers{&roles};
  if (host) authorizers.push_back(&host->authorizer());
  identity::UnionAuthorizer roles_and_host(std::move(authorizers));
  identity::Authorizer& authorizer =
      host ? static_cast<identity::Authorizer&>(roles_and_host) : roles;
  apiserver::ApiServer api({.runtime = runtime,
                            .store = *opened.store,
                            .cache = cache,
                            .catalog = catalog,
                            .nodes = nodes,
                            .authenticator = identity->authenticator(),
                            .authorizer = authorizer,
                            .metrics = metrics},
                           {.reads = config.flags.max_reads,
                            .writes = config.flags.max_writes,
                            .watches = config.flags.max_watches,
                            .reviews = !host});
  BackupService backup(*opened.store);
  api.add_path(backup);
  client::WorkQueueFamilies queues(metrics);
  ipam::VirtualNetworks networks(runtime, catalog, cache, api.writer(), metrics, &queues,
                                 host ? &host->events() : nullptr);
  // Nodes and namespaces are this server's own, or the host's.
  std::optional<apiserver::JoinService> joining;
  std::optional<controllers::NamespaceTerminator> namespaces;
  if (host) {
    api.writer().add_admission(host->namespaces());
    register_host_metrics(metrics, *host);
  } else {
    const double joins = config.flags.joins_per_second;
    joining.emplace(apiserver::JoinService::Parts{.runtime = runtime,
                                                  .catalog = catalog,
                                                  .cache = cache,
                                                  .writer = api.writer(),
                                                  .authority = identity->authority(),
                                                  .authenticator = identity->authenticator()},
                    apiserver::JoinOptions{.burst = 5 * joins, .per_second = joins});
    api.add_path(*joining);
    namespaces.emplace(runtime, catalog, cache, api.writer(), queues.of("namespace-terminator"));
  }
  controllers::GarbageCollector garbage(runtime, catalog, cache, api.writer(),
                                        queues.of("garbage-collector"));
  controllers::Expirer expirer(runtime, catalog, cache, api.writer());
  std::unique_ptr<AuditFile> audit;
  if (!config.flags.audit_log.empty()) {
    FL_CO_TRY(audit, AuditFile::open(config.flags.audit_log));
    api.set_audit({config.audit_level, [&audit](std::string line) { audit->append(line); }});
  }

  http::Server server(runtime, api, config.limits);
  http::register_server_metrics(metrics, server);
  runtime::Scope scope(runtime);
  runtime::Signal ended;
  std::optional<Error> failure;
  int caught = 0;
  scope.spawn(follow_store(cache, failure, ended));
  scope.spawn(catch_signal(runtime, caught, ended));

  // Nothing is served before the cache is loaded and the first namespaces exist.
  Result<> ready;
  if (host) {
    ready = co_await load_host_until(runtime, *host, cache, ended);
  } else {
    ready = co_await apiserver::ensure_defaults(runtime, cache, catalog, api.writer(), ended);
  }
  std::string url;
  std::vector<runtime::Endpoint> local;
  for (const runtime::Endpoint& at : config.listen) {
    if (!ready) break;
    Result<std::unique_ptr<runtime::Listener>> listener =
        runtime.listen(at, identity->authority().tls());
    if (!listener) {
      ready = fail(std::move(listener).error().context("--listen"));
      break;
    }
    local.push_back((*listener)->local());
    if (url.empty()) url = url_of(local.front(), config);
    scope.spawn(server.serve(std::move(*listener)));
  }
  for (const ElsewhereEndpoint& at : config.listen_elsewhere) {
    if (!ready) break;
    auto listener = listen_elsewhere(runtime, at, identity->authority().tls());
    if (listener) {
      scope.spawn(server.serve(std::move(*listener)));
    } else {
      ready = fail(std::move(listener).error().context("--listen-netns"));
    }
  }
  if (joining) joining->set_servers(urls_for_nodes(local, config));
  if (ready) ready = identity->write_kubeconfig(url);
  if (ready) {
    scope.spawn(identity->maintain());
    scope.spawn(compact_now_and_then(runtime, opened));
    scope.spawn(give_back_now_and_then(runtime));
    scope.spawn(garbage.run());
    scope.spawn(networks.run());
    if (namespaces) scope.spawn(namespaces->run());
    if (host) scope.spawn(host->run());
    scope.spawn(expirer.run());
    std::printf("fairlead server ready on %s, store %s, kubeconfig %s/admin.kubeconfig\n",
                url.c_str(), opened.description.c_str(), config.flags.data.c_str());
    std::fflush(stdout);
    while (!failure && caught == 0) {
      if (Result<> woken = co_await ended.wait(); !woken) break;
    }
    if (caught) log::info("stopping", {{"signal", caught}});
    co_await server.stop(config.drain);
  }
  co_await scope.close();
  co_await opened.close();
  if (failure) co_return fail(std::move(*failure).context("store"));
  if (!ready && caught == 0) co_return ready;
  co_return Result<>{};
}

}  // namespace fairlead::program
