#include "node/agent/node_agent.h"

#include <algorithm>

#include "foundation/base/log.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {
namespace {

constexpr Duration kGiveBackInterval = 5s;  // at least that often
constexpr Duration kAfterWork = 300ms;
constexpr http::Limits kPageLimits{.body_bytes = 1 << 10, .connections = 64};

Task<Result<>> notified(runtime::Signal& signal) { co_return co_await signal.wait(); }

}  // namespace

Result<std::vector<const FeaturePlan*>> runnable(const std::vector<FeaturePlan>& plans,
                                                 bool has_api) {
  if (plans.empty()) return fail(Code::invalid, "no feature is configured: there is nothing to do");
  std::vector<const FeaturePlan*> able;
  for (const FeaturePlan& plan : plans)
    if (has_api || !plan.needs_api) able.push_back(&plan);
  if (able.empty())
    return fail(Code::invalid, "--kubeconfig or --join-dir: exactly one of them must be given: " +
                                   plans.front().name + " needs an API");
  return able;
}

Result<std::unique_ptr<NodeAgent>> NodeAgent::open(runtime::Runtime& runtime, AgentOptions options,
                                                   const std::vector<FeaturePlan>& plans) {
  std::unique_ptr<NodeAgent> agent(new NodeAgent(runtime, std::move(options)));
  if (agent->options_.api) {
    FL_CHECKED(agent->connect());
  }
  FL_CHECKED(agent->make_features(plans));
  agent->add_metrics();
  agent->add_pages();
  if (agent->options_.metrics_listen) {
    FL_TRY(Door door, agent->open_door(*agent->options_.metrics_listen, agent->pages_));
    agent->metrics_address_ = door.listener->local();
    agent->doors_.push_back(std::move(door));
  }
  if (agent->options_.admin_socket) {
    const runtime::Endpoint& at = *agent->options_.admin_socket;
    Result<Door> door = agent->open_door(at, agent->admin_pages_);
    if (!door) return fail(std::move(door).error().context("--admin-socket " + at.host));
    agent->doors_.push_back(std::move(*door));
  }
  return agent;
}

NodeAgent::NodeAgent(runtime::Runtime& runtime, AgentOptions options)
    : runtime_(runtime), options_(std::move(options)) {}

NodeAgent::~NodeAgent() = default;

Result<> NodeAgent::connect() {
  client::RestOptions rest = options_.rest;
  std::ranges::copy(options_.api->further_servers, std::back_inserter(rest.endpoints));
  auto api = std::make_unique<Api>();
  FL_TRY(api->client,
         client::RestClient::open(runtime_, std::move(options_.api->config), std::move(rest)));
  api->heartbeat = std::make_unique<Heartbeat>(
      runtime_, *api->client, metrics_,
      Heartbeat::Subject{.node = options_.node, .host = options_.host, .info = options_.info});
  api->side.emplace(*api->client, *api->heartbeat);
  api_ = std::move(api);
  return {};
}

Result<> NodeAgent::make_features(const std::vector<FeaturePlan>& plans) {
  const NodeContext context{.runtime = runtime_,
                            .node = options_.node,
                            .metrics = metrics_,
                            .pages = pages_,
                            .admin_pages = admin_pages_,
                            .api = api_ ? &*api_->side : nullptr,
                            .processes = options_.processes,
                            .readiness_changed = [this] { readiness_changed_.notify(); },
                            .make_room = options_.give_back_memory,
                            .work_ended = [this] { work_ended_.notify(); }};
  FL_TRY(const std::vector<const FeaturePlan*> runnables, runnable(plans, api_ != nullptr));
  for (const FeaturePlan* plan : runnables) {
    Result<std::unique_ptr<NodeFeature>> made = plan->make(context);
    if (!made) return fail(std::move(made).error().context(plan->name));
    features_.push_back(std::move(*made));
  }
  for (const FeaturePlan& plan : plans)
    if (plan.needs_api && !api_)
      log::warning("feature left out: it needs an API, and there are no credentials for one",
                   {{"feature", plan.name}});
  return {};
}

void NodeAgent::add_metrics() {
  metrics::register_process_metrics(metrics_);
  metrics_.gauge_of("fairlead_agent_ready", "1 while every feature of this agent is ready.",
                    [this] { return readiness().ready ? 1.0 : 0.0; });
}

void NodeAgent::add_pages() {
  pages_.add_text("/metrics", [this] { return metrics_.expose(); });
  pages_.add_text("/healthz", [] { return "ok\n"; });
  pages_.add("/readyz", [this](std::string_view) -> Pages::Page {
    const std::string refused = refusal();
    if (!refused.empty())
      return {.status = 503, .body = "the API does not know this node: " + refused + "\n"};
    const Readiness now = readiness();
    if (!now.ready) return {.status = 503, .body = now.reason + "\n"};
    return {.body = "ok\n"};
  });
  admin_pages_.add("/status", [this](std::string_view) { return status_page(); });
  admin_pages_.add("/why/", [this](std::string_view question) { return why_page(question); });
}

