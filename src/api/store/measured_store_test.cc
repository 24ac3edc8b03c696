#include "api/store/measured_store.h"

#include <gtest/gtest.h>

#include "api/store/contract/contract.h"
#include "api/store/memory_store.h"
#include "api/store/test_loop.h"

namespace fairlead::store {
namespace {

class MeasuredWorld final : public ContractWorld {
 public:
  runtime::Runtime& runtime() override { return loop_; }
  Store& store() override { return store_; }
  void run(Task<void> task) override { loop_.run(std::move(task)); }

 private:
  TestLoop loop_;
  metrics::Registry registry_;
  MeasuredStore store_{loop_, std::make_unique<MemoryStore>(loop_), registry_};
};

INSTANTIATE_TEST_SUITE_P(Measured, StoreContract,
                         testing::Values(ContractStore{
                             "memory", [] { return std::make_unique<MeasuredWorld>(); }}),
                         contract_name);

// Every call counts once, by how it ended.
TEST(MeasuredStore, CountsByOutcome) {
  TestLoop loop;
  metrics::Registry registry;
  MeasuredStore store(loop, std::make_unique<MemoryStore>(loop), registry);
  const auto create = [&] {
    Transaction transaction;
    transaction.compares.push_back(absent("/a"));
    transaction.operations.push_back(put("/a", "1"));
    return loop.await(store.commit(std::move(transaction))).has_value();
  };
  EXPECT_TRUE(create());
  EXPECT_FALSE(create());
  EXPECT_FALSE(create());
  Transaction twice;
  twice.operations = {put("/b", "1"), put("/b", "2")};
  EXPECT_FALSE(loop.await(store.commit(std::move(twice))));
  EXPECT_TRUE(loop.await(store.get("/a")));
  EXPECT_TRUE(loop.await(store.list("", {})));
  EXPECT_TRUE(loop.await(store.revision()));
  EXPECT_FALSE(loop.await(store.list("", {.at = 100})));
  const std::string text = registry.expose();
  for (const char* line : {"fairlead_store_commit_seconds_count{outcome=\"ok\"} 1\n",
                           "fairlead_store_commit_seconds_count{outcome=\"conflict\"} 2\n",
                           "fairlead_store_commit_seconds_count{outcome=\"error\"} 1\n",
                           "fairlead_store_read_seconds_count{outcome=\"ok\"} 3\n",
                           "fairlead_store_read_seconds_count{outcome=\"error\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace fairlead::store
