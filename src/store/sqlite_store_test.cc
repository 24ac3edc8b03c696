#include "store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract.h"
#include "store/temporary_directory.h"
#include "store/test_loop.h"

namespace fairlead::store {
namespace {

std::unique_ptr<SqliteStore> open_store(TestLoop& loop, SqliteOptions options) {
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(loop, std::move(options));
  if (!store) ADD_FAILURE() << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

class SqliteWorld final : public ContractWorld {
 public:
  SqliteWorld(TestLoop::Blocking blocking, std::size_t log_changes)
      : loop_(blocking),
        store_(open_store(loop_, {.directory = directory_.path(),
                                  .vfs = {},
                                  .log_changes = log_changes,
                                  .on_fatal = {}})) {}
  ~SqliteWorld() override { loop_.run(store_->close()); }
  runtime::Runtime& runtime() override { return loop_; }
  Store& store() override { return *store_; }
  void run(Task<void> task) override { loop_.run(std::move(task)); }

 private:
  TemporaryDirectory directory_;
  TestLoop loop_;
  std::unique_ptr<SqliteStore> store_;
};

ContractStore contract_store(std::string name, TestLoop::Blocking blocking,
                             std::size_t log_changes) {
  return {std::move(name), [=] { return std::make_unique<SqliteWorld>(blocking, log_changes); }};
}

// Once with real threads, once as in simulation, and once with so little memory that most watches
// have to read the database.
INSTANTIATE_TEST_SUITE_P(
    Sqlite, StoreContract,
    testing::Values(contract_store("threads", TestLoop::Blocking::threads, 100'000),
                    contract_store("on_loop", TestLoop::Blocking::on_loop, 100'000),
                    contract_store("short_log", TestLoop::Blocking::threads, 3)),
    contract_name);

}  // namespace
}  // namespace fairlead::store
