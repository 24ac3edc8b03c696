#include "sim/models/etcd_model.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace fairlead::sim {
namespace {

namespace etcd = wire::etcd;
using wire::GrpcCode;
using wire::GrpcStatus;

std::unexpected<GrpcStatus> refuse(GrpcCode code, std::string message) {
  return std::unexpected(GrpcStatus{code, std::move(message)});
}

std::unexpected<GrpcStatus> malformed() {
  return refuse(GrpcCode::internal, "grpc: error unmarshalling request");
}

etcd::KeyValue shown(const EtcdModel::Event& event, bool with_value) {
  etcd::KeyValue kv;
  kv.key = event.key;
  kv.create_revision = event.created;
  kv.mod_revision = event.revision;
  kv.version = event.version;
  if (with_value) kv.value = event.value;
  return kv;
}

// Whether `key` lies in etcd's range: one key, a half-open range, or (end "\0") all from there on.
bool beyond(std::string_view key, std::string_view start, std::string_view end) {
  if (end.empty()) return key != start;
  if (end == std::string_view("\0", 1)) return false;
  return key >= end;
}

std::optional<GrpcStatus> invalid(std::string_view why) {
  return GrpcStatus{GrpcCode::invalid_argument, "etcdserver: " + std::string(why)};
}

// What a branch of a transaction, or all branches of a group, change.
struct Changed {
  std::set<std::string_view> put;
  std::set<std::string_view> erased;
};

std::optional<GrpcStatus> objection(const std::vector<etcd::RequestOp>& branch, Changed& changed) {
  for (const etcd::RequestOp& op : branch) {
    const std::string_view key = std::visit([](const auto& one) { return one.key; }, op);
    if (key.empty()) return invalid("key is not provided");
    if (std::holds_alternative<etcd::PutRequest>(op) && !changed.put.insert(key).second)
      return invalid("duplicate key given in txn request");
    if (std::holds_alternative<etcd::DeleteRangeRequest>(op)) changed.erased.insert(key);
  }
  for (const std::string_view key : changed.erased)
    if (changed.put.contains(key)) return invalid("duplicate key given in txn request");
  return std::nullopt;
}

// The first objection etcd would have to a transaction.
std::optional<GrpcStatus> objection(const etcd::TxnRequest& request, std::size_t allowed,
                                    Changed& success) {
  const std::size_t most =
      std::max({request.compares.size(), request.success.size(), request.failure.size()});
  if (most > allowed) return invalid("too many operations in txn request");
  for (const etcd::Compare& compare : request.compares)
    if (compare.key.empty()) return invalid("key is not provided");
  if (auto status = objection(request.success, success)) return status;
  Changed failure;
  return objection(request.failure, failure);
}

std::optional<GrpcStatus> objection(const etcd::TxnRequest& request) {
  Changed changed;
  return objection(request, EtcdModel::kMaxOperations, changed);
}

// etcd takes the number of nested transactions from what each of them may have.
std::optional<GrpcStatus> objection(const etcd::TxnGroupRequest& request) {
  const std::size_t members = request.transactions.size();
  if (members > EtcdModel::kMaxOperations) return invalid("too many operations in txn request");
  Changed changed;
  for (const etcd::TxnRequest& one : request.transactions)
    if (auto status = objection(one, EtcdModel::kMaxOperations - members, changed)) return status;
  return std::nullopt;
}

}  // namespace

etcd::ResponseHeader EtcdModel::header() const {
  return {.cluster_id = 1, .member_id = 1, .revision = revision_, .raft_term = 1};
}

const EtcdModel::Event* EtcdModel::find(std::string_view key, std::int64_t at) const {
  const auto entry = keys_.find(key);
  if (entry == keys_.end()) return nullptr;
  const Event* latest = nullptr;
  for (const std::size_t place : entry->second) {
    if (log_[place].revision > at) break;
    latest = &log_[place];
  }
  return latest && !latest->erased ? latest : nullptr;
}

std::expected<etcd::RangeResponse, GrpcStatus> EtcdModel::read(
    const etcd::RangeRequest& request) const {
  if (request.revision > revision_)
    return refuse(GrpcCode::out_of_range,
                  "etcdserver: mvcc: required revision is a future revision");
  const std::int64_t at = request.revision > 0 ? request.revision : revision_;
  if (at < compacted_)
    return refuse(GrpcCode::out_of_range, "etcdserver: mvcc: required revision has been compacted");
  etcd::RangeResponse response;
  response.header = header();
  for (auto entry = keys_.lower_bound(request.key);
       entry != keys_.end() && !beyond(entry->first, request.key, request.range_end); ++entry) {
    const Event* found = find(entry->first, at);
    if (!found) continue;
    ++response.count;
    if (request.count_only) continue;
    if (request.limit > 0 && response.kvs.size() >= static_cast<std::size_t>(request.limit)) {
      response.more = true;
      continue;
    }
    response.kvs.push_back(shown(*found, !request.keys_only));
  }
  return response;
}

EtcdModel::Answer EtcdModel::range(std::string_view request) const {
  const auto decoded = etcd::decode_range_request(request);
  if (!decoded) return malformed();
  if (decoded->key.empty())
    return refuse(GrpcCode::invalid_argument, "etcdserver: key is not provided");
  const auto response = read(*decoded);
  if (!response) return std::unexpected(response.error());
  std::string bytes;
  etcd::encode(bytes, *response);
  return bytes;
}

