#include "foundation/wire/etcd.h"

#include <gtest/gtest.h>

namespace fairlead::wire::etcd {
namespace {

// A transaction comes back as it was sent, whatever mixture of operations it holds.
TEST(EtcdMessages, TransactionSurvives) {
  TxnRequest request;
  request.compares = {{Compare::Result::equal, Compare::Target::mod, "a", 0},
                      {Compare::Result::greater, Compare::Target::mod, "b", 7},
                      {Compare::Result::equal, Compare::Target::version, "c", 3}};
  request.success = {PutRequest{"a", "value"}, DeleteRangeRequest{"b", ""}};
  request.failure = {RangeRequest{.key = "c", .limit = 1}};
  std::string bytes;
  encode(bytes, request);
  const auto decoded = decode_txn_request(bytes);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->compares.size(), 3U);
  EXPECT_EQ(decoded->compares[1].result, Compare::Result::greater);
  EXPECT_EQ(decoded->compares[1].operand, 7);
  EXPECT_EQ(decoded->compares[2].target, Compare::Target::version);
  ASSERT_EQ(decoded->success.size(), 2U);
  EXPECT_EQ(std::get<PutRequest>(decoded->success[0]).value, "value");
  EXPECT_EQ(std::get<DeleteRangeRequest>(decoded->success[1]).key, "b");
  EXPECT_EQ(std::get<RangeRequest>(decoded->failure.at(0)).limit, 1);
}

// The bytes of a create transaction, worked out by hand from the field numbers of rpc.proto.
TEST(EtcdMessages, CreateTransactionOnTheWire) {
  TxnRequest request;
  request.compares = {{Compare::Result::equal, Compare::Target::mod, "k", 0}};
  request.success = {PutRequest{"k", "v"}};
  std::string bytes;
  encode(bytes, request);
  EXPECT_EQ(bytes, std::string("\x0a\x07\x10\x02\x1a\x01k\x30\x00"
                               "\x12\x08\x12\x06\x0a\x01k\x12\x01v",
                               19));
}

// Responses, nested ones too, come back as they were sent.
TEST(EtcdMessages, ResponsesSurvive) {
  TxnResponse txn{.header = {.cluster_id = 1, .member_id = 2, .revision = 30, .raft_term = 4}};
  txn.succeeded = true;
  txn.responses.emplace_back(PutResponse{});
  txn.responses.emplace_back(DeleteRangeResponse{5});
  RangeResponse range;
  range.kvs = {{"k", 10, 20, 2, "v"}};
  range.more = true;
  range.count = 9;
  txn.responses.emplace_back(range);
  std::string bytes;
  encode(bytes, txn);
  const auto decoded = decode_txn_response(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->succeeded);
  EXPECT_EQ(decoded->header.revision, 30);
  ASSERT_EQ(decoded->responses.size(), 3U);
  EXPECT_EQ(std::get<DeleteRangeResponse>(decoded->responses[1]).deleted, 5);
  const auto& nested = std::get<RangeResponse>(decoded->responses[2]);
  EXPECT_EQ(nested.kvs.at(0).mod_revision, 20);
  EXPECT_EQ(nested.kvs.at(0).value, "v");
  EXPECT_TRUE(nested.more);
  EXPECT_EQ(nested.count, 9);
}

// A watch goes from its request to events, fragments and cancellation.
TEST(EtcdMessages, WatchSurvives) {
  std::string bytes;
  encode(bytes, WatchRequest(WatchCreateRequest{
                    .key = "a", .range_end = "b", .start_revision = 5, .fragment = true}));
  const auto request = decode_watch_request(bytes);
  ASSERT_TRUE(request);
  EXPECT_EQ(std::get<WatchCreateRequest>(*request).start_revision, 5);
  EXPECT_TRUE(std::get<WatchCreateRequest>(*request).fragment);

  WatchResponse response{.compact_revision = 12, .cancel_reason = "compacted", .fragment = true};
  response.canceled = true;
  response.events = {{false, {"k", 3, 4, 1, "v"}}, {true, {"gone", 0, 4, 0, ""}}};
  bytes.clear();
  encode(bytes, response);
  const auto decoded = decode_watch_response(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->canceled);
  EXPECT_TRUE(decoded->fragment);
  EXPECT_EQ(decoded->compact_revision, 12);
  EXPECT_EQ(decoded->cancel_reason, "compacted");
  ASSERT_EQ(decoded->events.size(), 2U);
  EXPECT_FALSE(decoded->events[0].erased);
  EXPECT_TRUE(decoded->events[1].erased);
  EXPECT_EQ(decoded->events[1].kv.key, "gone");
}

// Status, which the server's metrics show.
TEST(EtcdMessages, StatusSurvives) {
  StatusResponse status{.version = "3.4.23", .db_size = 1000, .leader = 77};
  status.errors = {"NOSPACE"};
  std::string bytes;
  encode(bytes, status);
  const auto decoded = decode_status_response(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->version, "3.4.23");
  EXPECT_EQ(decoded->leader, 77U);
  EXPECT_EQ(decoded->errors.at(0), "NOSPACE");
}

// A message cut anywhere is refused or reads as a shorter one; it never reads past its end.
TEST(EtcdMessages, CutMessagesNeverCrash) {
  WatchResponse response;
  response.events = {{false, {"key", 3, 4, 1, std::string_view("value")}}};
  std::string bytes;
  encode(bytes, response);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    const auto decoded = decode_watch_response(cut);
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, Code::corrupt);
    } else {
      EXPECT_TRUE(decoded->events.empty());
    }
  }
}

