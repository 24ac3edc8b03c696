#include "api/controllers/node_lifecycle.h"

#include <algorithm>

#include "api/control/loop.h"
#include "api/controllers/object_id.h"
#include "api/resource/core/lease.h"
#include "foundation/base/check.h"
#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
#include "foundation/runtime/scope.h"

namespace fairlead::controllers {

using watchcache::Object;
using watchcache::ObjectRef;

namespace {

constexpr int kWorkers = 4;
constexpr std::string_view kLeaseNamespace = resource::kKubeNodeLeaseNamespace;

std::size_t place_of(const resource::Kind* kind, std::string_view path) {
  if (!kind) return 0;
  const auto at = std::ranges::find(kind->selectable, path);
  CHECK(at != kind->selectable.end());
  return static_cast<std::size_t>(at - kind->selectable.begin());
}

// The kind of which each agent has an object that says whether it is alive; null: none.
const resource::Kind* report_kind(const resource::Catalog& catalog) {
  for (const resource::Kind* kind : catalog.stored_kinds())
    if (kind->node.liveness) return kind;
  return nullptr;
}

resource::NodeAccess::Liveness liveness_of(const resource::Kind* kind) {
  return kind ? *kind->node.liveness : resource::NodeAccess::Liveness{};
}

// A time with or without fractions, in whole seconds; empty if it is none.
std::string in_seconds(std::string_view text) {
  const auto time = parse_rfc3339(text);
  return time ? rfc3339(*time) : std::string();
}

}  // namespace

resource::Condition node_ready(std::string_view node, const NodeVerdict& verdict) {
  resource::Condition ready{.type = std::string(resource::kReady),
                            .status = "True",
                            .observed_generation = {},
                            .last_transition_time = {},
                            .reason = "AgentAlive",
                            .message = "the agent renews its lease"};
  if (verdict.state == NodeVerdict::State::never_heard) {
    ready.status = "Unknown";
    ready.reason = "NodeStatusNeverUpdated";
    ready.message = "no agent has been heard from " + std::string(node) + " yet";
  } else if (verdict.state == NodeVerdict::State::silent) {
    ready.status = "Unknown";
    ready.reason = "NodeStatusUnknown";
    ready.message = "agent of " + std::string(node) + " silent since " + verdict.silent_since;
  }
  return ready;
}

NodeLifecycle::NodeLifecycle(runtime::Runtime& runtime, const resource::Catalog& catalog,
                             watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                             control::EventRecorder& events, metrics::Registry& metrics,
                             NodeLifecycleOptions options,
                             std::optional<control::WorkQueueMetrics> queue_metrics)
    : runtime_(runtime),
      nodes_(catalog.find("", "v1", "nodes")),
      leases_(catalog.find("coordination.k8s.io", "v1", "leases")),
      reports_(report_kind(catalog)),
      liveness_(liveness_of(reports_)),
      silent_field_(place_of(reports_, liveness_.silent_since)),
      renew_field_(place_of(reports_, liveness_.renewed)),
      cache_(cache),
      writer_(writer),
      events_(events),
      options_(options),
      heartbeats_(options.grace),
      newcomers_(options.grace),
      queue_(runtime, queue_metrics) {
  cache.on_reset([this] { rebuild(); });
  cache.observe(
      [this](const resource::Kind& kind, const watchcache::Event& event) { notice(kind, event); });
  metrics.gauge_of("fairlead_nodes_silent",
                   "Nodes whose agent has not been heard for the time of grace.",
                   [this] { return static_cast<double>(marked()); });
}

bool NodeLifecycle::is_marked(const Object& report) const {
  return !report.fields[silent_field_].empty();
}

ObjectRef NodeLifecycle::report_of(const std::string& node) const {
  return reports_ ? cache_.of(*reports_).find(node) : nullptr;
}

std::size_t NodeLifecycle::marked() const {
  if (!reports_) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(cache_.of(*reports_).objects(),
                            [this](const auto& entry) { return is_marked(*entry.second); }));
}

