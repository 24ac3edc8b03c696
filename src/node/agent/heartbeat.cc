#include "node/agent/heartbeat.h"

#include <algorithm>

#include "api/resource/core/lease.h"
#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
#include "foundation/runtime/back_off.h"

namespace fairlead::agent {
namespace {

constexpr Duration kInterval = 10s;
constexpr runtime::BackOff::Limits kRetries{.first = 500ms, .longest = kInterval};
constexpr int kLeaseSeconds = 40;
constexpr std::uint64_t kBeatsPerLook = 6;  // about once a minute
const client::ResourceName kLeases{"coordination.k8s.io", "v1", "leases", true};
const client::ResourceName kNodes{"", "v1", "nodes", false};
constexpr const char* kLeaseGroup = "/apis/coordination.k8s.io/v1";

std::string lease_namespace() { return std::string(resource::kKubeNodeLeaseNamespace); }

}  // namespace

Json node_status_patch(const Heartbeat::Subject& subject) {
  JsonObject info;
  for (const auto& [name, value] : subject.info) info[name] = value;
  JsonArray addresses;
  if (subject.host)
    addresses.push_back(JsonObject{{"type", "InternalIP"}, {"address", subject.host->to_string()}});
  addresses.push_back(JsonObject{{"type", "Hostname"}, {"address", subject.node}});
  return JsonObject{
      {"status", JsonObject{{"addresses", std::move(addresses)}, {"nodeInfo", std::move(info)}}}};
}

Heartbeat::Heartbeat(runtime::Runtime& runtime, client::RestClient& client,
                     metrics::Registry& metrics, Subject subject)
    : runtime_(runtime),
      client_(client),
      beats_by_outcome_(metrics.counters("fairlead_agent_heartbeats_total",
                                         "Renewals of the node's lease, by outcome.", {"err"})),
      subject_(std::move(subject)) {}

std::string Heartbeat::now_text() const { return rfc3339_micro(runtime_.wall_now()); }

Task<void> Heartbeat::run() {
  runtime::BackOff back_off(kRetries);
  for (;;) {
    const Result<> outcome = co_await beat_in_time();
    if (!outcome && outcome.error().code == Code::cancelled) co_return;
    beats_by_outcome_.with({outcome ? "ok" : "err"}).add();
    judge(outcome);
    // Not in step with the thousand others.
    const Duration interval = kInterval - 1s + runtime_.random() % 2'000 * Duration(1ms);
    if (outcome) back_off.reset();
    const Duration pause = outcome ? interval : back_off.next(runtime_);
    if (!co_await runtime::sleep(runtime_, pause)) co_return;
  }
}

Task<Result<>> Heartbeat::beat_in_time() {
  Task<Result<>> beating = beat();
  co_return co_await runtime::with_timeout(runtime_, kInterval, std::move(beating));
}

std::optional<std::string> refusal_of(const Result<>& outcome) {
  if (outcome) return "";
  const Code code = outcome.error().code;
  if (code != Code::unauthorized && code != Code::forbidden && code != Code::not_found)
    return std::nullopt;
  return outcome.error().message;
}

void Heartbeat::judge(const Result<>& outcome) {
  if (!outcome) log::debug("no heartbeat", {{"error", outcome.error().to_string()}});
  std::optional<std::string> refusal = refusal_of(outcome);
  if (!refusal) return;
  if (refusal->empty() != refusal_.empty()) {
    if (refusal->empty()) {
      log::info("the API knows this node again", {{"node", subject_.node}});
    } else {
      log::warning("the API does not know this node (any more)",
                   {{"node", subject_.node}, {"error", *refusal}});
    }
  }
  refusal_ = std::move(*refusal);
}

Task<Result<>> Heartbeat::beat() {
  if (!leases_) {
    FL_CO_TRY(leases_, co_await find_out_where());
  }
  if (!*leases_) {
    if (record_) co_return co_await record_->renew(now_text());
    co_return Result<>{};
  }
  FL_CO_CHECKED(co_await renew_lease());
  if (!node_told_) {
    FL_CO_CHECKED(co_await tell_node());
  }
  if (++beats_ % kBeatsPerLook == 0 && record_) co_return co_await record_->look();
  co_return Result<>{};
}

Task<Result<bool>> Heartbeat::find_out_where() {
  const Result<Json> group = co_await client_.call("GET", kLeaseGroup, std::nullopt);
  if (group) co_return true;
  if (group.error().code == Code::not_found) co_return false;
  co_return fail(group.error());
}

Task<Result<>> Heartbeat::renew_lease() {
  Json patch = JsonObject{{"spec", JsonObject{{"renewTime", now_text()}}}};
  const Result<Json> renewed = co_await client_.patch(kLeases, lease_namespace(), subject_.node,
                                                      client::PatchKind::merge, std::move(patch));
  if (renewed) co_return Result<>{};
  if (renewed.error().code != Code::not_found) co_return fail(renewed.error());
  co_return co_await make_lease();
}

// It goes with its Node; without one there is nobody to be alive.
Task<Result<>> Heartbeat::make_lease() {
  const Result<Json> node = co_await client_.get(kNodes, "", subject_.node);
  if (!node && node.error().code == Code::not_found)
    co_return fail(Code::not_found, "Node " + subject_.node +
                                        " does not exist: it was deleted, or this node has not "
                                        "joined (`fairlead join`)");
  if (!node) co_return fail(node.error());
  node_told_ = false;  // a new Node, perhaps
  const std::string now = now_text();
  Json lease = JsonObject{
      {"metadata",
       JsonObject{{"name", subject_.node},
                  {"ownerReferences",
                   JsonArray{JsonObject{{"apiVersion", "v1"},
                                        {"kind", "Node"},
                                        {"name", subject_.node},
                                        {"uid", wire::find_string(*node, "metadata.uid")}}}}}},
      {"spec", JsonObject{{"holderIdentity", subject_.node},
                          {"leaseDurationSeconds", kLeaseSeconds},
                          {"acquireTime", now},
                          {"renewTime", now}}}};
  FL_CO_CHECKED(co_await client_.create(kLeases, lease_namespace(), std::move(lease)));
  co_return Result<>{};
}

Task<Result<>> Heartbeat::tell_node() {
  const Result<Json> told = co_await client_.patch(
      kNodes, "", subject_.node, client::PatchKind::merge, node_status_patch(subject_), "status");
  if (!told && told.error().code == Code::not_found)
    co_return fail(Code::not_found, "Node " + subject_.node + " does not exist: it was deleted");
  if (!told) co_return fail(told.error());
  node_told_ = true;
  co_return Result<>{};
}

}  // namespace fairlead::agent