Pages::Page NodeAgent::status_page() const {
  JsonArray features;
  for (const std::unique_ptr<NodeFeature>& feature : features_) {
    const Readiness now = feature->readiness();
    JsonArray kinds;
    for (const std::string_view kind : feature->kinds()) kinds.emplace_back(kind);
    features.push_back(JsonObject{{"name", feature->name()},
                                  {"ready", now.ready},
                                  {"reason", now.reason},
                                  {"kinds", std::move(kinds)}});
  }
  JsonObject status{{"node", options_.node},
                    {"ready", readiness().ready},
                    {"api", api_ != nullptr},
                    {"refusal", refusal()},
                    {"features", std::move(features)}};
  for (const std::unique_ptr<NodeFeature>& feature : features_)
    for (auto& member : feature->status()) status[member.key()] = std::move(member.value());
  return {.body = wire::encode_json(status) + "\n", .type = "application/json"};
}

Pages::Page NodeAgent::why_page(std::string_view question) const {
  const std::size_t slash = question.find('/');
  const std::string_view kind = question.substr(0, slash);
  const std::string_view object =
      slash == std::string_view::npos ? std::string_view() : question.substr(slash + 1);
  for (const std::unique_ptr<NodeFeature>& feature : features_) {
    const std::vector<std::string_view> kinds = feature->kinds();
    if (std::ranges::find(kinds, kind) == kinds.end()) continue;
    const Result<Explanation> told = feature->why(kind, object);
    if (told) return {.body = wire::encode_json(to_json(*told)) + "\n", .type = "application/json"};
    return {.status = told.error().code == Code::invalid ? 400 : 404,
            .body = told.error().message + "\n"};
  }
  return {.status = 404, .body = "no feature of this agent knows " + std::string(kind) + "s\n"};
}

Result<NodeAgent::Door> NodeAgent::open_door(const runtime::Endpoint& at, Pages& pages) {
  Door door;
  FL_TRY(door.listener, runtime_.listen(at, nullptr));
  door.server = std::make_unique<http::Server>(runtime_, pages, kPageLimits);
  return door;
}

// An agent is on every node, and mostly has nothing to do but to look whether all is well.
Task<void> NodeAgent::stay_small() {
  for (;;) {
    Task<Result<>> waiting = notified(work_ended_);
    const Result<> ended =
        co_await runtime::with_timeout(runtime_, kGiveBackInterval, std::move(waiting));
    if (!ended && ended.error().code != Code::timeout) co_return;
    // What follows the work is over then: statuses, reports.
    if (Result<> slept = co_await runtime::sleep(runtime_, kAfterWork); !slept) co_return;
    options_.give_back_memory();
  }
}

Task<void> NodeAgent::run() {
  runtime::Scope serving(runtime_);
  for (Door& door : doors_) serving.spawn(door.server->serve(std::move(door.listener)));
  serving.spawn(stay_small());
  runtime::Scope scope(runtime_);
  if (api_) {
    scope.spawn(api_->heartbeat->run());
    if (!options_.credentials.empty())
      scope.spawn(keep_credentials(runtime_, *api_->client, options_.credentials));
  }
  for (const std::unique_ptr<NodeFeature>& feature : features_) scope.spawn(run_feature(*feature));
  co_await scope.join();
  for (Door& door : doors_) co_await door.server->stop(Duration::zero());
  co_await serving.close();
  if (api_) api_->client->close();
}

Task<void> NodeAgent::run_feature(NodeFeature& feature) {
  co_await feature.run();
  // Fails if it was cancelled, which is the way to end.
  if (Result<> alive = co_await runtime::sleep(runtime_, Duration::zero()); !alive) co_return;
  log::error("feature has ended by itself", {{"feature", feature.name()}});
  ended_ = feature.name();
  feature_ended_.notify();
  readiness_changed_.notify();
}

void NodeAgent::follow(const std::vector<FeaturePlan>& plans) {
  for (const FeaturePlan& plan : plans) {
    NodeFeature* running = feature(plan.name);
    Result<> followed = fail(Code::unsupported, "it counts when the agent is started again");
    if (running != nullptr && plan.follow) followed = plan.follow(*running);
    if (followed) {
      log::info("configuration read again", {{"feature", plan.name}});
    } else {
      log::warning("configuration not followed",
                   {{"feature", plan.name}, {"reason", followed.error().message}});
    }
  }
}

Task<Result<std::string>> NodeAgent::wait_ended() {
  while (ended_.empty()) {
    FL_CO_CHECKED(co_await feature_ended_.wait());
  }
  co_return ended_;
}

Readiness NodeAgent::readiness() const {
  if (!ended_.empty())
    return {.ready = false, .reason = "feature " + ended_ + " has ended by itself"};
  for (const std::unique_ptr<NodeFeature>& feature : features_)
    if (Readiness one = feature->readiness(); !one.ready) return one;
  return {.ready = true, .reason = {}};
}

Task<Result<>> NodeAgent::wait_ready() {
  while (!readiness().ready) {
    FL_CO_CHECKED(co_await readiness_changed_.wait());
  }
  co_return Result<>{};
}

std::string NodeAgent::refusal() const { return api_ ? api_->heartbeat->refusal() : ""; }

NodeFeature* NodeAgent::feature(std::string_view name) const {
  const auto at = std::ranges::find_if(
      features_, [&](const std::unique_ptr<NodeFeature>& one) { return one->name() == name; });
  return at == features_.end() ? nullptr : at->get();
}

}  // namespace fairlead::agent
