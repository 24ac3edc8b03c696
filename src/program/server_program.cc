#include "program/server_program.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/apiserver/api_server.h"
#include "api/backup/backup_service.h"
#include "api/control/work_queue_metrics.h"
#include "api/controllers/expirer.h"
#include "api/controllers/node_lifecycle.h"
#include "api/controllers/server_events.h"
#include "api/identity/authorizer.h"
#include "api/watchcache/cache_metrics.h"
#include "foundation/base/log.h"
#include "foundation/http/server.h"
#include "foundation/http/server_metrics.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"
#include "program/audit_file.h"
#include "program/build_info.h"
#include "program/features.h"
#include "program/server_addresses.h"
#include "program/server_identity.h"
#include "program/server_mode.h"

namespace fairlead::program {
namespace {

constexpr Duration kCompactInterval = 5min;
constexpr Duration kGiveBackInterval = 1min;
constexpr Duration kLockPause = 250ms;
constexpr Duration kLockReminder = 10s;

Task<void> cancel_at(command::StopRequest& stop, runtime::Nested<Result<>>& work) {
  while (!stop.asked()) {
    const Result<> told = co_await stop.changed().wait();
    if (!told) co_return;
  }
  work.cancel();
}

// What must be there before anything is served; given up when the server is to end.
Task<Result<>> unless_stopped(runtime::Runtime& runtime, Task<Result<>> task,
                              command::StopRequest& stop) {
  runtime::Nested<Result<>> work(runtime, std::move(task));
  runtime::Scope scope(runtime);
  scope.spawn(cancel_at(stop, work));
  Result<> outcome = co_await work;
  co_await scope.close();
  co_return outcome;
}

// A server that is being replaced still has the folder for a while: the new one waits for it
// rather than fail and be started again later and later.
Task<Result<OpenedStore>> open_when_free(runtime::Runtime& runtime,
                                         const ServerSurroundings& surroundings,
                                         metrics::Registry& metrics, Duration patience,
                                         command::StopRequest& stop) {
  const Instant began = runtime.now();
  Instant remind = began;
  for (;;) {
    Result<OpenedStore> opened = surroundings.open_store(metrics);
    if (opened || opened.error().code != Code::unavailable || stop.asked()) co_return opened;
    const Instant now = runtime.now();
    if (now - began >= patience) {
      if (patience == Duration::zero()) co_return opened;
      co_return fail(opened.error().code,
                     opened.error().message + "; gave up after --lock-wait-seconds");
    }
    if (now >= remind) {
      log::warning("waiting for the data folder; nothing is served yet",
                   {{"reason", opened.error().message},
                    {"waited_seconds", std::chrono::duration<double>(now - began).count()}});
      remind = now + kLockReminder;
    }
    runtime::TimedWait pause(runtime, stop.changed(), now + kLockPause);
    const Result<> waited = co_await pause;
    if (!waited && waited.error().code == Code::cancelled) co_return fail(waited.error());
  }
}

class ServerProgram {
 public:
  ServerProgram(runtime::Runtime& runtime, const ServerConfig& config,
                ServerSurroundings surroundings, command::StopRequest& stop)
      : runtime_(runtime),
        config_(config),
        surroundings_(std::move(surroundings)),
        stop_(stop),
        scope_(runtime) {}

  Task<Result<>> run();

 private:
  Result<> make_api();
  void make_controllers();
  Result<> listen();
  void start_loops();
  Task<void> wait_for_end();
  Task<void> stop_serving();

  Task<void> follow_store();
  Task<void> compact_now_and_then();
  Task<void> give_back_now_and_then();

  runtime::Runtime& runtime_;
  const ServerConfig& config_;
  ServerSurroundings surroundings_;
  command::StopRequest& stop_;

  metrics::Registry metrics_;
  std::optional<OpenedStore> opened_;
  std::unique_ptr<ServerMode> mode_;
  std::optional<watchcache::WatchCache> cache_;
  std::optional<apiserver::NodeIndex> nodes_;
  std::unique_ptr<ServerIdentity> identity_;
  std::optional<identity::RoleAuthorizer> roles_;
  std::optional<identity::UnionAuthorizer> authorizer_;
  std::unique_ptr<AuditFile> audit_;
  std::optional<apiserver::ApiServer> api_;
  std::optional<backup::BackupService> backup_;
  std::optional<control::WorkQueueFamilies> queues_;
  std::optional<controllers::ServerEvents> events_;
  ServerFeatures features_;
  std::unique_ptr<control::EventRecorder> node_events_;
  std::optional<controllers::NodeLifecycle> lifecycle_;
  std::optional<controllers::Expirer> expirer_;
  std::unique_ptr<ModeParts> parts_;
  std::optional<http::Server> server_;

