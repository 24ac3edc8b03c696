#include "api/store/etcd/group.h"

#include <gtest/gtest.h>

#include "foundation/wire/etcd.h"
#include "foundation/wire/grpc.h"

namespace fairlead::store {
namespace {

using Form = EtcdGroup::Form;

Transaction create(const std::string& key, std::size_t keys = 1) {
  Transaction transaction;
  for (std::size_t i = 0; i < keys; ++i) {
    const std::string one = i == 0 ? key : key + "." + std::to_string(i);
    transaction.compares.push_back({one, 0});
    transaction.operations.push_back({Operation::Kind::put, one, Bytes(std::string("v"))});
  }
  return transaction;
}

Transaction only_compares(const std::string& key) {
  Transaction transaction;
  transaction.compares.push_back({key, Compare::kExists});
  return transaction;
}

std::string unframed(const std::string& framed) { return framed.substr(5); }

// A key that one transaction changes may not be compared or changed by another of the same group;
// what is only compared may be compared by many.
TEST(EtcdGroup, HoldsIndependentTransactionsOnly) {
  const EtcdKeys keys("/r/");
  const Transaction a = create("a"), again = create("a"), b = create("b");
  const Transaction reads_a = only_compares("a"), reads_c = only_compares("c");
  const Transaction reads_c_too = only_compares("c"), c = create("c");
  EtcdGroup group(keys);
  EXPECT_TRUE(group.add(a));
  EXPECT_FALSE(group.add(again));
  EXPECT_FALSE(group.add(reads_a));
  EXPECT_TRUE(group.add(b));
  EXPECT_TRUE(group.add(reads_c));
  EXPECT_TRUE(group.add(reads_c_too));
  EXPECT_FALSE(group.add(c));
  EXPECT_EQ(group.size(), 4U);
}

// What could make etcd refuse the whole group goes alone.
TEST(EtcdGroup, LargeOnesGoAlone) {
  const EtcdKeys keys("/r/");
  const Transaction large = create("large", EtcdGroup::kMaxOperationsOfOne + 1);
  const Transaction small = create("small");
  Transaction heavy = create("heavy");
  heavy.operations.front().value = Bytes(std::string(EtcdGroup::kMaxBytes, 'x'));
  EtcdGroup first_large(keys), first_small(keys);
  EXPECT_TRUE(first_large.add(large));
  EXPECT_FALSE(first_large.add(small));
  EXPECT_TRUE(first_small.add(small));
  EXPECT_FALSE(first_small.add(large));
  EXPECT_FALSE(first_small.add(heavy));

  std::vector<Transaction> many;
  for (std::size_t i = 0; i <= EtcdGroup::kMaxTransactions; ++i)
    many.push_back(create("k" + std::to_string(i)));
  EtcdGroup full(keys);
  for (std::size_t i = 0; i < EtcdGroup::kMaxTransactions; ++i) EXPECT_TRUE(full.add(many[i]));
  EXPECT_FALSE(full.add(many.back()));
}

// Positions are counted through the group, in the order in which it was filled.
TEST(EtcdGroup, PositionsGoThroughTheGroup) {
  const EtcdKeys keys("/r/");
  const Transaction two = create("two", 2), one = create("one");
  EtcdGroup group(keys);
  ASSERT_TRUE(group.add(two) && group.add(one));
  const std::string request = unframed(group.request(Form::each));
  const auto sent = wire::etcd::decode_txn_group_request(request);
  ASSERT_TRUE(sent);
  ASSERT_EQ(sent->transactions.size(), 2U);
  const auto& put = std::get<wire::etcd::PutRequest>(sent->transactions[1].success.at(0));
  EXPECT_EQ(put.key, "/r/data/one");
  EXPECT_EQ(open_value(put.value)->position, 2U);

  wire::etcd::TxnGroupResponse response;
  response.header.revision = 9;
  response.transactions.resize(2);
  response.transactions[1].succeeded = true;
  std::string answer;
  wire::etcd::encode(answer, response);
  const auto outcomes = group.outcomes(Form::each, answer);
  ASSERT_TRUE(outcomes && *outcomes);
  ASSERT_FALSE((*outcomes)->at(0));
  EXPECT_EQ((*outcomes)->at(0).error().code, Code::conflict);
  ASSERT_TRUE((*outcomes)->at(1));
  EXPECT_EQ((*outcomes)->at(1)->revision, 9);
  EXPECT_EQ((*outcomes)->at(1)->position, 2U);
}

// Together: all compares and changes in one, the same compare of several once; all or nothing.
TEST(EtcdGroup, TogetherIsOneTransaction) {
  const EtcdKeys keys("/r/");
  Transaction a = create("a", 2), b = create("b");
  for (Transaction* one : {&a, &b}) one->compares.push_back({"namespace", 17});
  EtcdGroup group(keys);
  ASSERT_TRUE(group.add(a) && group.add(b));
  ASSERT_TRUE(group.may_go_together());
  const std::string request = unframed(group.request(Form::together));
  const auto sent = wire::etcd::decode_txn_request(request);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->compares.size(), 4U);
  EXPECT_TRUE(sent->failure.empty());
  ASSERT_EQ(sent->success.size(), 3U);
  const auto& last = std::get<wire::etcd::PutRequest>(sent->success.at(2));
  EXPECT_EQ(last.key, "/r/data/b");
  EXPECT_EQ(open_value(last.value)->position, 2U);

