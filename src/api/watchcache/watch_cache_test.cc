#include "api/watchcache/watch_cache.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "api/resource/test_kinds.h"
#include "api/store/memory_store.h"
#include "foundation/runtime/manual_runtime.h"

namespace fairlead::watchcache {
namespace {

// A store whose answers to revision() travel until the test lets them arrive: each tells what was
// the newest when it was asked.
class DistantStore final : public store::Store {
 public:
  explicit DistantStore(runtime::Runtime& runtime) : store_(runtime) {}

  Task<Result<store::Revision>> revision() override {
    const Result<store::Revision> newest = co_await store_.revision();
    auto answer = std::make_shared<runtime::Signal>();
    answers.push_back(answer);
    ++asked;
    FL_CO_CHECKED(co_await answer->wait());
    if (failing) co_return fail(Code::unavailable, "lost");
    co_return newest;
  }
  Task<Result<std::optional<store::KeyValue>>> get(std::string key) override {
    return store_.get(std::move(key));
  }
  Task<Result<store::Listing>> list(std::string prefix, store::ListOptions options) override {
    return store_.list(std::move(prefix), std::move(options));
  }
  Task<Result<store::Committed>> commit(store::Transaction transaction) override {
    return store_.commit(std::move(transaction));
  }
  Result<std::unique_ptr<store::Watch>> watch(std::string prefix, store::Revision after) override {
    return store_.watch(std::move(prefix), after);
  }
  Task<Result<>> compact(store::Revision before) override { return store_.compact(before); }

  std::deque<std::shared_ptr<runtime::Signal>> answers;  // on their way, oldest first
  std::size_t asked = 0;
  bool failing = false;

 private:
  store::MemoryStore store_;
};

class FreshReads : public testing::Test {
 protected:
  FreshReads() {
    scope_.spawn(follow());
    runtime_.settle();
  }
  ~FreshReads() override {
    scope_.cancel();
    runtime_.settle();
  }

  // Begins a read; where it will say how it ended.
  std::shared_ptr<std::optional<Result<>>> read() {
    auto outcome = std::make_shared<std::optional<Result<>>>();
    scope_.spawn(read_into(outcome));
    return outcome;
  }
  void write(std::string key) {
    scope_.spawn(put(std::move(key)));
    runtime_.settle();
  }
  // The answer at that place among those on their way arrives.
  void arrives(std::size_t index) {
    const auto answer = store_.answers.at(index);
    store_.answers.erase(store_.answers.begin() + static_cast<std::ptrdiff_t>(index));
    answer->notify();
    runtime_.settle();
  }

  runtime::ManualRuntime runtime_;
  DistantStore store_{runtime_};
  WatchCache cache_{runtime_, store_, resource::test_catalog()};
  runtime::Scope scope_{runtime_};

 private:
  Task<void> follow() { (void)co_await cache_.run(); }
  Task<void> read_into(std::shared_ptr<std::optional<Result<>>> outcome) {
    const Result<> fresh = co_await cache_.fresh();
    *outcome = fresh;
  }
  Task<void> put(std::string key) {
    store::Transaction transaction;
    transaction.operations.push_back(
        {store::Operation::Kind::put, std::move(key), Bytes(std::string("v"))});
    const Result<store::Committed> committed = co_await store_.commit(std::move(transaction));
    EXPECT_TRUE(committed);
  }
};

// Readers of one turn of the loop share a question; one that comes later does not wait for its
// answer before it asks.
TEST_F(FreshReads, AskWithoutWaitingInTurn) {
  const auto first = read();
  const auto beside = read();
  runtime_.settle();
  EXPECT_EQ(store_.asked, 1u);
  const auto later = read();
  runtime_.settle();
  EXPECT_EQ(store_.asked, 2u);
  arrives(0);
  EXPECT_TRUE(first->has_value() && beside->has_value());
  EXPECT_FALSE(later->has_value());
  arrives(0);
  EXPECT_TRUE(later->has_value());
}

// A question that was asked before a read came tells nothing about what was acknowledged between.
TEST_F(FreshReads, NeverTakeAnOlderAnswer) {
  const auto before = read();
  runtime_.settle();
  write("guard/a");
  const auto after = read();
  runtime_.settle();
  arrives(0);
  EXPECT_TRUE(before->has_value());
  EXPECT_FALSE(after->has_value());
  arrives(0);
  ASSERT_TRUE(after->has_value());
  EXPECT_GT(cache_.guard_revision("a"), 0);
}

// Answers may overtake each other; each lets its own readers go.
TEST_F(FreshReads, AnswersMayOvertake) {
  const auto early = read();
  runtime_.settle();
  const auto late = read();
  runtime_.settle();
  arrives(1);
  EXPECT_TRUE(late->has_value());
  EXPECT_FALSE(early->has_value());
  arrives(0);
  EXPECT_TRUE(early->has_value());
}

// No more than a few questions are under way, and who comes then shares the next.
TEST_F(FreshReads, AreBounded) {
  std::vector<std::shared_ptr<std::optional<Result<>>>> reads;
  for (std::size_t i = 0; i < 3 * WatchCache::kChecks; ++i) {
    reads.push_back(read());
    runtime_.settle();
  }
  EXPECT_EQ(store_.asked, WatchCache::kChecks);
  arrives(0);
  EXPECT_EQ(store_.asked, WatchCache::kChecks + 1);
  EXPECT_TRUE(reads.front()->has_value());
  EXPECT_FALSE(reads.back()->has_value());
  while (!store_.answers.empty()) arrives(0);
  for (const auto& read : reads) EXPECT_TRUE(read->has_value());
  EXPECT_EQ(store_.asked, WatchCache::kChecks + 1);
  const auto next = read();
  runtime_.settle();
  EXPECT_EQ(store_.asked, WatchCache::kChecks + 2);
}

// A question that fails fails its readers, and the next one is asked as ever.
TEST_F(FreshReads, FailWithTheirQuestion) {
  const auto unlucky = read();
  runtime_.settle();
  store_.failing = true;
  arrives(0);
  ASSERT_TRUE(unlucky->has_value());
  EXPECT_FALSE((*unlucky)->has_value());
  store_.failing = false;
  const auto next = read();
  runtime_.settle();
  arrives(0);
  ASSERT_TRUE(next->has_value());
  EXPECT_TRUE((*next)->has_value());
}

}  // namespace
}  // namespace fairlead::watchcache