  std::string url_;
  std::optional<Error> failure_;
  runtime::Scope scope_;
};

// The cache must never end before the server does: without it nothing true could be answered.
Task<void> ServerProgram::follow_store() {
  const Result<> outcome = co_await cache_->run();
  if (outcome || outcome.error().code == Code::cancelled) co_return;
  failure_ = outcome.error();
  stop_.ask();
}

Task<void> ServerProgram::compact_now_and_then() {
  for (;;) {
    const Result<> slept = co_await runtime::sleep(runtime_, kCompactInterval);
    if (!slept) co_return;
    const Result<> compacted = co_await opened_->compact();
    if (!compacted)
      log::warning("history not compacted", {{"error", compacted.error().to_string()}});
  }
}

// Starting, and nodes that join by the hundred, need much that serving does not.
Task<void> ServerProgram::give_back_now_and_then() {
  while (co_await runtime::sleep(runtime_, kGiveBackInterval)) surroundings_.give_back_memory();
}

Result<> ServerProgram::make_api() {
  if (config_.aggregated()) {
    FL_TRY(mode_, make_aggregated_mode(runtime_, config_));
  } else {
    mode_ = make_standalone_mode();
  }
  const resource::Catalog& catalog = mode_->catalog();
  cache_.emplace(runtime_, *opened_->store, catalog);
  watchcache::register_cache_metrics(metrics_, *cache_, catalog);
  nodes_.emplace(catalog, *cache_);
  const auto node_registered = [this](std::string_view node, std::string_view pin) {
    return nodes_->key_pin_of(node) == pin;
  };
  FL_TRY(identity_,
         ServerIdentity::open(runtime_, config_, node_registered, mode_->authenticators()));
  roles_.emplace(catalog, &*nodes_);
  std::vector<identity::Authorizer*> authorizers{&*roles_};
  for (identity::Authorizer* further : mode_->authorizers()) authorizers.push_back(further);
  authorizer_.emplace(std::move(authorizers));
  api_.emplace(apiserver::ApiServer::Parts{.runtime = runtime_,
                                           .store = *opened_->store,
                                           .cache = *cache_,
                                           .catalog = catalog,
                                           .nodes = *nodes_,
                                           .authenticator = identity_->authenticator(),
                                           .authorizer = *authorizer_,
                                           .metrics = metrics_},
               apiserver::ApiServerOptions{.reads = config_.flags.max_reads,
                                           .writes = config_.flags.max_writes,
                                           .watches = config_.flags.max_watches,
                                           .reviews = mode_->serves_reviews()});
  backup_.emplace(*opened_->store);
  api_->add_path(*backup_);
  api_->health().add("shutdown", false, [this]() -> Result<> {
    if (stop_.asked()) return fail(Code::unavailable, "the server is stopping");
    return {};
  });
  if (!config_.flags.audit_log.empty()) {
    FL_TRY(audit_, AuditFile::open(config_.flags.audit_log));
    api_->set_audit({config_.audit_level, [this](std::string line) { audit_->append(line); }});
  }
  server_.emplace(runtime_, *api_, config_.limits);
  http::register_server_metrics(metrics_, *server_);
  return {};
}

void ServerProgram::make_controllers() {
  const resource::Catalog& catalog = mode_->catalog();
  apiserver::ObjectWriter& writer = api_->writer();
  queues_.emplace(metrics_);
  events_.emplace(runtime_, catalog, writer, metrics_, mode_->events());
  features_ = make_server_features({.runtime = runtime_,
                                    .catalog = catalog,
                                    .cache = *cache_,
                                    .writer = writer,
                                    .events = *events_,
                                    .metrics = metrics_,
                                    .queues = &*queues_});
  node_events_ = events_->recorder("fairlead-node-lifecycle");
  lifecycle_.emplace(runtime_, catalog, *cache_, writer, *node_events_, metrics_,
                     controllers::NodeLifecycleOptions{.grace = config_.node_grace},
                     queues_->of("node-lifecycle"));
  expirer_.emplace(runtime_, catalog, *cache_, writer);
  parts_ = mode_->attach({.runtime = runtime_,
                          .config = config_,
                          .catalog = catalog,
                          .cache = *cache_,
                          .api = *api_,
                          .identity = *identity_,
                          .features = features_,
                          .queues = *queues_,
                          .metrics = metrics_});
}

Result<> ServerProgram::listen() {
  std::vector<runtime::Endpoint> local;
  for (const runtime::Endpoint& at : config_.listen) {
    Result<std::unique_ptr<runtime::Listener>> listener =
        runtime_.listen(at, identity_->authority().tls());
    if (!listener) return fail(std::move(listener).error().context("--listen"));
    local.push_back((*listener)->local());
    scope_.spawn(server_->serve(std::move(*listener)));
  }
  for (const ElsewhereEndpoint& at : config_.listen_elsewhere) {
    auto listener = listen_elsewhere(runtime_, at, identity_->authority().tls());
    if (!listener) return fail(std::move(listener).error().context("--listen-netns"));
    scope_.spawn(server_->serve(std::move(*listener)));
  }
  if (!local.empty()) url_ = url_of(local.front(), config_);
  parts_->listening(local);
  return identity_->write_kubeconfig(url_);
}

void ServerProgram::start_loops() {
  scope_.spawn(identity_->maintain());
  scope_.spawn(compact_now_and_then());
  scope_.spawn(opened_->keep());
  scope_.spawn(give_back_now_and_then());
  for (const auto& feature : features_) scope_.spawn(feature->run());
  scope_.spawn(node_events_->run());
  scope_.spawn(lifecycle_->run());
  scope_.spawn(expirer_->run());
  parts_->start(scope_);
}

Task<void> ServerProgram::wait_for_end() {
  while (!stop_.asked())
    if (Result<> woken = co_await stop_.changed().wait(); !woken) co_return;
}

Task<void> ServerProgram::stop_serving() {
  log::info("stopping", {{"signal", stop_.signal()},
                         {"serves_seconds", config_.flags.shutdown_delay_seconds},
                         {"drain_seconds", config_.flags.drain_seconds}});
  const Instant until = runtime_.now() + config_.shutdown_delay;
  server_->retire();
  const int times = stop_.times();
  while (!failure_ && stop_.times() == times && runtime_.now() < until) {
    runtime::TimedWait delay(runtime_, stop_.changed(), until);
    const Result<> waited = co_await delay;
    if (!waited && waited.error().code == Code::cancelled) break;
  }
  api_->end_watches();
  co_await server_->stop(config_.drain);
}

Task<Result<>> ServerProgram::run() {
  FL_CO_CHECKED(runtime_.files().make_directories(config_.flags.data, 0700));
  metrics::register_process_metrics(metrics_);
  register_build_info(metrics_);
  Result<OpenedStore> opened =
      co_await open_when_free(runtime_, surroundings_, metrics_, config_.lock_wait, stop_);
  if (!opened && stop_.asked()) co_return Result<>{};
  if (!opened) co_return fail(std::move(opened).error());
  opened_.emplace(std::move(*opened));
  Result<> ready = make_api();
  if (ready) {
    make_controllers();
    scope_.spawn(follow_store());
    ready = co_await unless_stopped(runtime_, parts_->load(), stop_);
    if (ready) ready = listen();
    if (ready) {
      start_loops();
      surroundings_.tell_ready(url_, opened_->description);
      co_await wait_for_end();
      co_await stop_serving();
    }
    co_await scope_.close();
  }
  co_await opened_->close();
  if (failure_) co_return fail(std::move(*failure_).context("store"));
  if (!ready && !stop_.asked()) co_return ready;
  co_return Result<>{};
}

}  // namespace

Task<Result<>> run_server(runtime::Runtime& runtime, const ServerConfig& config,
                          ServerSurroundings surroundings, command::StopRequest& stop) {
  ServerProgram program(runtime, config, std::move(surroundings), stop);
  co_return co_await program.run();
}

}  // namespace fairlead::program