// A node that was marked, or of which nothing was known, is looked at; of others nothing changes.
void NodeLifecycle::heard(const std::string& node) {
  const Instant now = runtime_.now();
  const bool news = !heartbeats_.known(node) || heartbeats_.silent(node, now);
  heartbeats_.heard(node, now);
  newcomers_.forget(node);
  const ObjectRef report = report_of(node);
  if (news || (report && is_marked(*report))) queue_.add(node);
}

void NodeLifecycle::notice(const resource::Kind& kind, const watchcache::Event& event) {
  const Object *before = event.before().get(), *after = event.after().get();
  const std::string& name = (after ? after : before)->name;
  if (&kind == leases_) {
    if ((after ? after : before)->namespace_name != kLeaseNamespace) return;
    if (after) return heard(name);
  } else if (&kind != reports_ && &kind != nodes_) {
    return;
  }
  if (&kind == reports_ && after) {
    const std::string& renewed = after->fields[renew_field_];
    if (!renewed.empty() && (!before || before->fields[renew_field_] != renewed)) heard(name);
    if (is_marked(*after) && (!before || !is_marked(*before))) heartbeats_.found_silent(name);
    if (!before || is_marked(*before) != is_marked(*after)) queue_.add(name);
  }
  if (&kind == nodes_ && !before) {
    if (!heartbeats_.known(name)) newcomers_.heard(name, runtime_.now());
    queue_.add(name);
  }
  if (after) return;
  // A Node that was deleted is another one if it comes again.
  const bool left = report_of(name) || (nodes_ && cache_.of(*nodes_).find(name));
  if (left && &kind != nodes_) return;
  heartbeats_.forget(name);
  newcomers_.forget(name);
}

void NodeLifecycle::rebuild() {
  heartbeats_.clear();
  newcomers_.clear();
  const Instant now = runtime_.now();
  if (leases_)
    for (const auto& [key, lease] : cache_.of(*leases_).objects())
      if (lease->namespace_name == kLeaseNamespace) heartbeats_.heard(lease->name, now);
  if (reports_) {
    for (const auto& [name, report] : cache_.of(*reports_).objects()) {
      if (!report->fields[renew_field_].empty()) heartbeats_.heard(report->name, now);
      if (is_marked(*report)) heartbeats_.found_silent(report->name);
    }
  }
  if (!nodes_) return;
  for (const auto& [name, node] : cache_.of(*nodes_).objects()) {
    if (!heartbeats_.known(node->name)) newcomers_.heard(node->name, now);
    queue_.add(node->name);
  }
}

std::string NodeLifecycle::last_heard(const std::string& node) const {
  const ObjectRef lease =
      leases_ ? cache_.of(*leases_).find(watchcache::object_key(*leases_, kLeaseNamespace, node))
              : nullptr;
  if (lease) {
    const Json json = lease->decode();
    return in_seconds(wire::find_string(json, "spec.renewTime"));
  }
  const ObjectRef report = report_of(node);
  return report ? in_seconds(report->fields[renew_field_]) : std::string();
}

NodeVerdict NodeLifecycle::verdict(const std::string& node) const {
  const Instant now = runtime_.now();
  if (!heartbeats_.known(node))
    return {.state = NodeVerdict::State::never_heard, .silent_since = {}};
  if (!heartbeats_.silent(node, now))
    return {.state = NodeVerdict::State::alive, .silent_since = {}};
  const ObjectRef report = report_of(node);
  std::string since = report && is_marked(*report) ? report->fields[silent_field_] : "";
  if (since.empty()) since = last_heard(node);
  if (since.empty()) since = rfc3339(runtime_.wall_now() - options_.grace);
  return {.state = NodeVerdict::State::silent, .silent_since = std::move(since)};
}

Task<void> NodeLifecycle::run() {
  runtime::Scope scope(runtime_);
  const auto work = [this](std::string node) { return reconcile(std::move(node)); };
  scope.spawn(control::run_workers(runtime_, queue_,
                                   {.name = "node-lifecycle", .workers = kWorkers}, work));
  last_look_ = runtime_.now();
  const auto look = [this] { return look_at_clock(); };
  scope.spawn(control::every(runtime_, look_interval(), look));
  co_await scope.join();
}

