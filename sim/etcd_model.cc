#include "sim/etcd_model.h"

#include <algorithm>
#include <optional>
#include <set>
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

// The first objection etcd would have to a transaction.
std::optional<GrpcStatus> objection(const etcd::TxnRequest& request) {
  const std::size_t most =
      std::max({request.compares.size(), request.success.size(), request.failure.size()});
  if (most > EtcdModel::kMaxOperations)
    return GrpcStatus{GrpcCode::invalid_argument, "etcdserver: too many operations in txn request"};
  for (const etcd::Compare& compare : request.compares)
    if (compare.key.empty())
      return GrpcStatus{GrpcCode::invalid_argument, "etcdserver: key is not provided"};
  for (const auto* branch : {&request.success, &request.failure}) {
    std::set<std::string_view> put;
    for (const etcd::RequestOp& op : *branch) {
      const std::string_view key = std::visit([](const auto& one) { return one.key; }, op);
      if (key.empty())
        return GrpcStatus{GrpcCode::invalid_argument, "etcdserver: key is not provided"};
      if (std::holds_alternative<etcd::PutRequest>(op) && !put.insert(key).second)
        return GrpcStatus{GrpcCode::invalid_argument,
                          "etcdserver: duplicate key given in txn request"};
    }
    for (const etcd::RequestOp& op : *branch) {
      const auto* erase = std::get_if<etcd::DeleteRangeRequest>(&op);
      if (erase && put.contains(erase->key))
        return GrpcStatus{GrpcCode::invalid_argument,
                          "etcdserver: duplicate key given in txn request"};
    }
  }
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

EtcdModel::Answer EtcdModel::txn(std::string_view request) {
  if (request.size() > kMaxRequestBytes)
    return refuse(GrpcCode::invalid_argument, "etcdserver: request is too large");
  const auto decoded = etcd::decode_txn_request(request);
  if (!decoded) return malformed();
  if (auto status = objection(*decoded)) return std::unexpected(std::move(*status));
  etcd::TxnResponse response;
  response.succeeded =
      std::ranges::all_of(decoded->compares, [&](const auto& compare) { return holds(compare); });
  const std::size_t before = log_.size();
  for (const etcd::RequestOp& op : response.succeeded ? decoded->success : decoded->failure)
    response.responses.push_back(carry_out(op, revision_ + 1));
  if (log_.size() > before) ++revision_;
  response.header = header();
  std::string bytes;
  etcd::encode(bytes, response);
  return bytes;
}

EtcdModel::Answer EtcdModel::compact(std::string_view request) {
  const auto decoded = etcd::decode_compact_request(request);
  if (!decoded) return malformed();
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

EtcdModel::Answer EtcdModel::status(std::uint64_t member, std::uint64_t leader) const {
  etcd::StatusResponse response;
  response.header = header();
  response.header.member_id = member;
  response.version = "3.4.23";
  response.db_size = static_cast<std::int64_t>(log_.size() * 100);
  response.leader = leader;
  std::string bytes;
  etcd::encode(bytes, response);
  return bytes;
}

}  // namespace fairlead::sim
