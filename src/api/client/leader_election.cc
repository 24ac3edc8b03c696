#include "api/client/leader_election.h"

#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
#include "foundation/runtime/scope.h"

namespace fairlead::client {
namespace {

const ResourceName kLeases{"coordination.k8s.io", "v1", "leases", true};

std::int64_t number_at(const Json& object, std::string_view path) {
  const Json* value = wire::find(object, path);
  return value && value->is_int64() ? value->get_int64() : 0;
}

LeaseRecord record_of(const Json& lease) {
  return {.holder = std::string(wire::find_string(lease, "spec.holderIdentity")),
          .duration_seconds = number_at(lease, "spec.leaseDurationSeconds"),
          .acquire_time = std::string(wire::find_string(lease, "spec.acquireTime")),
          .renew_time = std::string(wire::find_string(lease, "spec.renewTime")),
          .transitions = number_at(lease, "spec.leaseTransitions")};
}

}  // namespace

Result<> check_election_times(const ElectionTimes& times) {
  if (times.lease < 1s || times.lease % 1s != Duration::zero())
    return fail(Code::invalid, "the lease must be a whole number of seconds, at least one");
  if (times.lease <= times.renew_deadline)
    return fail(Code::invalid, "the lease must be longer than the renew deadline");
  if (times.renew_deadline * 5 <= times.retry * 6)
    return fail(Code::invalid, "the renew deadline must be longer than 1.2 times the retry period");
  return {};
}

void ElectionMachine::observe(std::optional<LeaseRecord> record, Instant now) {
  if (record == seen_ && seen_) return;
  seen_ = std::move(record);
  seen_at_ = now;
  if (!seen_ || seen_->holder != identity_) deadline_.reset();
}

const std::string& ElectionMachine::holder() const {
  static const std::string kNobody;
  return seen_ ? seen_->holder : kNobody;
}

std::optional<LeaseRecord> ElectionMachine::plan(Instant now, WallTime wall) const {
  const bool ours = seen_ && seen_->holder == identity_;
  const bool free = !seen_ || seen_->holder.empty() ||
                    now >= seen_at_ + std::chrono::seconds(seen_->duration_seconds);
  if (!ours && !free) return std::nullopt;
  LeaseRecord record{
      .holder = identity_,
      .duration_seconds = std::chrono::ceil<std::chrono::seconds>(times_.lease).count(),
      .acquire_time = ours ? seen_->acquire_time : rfc3339_micro(wall),
      .renew_time = rfc3339_micro(wall),
      .transitions = seen_ ? seen_->transitions + (ours ? 0 : 1) : 0};
  return record;
}

void ElectionMachine::written(const LeaseRecord& record, Instant began) {
  seen_ = record;
  seen_at_ = began;
  deadline_ = began + times_.renew_deadline;
}

LeaderElector::LeaderElector(runtime::Runtime& runtime, RestClient& client,
                             std::string namespace_name, std::string name, std::string identity,
                             ElectionTimes times)
    : runtime_(runtime),
      client_(client),
      namespace_name_(std::move(namespace_name)),
      name_(std::move(name)),
      times_(times),
      machine_(std::move(identity), times) {}

Json LeaderElector::lease_object(const LeaseRecord& record) const {
  JsonObject metadata{{"name", name_}, {"namespace", namespace_name_}};
  if (!version_.empty()) metadata["resourceVersion"] = version_;
  return JsonObject{{"apiVersion", "coordination.k8s.io/v1"},
                    {"kind", "Lease"},
                    {"metadata", std::move(metadata)},
                    {"spec", JsonObject{{"holderIdentity", record.holder},
                                        {"leaseDurationSeconds", record.duration_seconds},
                                        {"acquireTime", record.acquire_time},
                                        {"renewTime", record.renew_time},
                                        {"leaseTransitions", record.transitions}}}};
}

// Reads the Lease unless it is known to be ours, then writes it if it is ours to write.
Task<Result<>> LeaderElector::try_once() {
  if (!leads()) {
    Result<Json> lease = co_await client_.get(kLeases, namespace_name_, name_);
    if (lease) {
      version_ = wire::find_string(*lease, "metadata.resourceVersion");
      machine_.observe(record_of(*lease), runtime_.now());
    } else if (lease.error().code == Code::not_found) {
      version_.clear();
      machine_.observe(std::nullopt, runtime_.now());
    } else {
      co_return fail(std::move(lease).error());
    }
  }
  const Instant began = runtime_.now();
  const std::optional<LeaseRecord> record = machine_.plan(began, runtime_.wall_now());
  if (!record) co_return Result<>{};
  Json object = lease_object(*record);
  Result<Json> stored;
  if (version_.empty()) {
    stored = co_await client_.create(kLeases, namespace_name_, std::move(object));
  } else {
    stored = co_await client_.update(kLeases, std::move(object));
  }
  if (!stored) {
    // Someone else was faster, or our knowledge is stale: read it next time.
    const Code code = stored.error().code;
    if (code == Code::conflict || code == Code::already_exists || code == Code::not_found)
      machine_.resign();
    co_return fail(std::move(stored).error());
  }
  version_ = wire::find_string(*stored, "metadata.resourceVersion");
  machine_.written(*record, began);
  co_return Result<>{};
}

Task<void> LeaderElector::run(std::function<Task<void>()> lead) {
  std::optional<runtime::Scope> term;
  for (;;) {
    Task<Result<>> attempt = try_once();
    const Duration limit = machine_.leads(runtime_.now()) ? *machine_.deadline() - runtime_.now()
                                                          : times_.renew_deadline;
    const Result<> outcome = co_await runtime::with_timeout(runtime_, limit, std::move(attempt));
    if (!outcome && outcome.error().code == Code::cancelled) break;
    if (leads() && !term) {
      log::info("leading", {{"lease", name_}});
      term.emplace(runtime_);
      term->spawn(lead());
    } else if (!leads() && term) {
      log::warning("no longer leading", {{"lease", name_}});
      co_await term->close();
      term.reset();
    }
    const Duration jitter =
        leads() ? Duration{}
                : times_.retry * static_cast<std::int64_t>(runtime_.random() % 1200) / 1000;
    Duration wait = times_.retry + jitter;
    // A leader that fails to renew wakes in time to stop.
    if (machine_.deadline()) wait = std::min(wait, *machine_.deadline() - runtime_.now());
    const Result<> slept = co_await runtime::sleep(runtime_, std::max(wait, Duration{}));
    if (!slept) break;
  }
  if (term) co_await term->close();
}

Task<void> LeaderElector::release() {
  if (!leads()) co_return;
  machine_.resign();
  LeaseRecord record{.holder = "", .duration_seconds = 1};
  record.renew_time = rfc3339_micro(runtime_.wall_now());
  record.acquire_time = record.renew_time;
  Json object = lease_object(record);
  const Result<Json> released = co_await client_.update(kLeases, std::move(object));
  if (!released)
    log::debug("lease not released", {{"lease", name_}, {"error", released.error().message}});
}

}  // namespace fairlead::client