Task<void> NodeLifecycle::look_at_clock() {
  const Result<> fresh = co_await cache_.fresh();
  const Instant now = runtime_.now();
  const bool deaf = !fresh || now - last_look_ > 2 * look_interval();
  last_look_ = now;
  if (deaf) {
    heartbeats_.start_over(now);
    newcomers_.start_over(now);
    co_return;
  }
  for (const std::string& node : heartbeats_.silent(now)) {
    const ObjectRef report = report_of(node);
    const bool told = report && is_marked(*report);
    if (!told) queue_.add(node);
  }
  for (const std::string& node : newcomers_.silent(now)) queue_.add(node);
}

Task<Result<>> NodeLifecycle::reconcile(std::string name) {
  const NodeVerdict found = verdict(name);
  const bool judged = found.state != NodeVerdict::State::never_heard;
  const ObjectRef report = report_of(name);
  if (report && judged) {
    FL_CO_CHECKED(co_await mark_report(*report, found));
  }
  const ObjectRef node = nodes_ ? cache_.of(*nodes_).find(name) : nullptr;
  if (!node) co_return Result<>{};
  // A node that has just joined is given time before it is called anything.
  if (!judged && !newcomers_.silent(name, runtime_.now())) co_return Result<>{};
  newcomers_.forget(name);
  co_return co_await mark_node(*node, found);
}

Task<Result<>> NodeLifecycle::mark_report(const Object& report, NodeVerdict found) {
  const std::string name = report.name;
  if (report.fields[silent_field_] == found.silent_since) co_return Result<>{};
  bool changed = false;
  const auto edit = [&](Json& object) {
    JsonObject& members = object.get_object();
    const std::string& member = liveness_.silent_since;
    changed = wire::find_string(object, member).empty() != found.silent_since.empty();
    if (found.silent_since.empty()) return members.erase(member) > 0;
    members[member] = found.silent_since;
    return true;
  };
  FL_CO_CHECKED(co_await edit_object(writer_, ObjectId::of(*reports_, report), report.uid, "",
                                     runtime_.wall_now(), edit));
  if (changed) tell(name, node_ready(name, found));
  co_return Result<>{};
}

Task<Result<>> NodeLifecycle::mark_node(const Object& node, NodeVerdict found) {
  const resource::Condition ready = node_ready(node.name, found);
  const resource::Moment now = runtime_.wall_now();
  const std::string heard = last_heard(node.name);
  const auto edit = [&](Json& object) {
    if (!resource::set_condition(object, ready, now)) return false;
    // Renewals are in the Lease: this is of when the condition was written, as in Kubernetes.
    for (Json& condition : wire::find(object, "status.conditions")->get_array())
      if (wire::find_string(condition, "type") == resource::kReady && !heard.empty())
        condition.get_object()["lastHeartbeatTime"] = heard;
    return true;
  };
  Json known = node.decode();
  if (!edit(known)) co_return Result<>{};
  co_return co_await edit_object(writer_, ObjectId::of(*nodes_, node), node.uid, "status", now,
                                 edit);
}

void NodeLifecycle::tell(const std::string& node, const resource::Condition& ready) {
  const bool alive = ready.status == "True";
  if (alive) {
    log::info("an agent is back", {{"node", node}});
  } else {
    log::warning("an agent is silent", {{"node", node}, {"told", ready.message}});
  }
  // By name, as kubelets tell of their nodes: `kubectl describe node` looks for that.
  events_.record(
      {.api_version = "v1",
       .kind = "Node",
       .namespace_name = {},
       .name = node,
       .uid = node,
       .type = alive ? control::Happening::Type::normal : control::Happening::Type::warning,
       .reason = alive ? "NodeReady" : "NodeNotReady",
       .message = alive ? "agent of " + node + " is back" : ready.message});
}

}  // namespace fairlead::controllers