  wire::etcd::TxnResponse response;
  response.header.revision = 5;
  response.succeeded = true;
  std::string answer;
  wire::etcd::encode(answer, response);
  const auto all = group.outcomes(Form::together, answer);
  ASSERT_TRUE(all && *all);
  EXPECT_EQ((*all)->at(0)->position, 0U);
  EXPECT_EQ((*all)->at(1)->revision, 5);
  EXPECT_EQ((*all)->at(1)->position, 2U);

  response.succeeded = false;
  answer.clear();
  wire::etcd::encode(answer, response);
  const auto none = group.outcomes(Form::together, answer);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

// etcd refuses transactions of more operations than that.
TEST(EtcdGroup, ManyOperationsGoOneByOne) {
  const EtcdKeys keys("/r/");
  std::vector<Transaction> many;
  for (std::size_t i = 0; i * 10 <= EtcdGroup::kMaxOperations; ++i)
    many.push_back(create("k" + std::to_string(i), 10));
  EtcdGroup group(keys);
  for (const Transaction& one : many) ASSERT_TRUE(group.add(one));
  EXPECT_FALSE(group.may_go_together());
}

// A single transaction is sent as what it is.
TEST(EtcdGroup, OneGoesPlain) {
  const EtcdKeys keys("/r/");
  const Transaction one = create("one");
  EtcdGroup group(keys);
  ASSERT_TRUE(group.add(one));
  const std::string request = unframed(group.request(Form::together));
  ASSERT_TRUE(wire::etcd::decode_txn_request(request));
  wire::etcd::TxnResponse response;
  response.header.revision = 4;
  response.succeeded = true;
  std::string answer;
  wire::etcd::encode(answer, response);
  EXPECT_EQ((*group.outcomes(Form::together, answer))->at(0)->revision, 4);
  response.succeeded = false;
  answer.clear();
  wire::etcd::encode(answer, response);
  EXPECT_EQ((*group.outcomes(Form::together, answer))->at(0).error().code, Code::conflict);
}

// An answer that does not fit the question tells nothing about any of them.
TEST(EtcdGroup, RefusesAnswersThatDoNotFit) {
  const EtcdKeys keys("/r/");
  const Transaction a = create("a"), b = create("b");
  EtcdGroup group(keys);
  ASSERT_TRUE(group.add(a) && group.add(b));
  wire::etcd::TxnGroupResponse response;
  response.transactions.resize(1);
  std::string answer;
  wire::etcd::encode(answer, response);
  EXPECT_EQ(group.outcomes(Form::each, answer).error().code, Code::corrupt);
  EXPECT_EQ(group.outcomes(Form::each, "\xff").error().code, Code::corrupt);
  EXPECT_EQ(group.outcomes(Form::together, "\xff").error().code, Code::corrupt);
}

}  // namespace
}  // namespace fairlead::store
