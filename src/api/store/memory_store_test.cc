#include "api/store/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/store/contract/contract.h"
#include "api/store/test_loop.h"

namespace fairlead::store {
namespace {

class MemoryWorld final : public ContractWorld {
 public:
  runtime::Runtime& runtime() override { return loop_; }
  Store& store() override { return store_; }
  void run(Task<void> task) override { loop_.run(std::move(task)); }

 private:
  TestLoop loop_;
  MemoryStore store_{loop_};
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
                         testing::Values(ContractStore{
                             "plain", [] { return std::make_unique<MemoryWorld>(); }}),
                         contract_name);

Transaction put_one(const std::string& key, const std::string& value) {
  Transaction transaction;
  transaction.operations.push_back(put(key, value));
  return transaction;
}

// Beyond its bound, history is compacted by itself: old lists and slow watches are gone, the
// present is whole, and a watch within the bound misses nothing.
TEST(MemoryStore, BoundsItsHistory) {
  TestLoop loop;
  MemoryStore store(loop, {.history_changes = 10});
  const std::unique_ptr<Watch> slow = std::move(*store.watch("", 0));
  const std::unique_ptr<Watch> recent = std::move(*store.watch("", 20));
  for (int i = 0; i < 25; ++i)
    ASSERT_TRUE(loop.await(store.commit(put_one("/" + std::to_string(i % 20), "v"))));
  EXPECT_EQ(loop.await(slow->next()).error().code, Code::gone);
  EXPECT_EQ(loop.await(recent->next())->changes.size(), 5u);
  EXPECT_EQ(loop.await(store.list("", {.at = 14})).error().code, Code::gone);
  const Result<Listing> old = loop.await(store.list("", {.at = 16}));
  ASSERT_TRUE(old) << old.error().to_string();
  EXPECT_EQ(old->items.size(), 16u);
  EXPECT_EQ(loop.await(store.list("", {}))->items.size(), 20u);
}

// A fresh store starts before everything, so a watch after 0 sees the very first change.
TEST(MemoryStore, StartsBeforeEverything) {
  TestLoop loop;
  MemoryStore store(loop);
  EXPECT_EQ(loop.await(store.revision()), 0);
  EXPECT_EQ(loop.await(store.commit(put_one("/a", "1")))->revision, 1);
  const std::unique_ptr<Watch> watch = std::move(*store.watch("", 0));
  EXPECT_EQ(loop.await(watch->next())->changes.size(), 1u);
}

}  // namespace
}  // namespace fairlead::store
