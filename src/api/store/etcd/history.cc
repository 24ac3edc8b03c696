#include "api/store/etcd/history.h"

#include <algorithm>
#include <utility>

#include "api/store/etcd/client.h"
#include "foundation/base/log.h"

namespace fairlead::store {
namespace {

namespace etcd = wire::etcd;

constexpr int kTries = 5;  // to begin an epoch while others do, too

bool is_ok(const EtcdAnswer& answer) { return answer.status.code == wire::GrpcCode::ok; }

}  // namespace

struct EtcdHistory::Look {
  EtcdSighting sighting;
  Revision record_revision = 0;  // at which the record was written, 0: there is none
};

EtcdHistory::EtcdHistory(runtime::Runtime& runtime, std::string root, Revision seen)
    : runtime_(runtime), keys_(root), memory_{.record = {}, .slack = 0, .seen = seen} {}

// The length of the log before and after a linearizable read: between them lies the slack as of
// that read. Asked after it, a member is at least as far as everything acknowledged before.
Task<Result<EtcdHistory::Refusal>> EtcdHistory::look(const Call& call, Look& into) {
  const std::string empty = wire::frame_grpc_message("");
  FL_CO_TRY(const EtcdAnswer before, co_await call(etcd::kStatusPath, empty));
  if (!is_ok(before)) co_return Refusal(before.status);
  const etcd::RangeRequest request{.key = keys_.epoch(), .limit = 1};
  FL_CO_TRY(const EtcdAnswer read, co_await call(etcd::kRangePath, framed_request(request)));
  if (!is_ok(read)) co_return Refusal(read.status);
  FL_CO_TRY(const EtcdAnswer after, co_await call(etcd::kStatusPath, empty));
  if (!is_ok(after)) co_return Refusal(after.status);

  FL_CO_TRY(const etcd::StatusResponse earlier, etcd::decode_status_response(before.message));
  FL_CO_TRY(const etcd::RangeResponse range, etcd::decode_range_response(read.message));
  FL_CO_TRY(const etcd::StatusResponse later, etcd::decode_status_response(after.message));
  const Revision revision = range.header.revision;
  into = {.sighting = {.cluster = range.header.cluster_id,
                       .revision = revision,
                       .least_slack = static_cast<std::int64_t>(earlier.raft_index) - revision,
                       .most_slack = static_cast<std::int64_t>(later.raft_index) - revision,
                       .record = {}}};
  if (range.kvs.empty()) co_return Refusal();
  const etcd::KeyValue& kv = range.kvs.front();
  Result<EpochRecord> record = parse_epoch_record(kv.value);
  if (!record) co_return fail(std::move(record).error().context("etcd key " + keys_.epoch()));
  into.sighting.record = *record;
  into.record_revision = kv.mod_revision;
  co_return Refusal();
}

Task<Result<EtcdHistory::Refusal>> EtcdHistory::begin(const Call& call, const Look& seen,
                                                      EpochRecord record, bool& succeeded) {
  const std::string text = encode_epoch_record(record);
  etcd::TxnRequest request;
  request.compares.push_back({.key = keys_.epoch(), .operand = seen.record_revision});
  request.success.emplace_back(etcd::PutRequest{.key = keys_.epoch(), .value = text});
  FL_CO_TRY(const EtcdAnswer answer, co_await call(etcd::kTxnPath, framed_request(request)));
  if (!is_ok(answer)) co_return Refusal(answer.status);
  FL_CO_TRY(const etcd::TxnResponse response, etcd::decode_txn_response(answer.message));
  succeeded = response.succeeded;
  if (succeeded) adopt(record, response.header.revision, record.slack);
  co_return Refusal();
}

Task<Result<EtcdHistory::Refusal>> EtcdHistory::examine(Call call) {
  for (int tried = 1; tried <= kTries; ++tried) {
    // What other connections bring while this one is looked at may be newer than what it shows.
    const EtcdMemory memory = memory_;
    const std::uint64_t life = epoch_.life;
    Look seen;
    FL_CO_TRY(Refusal refusal, co_await look(call, seen));
    if (refusal) co_return refusal;
    if (epoch_.life != life) continue;  // what another connection found may be later than this
    const EpochPlan plan = plan_epoch(seen.sighting, memory, runtime_.wall_now());
    if (!plan.begin) {
      adopt(*seen.sighting.record, seen.record_revision, seen.sighting.least_slack);
      co_return Refusal();
    }
    bool succeeded = false;
    FL_CO_TRY(refusal, co_await begin(call, seen, *plan.begin, succeeded));
    if (refusal) co_return refusal;
    if (!succeeded) continue;  // somebody else did: look again
    if (!plan.restored.empty()) {
      ++restores_;
      log::error("etcd was restored: a new epoch of resource versions began",
                 {{"because", plan.restored}, {"base", plan.begin->base}});
    }
    co_return Refusal();
  }
  co_return fail(Code::unavailable, "the epoch changes all the time");
}

void EtcdHistory::adopt(const EpochRecord& record, Revision began, std::int64_t slack) {
  const bool same = epoch_.life != 0 && memory_.record && memory_.record->base == record.base;
  memory_.slack = same ? std::max(memory_.slack, slack) : slack;
  memory_.record = record;
  if (same && epoch_.began == began) return;
  if (epoch_.life != 0)
    log::warning("resource versions are of another epoch of etcd", {{"base", record.base}});
  epoch_ = {.base = record.base, .began = began, .life = epoch_.life + 1};
  if (changed_) changed_();
}

}  // namespace fairlead::store
