// The messages of etcd's v3 API that the product exchanges, as values, and what its errors mean.
//
// Texts in these values are views: of the caller's keys and values in a message to be encoded, of
// the received bytes in a decoded one. Either must outlive the value. Both directions exist because
// the model server of the simulation reads what the client writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/wire/grpc.h"

namespace fairlead::wire::etcd {

constexpr std::string_view kRangePath = "/etcdserverpb.KV/Range";
constexpr std::string_view kTxnPath = "/etcdserverpb.KV/Txn";
constexpr std::string_view kCompactPath = "/etcdserverpb.KV/Compact";
constexpr std::string_view kWatchPath = "/etcdserverpb.Watch/Watch";
constexpr std::string_view kStatusPath = "/etcdserverpb.Maintenance/Status";

struct ResponseHeader {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  std::int64_t revision = 0;
  std::uint64_t raft_term = 0;
};

struct KeyValue {
  std::string_view key{};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::string_view value{};
};

struct RangeRequest {
  std::string_view key{};
  std::string_view range_end{};  // empty: the one key
  std::int64_t limit = 0;        // 0: no limit
  std::int64_t revision = 0;     // 0: now
  bool serializable = false;
  bool keys_only = false;
  bool count_only = false;
};

struct RangeResponse {
  ResponseHeader header{};
  std::vector<KeyValue> kvs{};
  bool more = false;
  std::int64_t count = 0;
};

struct PutRequest {
  std::string_view key{};
  std::string_view value{};
};

struct DeleteRangeRequest {
  std::string_view key{};
  std::string_view range_end{};
};

using RequestOp = std::variant<RangeRequest, PutRequest, DeleteRangeRequest>;

struct Compare {
  enum class Result { equal = 0, greater = 1, less = 2, not_equal = 3 };
  enum class Target { version = 0, create = 1, mod = 2 };
  Result result = Result::equal;
  Target target = Target::mod;
  std::string_view key{};
  std::int64_t operand = 0;
};

struct TxnRequest {
  std::vector<Compare> compares{};
  std::vector<RequestOp> success{};
  std::vector<RequestOp> failure{};
};

// Several transactions as one: etcd carries them out together, at one revision, each with compares
// of its own. All compares are looked at before any of them changes something, and no two may put
// one key. (On the wire: a transaction whose operations are transactions.)
struct TxnGroupRequest {
  std::vector<TxnRequest> transactions{};
};

struct PutResponse {};
struct DeleteRangeResponse {
  std::int64_t deleted = 0;
};
using ResponseOp = std::variant<RangeResponse, PutResponse, DeleteRangeResponse>;

struct TxnResponse {
  ResponseHeader header{};
  bool succeeded = false;
  std::vector<ResponseOp> responses{};
};

struct TxnGroupResponse {
  ResponseHeader header{};
  std::vector<TxnResponse> transactions{};
};

struct CompactRequest {
  std::int64_t revision = 0;
  bool physical = false;
};

struct WatchCreateRequest {
  std::string_view key{};
  std::string_view range_end{};
  std::int64_t start_revision = 0;
  bool progress_notify = false;
  bool prev_kv = false;
  std::int64_t watch_id = 0;
  bool fragment = false;
};
struct WatchCancelRequest {
  std::int64_t watch_id = 0;
};
struct WatchProgressRequest {};
using WatchRequest = std::variant<WatchCreateRequest, WatchCancelRequest, WatchProgressRequest>;

struct Event {
  bool erased = false;
  KeyValue kv{};
};

struct WatchResponse {
  ResponseHeader header{};
  std::int64_t watch_id = 0;
  bool created = false;
  bool canceled = false;
  std::int64_t compact_revision = 0;
  std::string_view cancel_reason{};
  bool fragment = false;  // the next response goes on where this one ends
  std::vector<Event> events{};
};

struct StatusResponse {
  ResponseHeader header{};
  std::string_view version{};
  std::int64_t db_size = 0;
  std::uint64_t leader = 0;
  std::uint64_t raft_index = 0;  // the last committed entry of the raft log
  std::int64_t db_size_in_use = 0;
  bool is_learner = false;
  std::vector<std::string_view> errors{};
};

// Encoders append to `out`, so that a message can be written behind its gRPC prefix.
void encode(std::string& out, const RangeRequest& request);
void encode(std::string& out, const TxnRequest& request);
void encode(std::string& out, const TxnGroupRequest& request);
void encode(std::string& out, const CompactRequest& request);
void encode(std::string& out, const WatchRequest& request);
void encode(std::string& out, const RangeResponse& response);
void encode(std::string& out, const TxnResponse& response);
void encode(std::string& out, const TxnGroupResponse& response);
void encode(std::string& out, const WatchResponse& response);
void encode(std::string& out, const StatusResponse& response);
void encode_compact_response(std::string& out, const ResponseHeader& header);

// All fail with corrupt on bytes that are not such a message.
Result<RangeRequest> decode_range_request(std::string_view message);
Result<TxnRequest> decode_txn_request(std::string_view message);
Result<TxnGroupRequest> decode_txn_group_request(std::string_view message);
Result<CompactRequest> decode_compact_request(std::string_view message);
Result<WatchRequest> decode_watch_request(std::string_view message);
Result<RangeResponse> decode_range_response(std::string_view message);
Result<TxnResponse> decode_txn_response(std::string_view message);
Result<TxnGroupResponse> decode_txn_group_response(std::string_view message);
Result<WatchResponse> decode_watch_response(std::string_view message);
Result<StatusResponse> decode_status_response(std::string_view message);

// What a failed call means to the one who made it.
struct Failure {
  Error error;
  bool surely_not_applied = false;  // a change asked for was not made and will not be
  bool try_elsewhere = false;       // another member may well answer
};

// `error.code` is gone for compacted revisions, exhausted for a full database or an overloaded
// server, unavailable or timeout where the cluster cannot answer now.
Failure classify_failure(const GrpcStatus& status);

}  // namespace fairlead::wire::etcd