// etcd's errors as its source spells them. What matters most is the last but one column: a change
// is called "surely not made" only where etcd turned it away before proposing it.
TEST(EtcdFailures, AreClassified) {
  struct Case {
    GrpcCode grpc;
    const char* message;
    Code code;
    bool surely_not_applied;
    bool try_elsewhere;
  };
  const Case cases[] = {
      {GrpcCode::out_of_range, "etcdserver: mvcc: required revision has been compacted", Code::gone,
       true, false},
      {GrpcCode::out_of_range, "etcdserver: mvcc: required revision is a future revision",
       Code::invalid, true, false},
      {GrpcCode::resource_exhausted, "etcdserver: mvcc: database space exceeded", Code::exhausted,
       true, false},
      {GrpcCode::resource_exhausted, "etcdserver: too many requests", Code::exhausted, true, false},
      {GrpcCode::invalid_argument, "etcdserver: too many operations in txn request", Code::invalid,
       true, false},
      {GrpcCode::unavailable, "etcdserver: no leader", Code::unavailable, true, true},
      {GrpcCode::unavailable, "etcdserver: rpc not supported for learner", Code::unavailable, true,
       true},
      {GrpcCode::unavailable, "etcdserver: leader changed", Code::unavailable, false, true},
      {GrpcCode::unavailable, "etcdserver: request timed out", Code::unavailable, false, true},
      {GrpcCode::unavailable, "etcdserver: server stopped", Code::unavailable, false, true},
      {GrpcCode::unknown, "raft proposal dropped", Code::unavailable, true, true},
      {GrpcCode::unknown, "anything else", Code::internal, false, true},
      {GrpcCode::deadline_exceeded, "context deadline exceeded", Code::timeout, false, true},
      {GrpcCode::permission_denied, "etcdserver: permission denied", Code::forbidden, true, false},
  };
  for (const Case& c : cases) {
    const Failure failure = classify_failure({c.grpc, c.message});
    EXPECT_EQ(failure.error.code, c.code) << c.message;
    EXPECT_EQ(failure.surely_not_applied, c.surely_not_applied) << c.message;
    EXPECT_EQ(failure.try_elsewhere, c.try_elsewhere) << c.message;
  }
}

}  // namespace
}  // namespace fairlead::wire::etcd