bool EtcdModel::holds(const etcd::Compare& compare) const {
  const Event* current = find(compare.key, revision_);
  std::int64_t value = 0;
  if (current) {
    switch (compare.target) {
      case etcd::Compare::Target::version:
        value = current->version;
        break;
      case etcd::Compare::Target::create:
        value = current->created;
        break;
      case etcd::Compare::Target::mod:
        value = current->revision;
        break;
    }
  }
  switch (compare.result) {
    case etcd::Compare::Result::equal:
      return value == compare.operand;
    case etcd::Compare::Result::greater:
      return value > compare.operand;
    case etcd::Compare::Result::less:
      return value < compare.operand;
    case etcd::Compare::Result::not_equal:
      return value != compare.operand;
  }
  return false;
}

std::int64_t EtcdModel::erase(std::string_view key, std::string_view end, std::int64_t revision) {
  std::int64_t erased = 0;
  for (auto entry = keys_.lower_bound(key); entry != keys_.end() && !beyond(entry->first, key, end);
       ++entry) {
    if (!find(entry->first, revision)) continue;
    entry->second.push_back(log_.size());
    log_.push_back({.key = entry->first, .erased = true, .revision = revision, .value = {}});
    ++erased;
  }
  return erased;
}

etcd::ResponseOp EtcdModel::carry_out(const etcd::RequestOp& op, std::int64_t revision) {
  if (const auto* put = std::get_if<etcd::PutRequest>(&op)) {
    const Event* before = find(put->key, revision);
    Event event{.key = std::string(put->key),
                .erased = false,
                .revision = revision,
                .created = before ? before->created : revision,
                .version = before ? before->version + 1 : 1,
                .value = std::string(put->value)};
    keys_[event.key].push_back(log_.size());
    log_.push_back(std::move(event));
    return etcd::PutResponse{};
  }
  if (const auto* range = std::get_if<etcd::DeleteRangeRequest>(&op))
    return etcd::DeleteRangeResponse{erase(range->key, range->range_end, revision)};
  auto response = read(std::get<etcd::RangeRequest>(op));
  return response ? *std::move(response) : etcd::RangeResponse{};
}

bool EtcdModel::all_hold(const etcd::TxnRequest& request) const {
  return std::ranges::all_of(request.compares, [&](const auto& compare) { return holds(compare); });
}

etcd::TxnResponse EtcdModel::carry_out(const etcd::TxnRequest& request, bool succeeded,
                                       std::int64_t revision) {
  etcd::TxnResponse response;
  response.succeeded = succeeded;
  for (const etcd::RequestOp& op : succeeded ? request.success : request.failure)
    response.responses.push_back(carry_out(op, revision));
  return response;
}

EtcdModel::Answer EtcdModel::txn(std::string_view request) {
  if (request.size() > kMaxRequestBytes)
    return refuse(GrpcCode::invalid_argument, "etcdserver: request is too large");
  const auto decoded = etcd::decode_txn_request(request);
  if (!decoded) {
    const auto group = etcd::decode_txn_group_request(request);
    return group ? txn_group(*group) : malformed();
  }
  if (auto status = objection(*decoded)) return std::unexpected(std::move(*status));
  ++entries_;
  const std::size_t before = log_.size();
  etcd::TxnResponse response = carry_out(*decoded, all_hold(*decoded), revision_ + 1);
  if (log_.size() > before) ++revision_;
  response.header = header();
  std::string bytes;
  etcd::encode(bytes, response);
  return bytes;
}

// Every compare is looked at before anything changes.
EtcdModel::Answer EtcdModel::txn_group(const etcd::TxnGroupRequest& request) {
  if (auto status = objection(request)) return std::unexpected(std::move(*status));
  ++entries_;
  std::vector<bool> succeeded;
  for (const etcd::TxnRequest& one : request.transactions) succeeded.push_back(all_hold(one));
  const std::size_t before = log_.size();
  etcd::TxnGroupResponse response;
  for (std::size_t i = 0; i < request.transactions.size(); ++i)
    response.transactions.push_back(
        carry_out(request.transactions[i], succeeded[i], revision_ + 1));
  if (log_.size() > before) ++revision_;
  response.header = header();
  std::string bytes;
  etcd::encode(bytes, response);
  return bytes;
}

EtcdModel::Answer EtcdModel::compact(std::string_view request) {
  const auto decoded = etcd::decode_compact_request(request);
  if (!decoded) return malformed();
  ++entries_;
  if (decoded->revision <= compacted_)
    return refuse(GrpcCode::out_of_range, "etcdserver: mvcc: required revision has been compacted");
  if (decoded->revision > revision_)
    return refuse(GrpcCode::out_of_range,
                  "etcdserver: mvcc: required revision is a future revision");
  compacted_ = decoded->revision;
  std::string bytes;
  etcd::encode_compact_response(bytes, header());
  return bytes;
}

EtcdModel EtcdModel::restored() const {
  EtcdModel model = *this;
  model.entries_ = kFirstEntries;
  return model;
}

EtcdModel::Answer EtcdModel::status(std::uint64_t member, std::uint64_t leader) const {
  etcd::StatusResponse response;
  response.header = header();
  response.header.member_id = member;
  response.version = "3.4.23";
  response.db_size = static_cast<std::int64_t>(log_.size() * 100);
  response.leader = leader;
  response.raft_index = entries_;
  std::string bytes;
  etcd::encode(bytes, response);
  return bytes;
}

}  // namespace fairlead::sim
