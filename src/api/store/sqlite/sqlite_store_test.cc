#include "api/store/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "api/store/contract/contract.h"
#include "api/store/sqlite/faulty_vfs.h"
#include "api/store/temporary_directory.h"
#include "api/store/test_loop.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::unique_ptr<SqliteStore> open_store(TestLoop& loop, SqliteOptions options) {
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(loop, std::move(options));
  if (!store) ADD_FAILURE() << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

class SqliteWorld final : public ContractWorld {
 public:
  SqliteWorld(TestLoop::Blocking blocking, SqliteOptions options) : loop_(blocking) {
    options.directory = directory_.path();
    store_ = open_store(loop_, std::move(options));
  }
  ~SqliteWorld() override { loop_.run(store_->close()); }
  runtime::Runtime& runtime() override { return loop_; }
  Store& store() override { return *store_; }
  void run(Task<void> task) override { loop_.run(std::move(task)); }

 private:
  TemporaryDirectory directory_;
  TestLoop loop_;
  std::unique_ptr<SqliteStore> store_;
};

ContractStore contract_store(std::string name, TestLoop::Blocking blocking, SqliteOptions options) {
  return {std::move(name), [=] { return std::make_unique<SqliteWorld>(blocking, options); }};
}

// Once with real threads, once as in simulation, once with so little memory that most watches have
// to read the database, and once with a log that is copied all the time.
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         testing::Values(contract_store("threads", TestLoop::Blocking::threads, {}),
                                         contract_store("on_loop", TestLoop::Blocking::on_loop, {}),
                                         contract_store("short_log", TestLoop::Blocking::threads,
                                                        {.log_changes = 3}),
                                         contract_store("checkpoints", TestLoop::Blocking::threads,
                                                        {.checkpoint_pages = 5})),
                         contract_name);

Transaction make(std::vector<Operation> operations, std::vector<Compare> compares = {}) {
  return {.compares = std::move(compares), .operations = std::move(operations)};
}

// A folder, a loop, and a store that can be closed and opened again.
class SqliteStoreTest : public testing::Test {
 protected:
  void open(SqliteOptions options = {}) {
    options.directory = directory_.path();
    store_ = open_store(loop_, std::move(options));
    ASSERT_TRUE(store_);
  }
  void close() {
    loop_.run(store_->close());
    store_.reset();
  }
  Result<Committed> commit(Transaction transaction) {
    return loop_.await(store_->commit(std::move(transaction)));
  }
  Revision write(Transaction transaction) {
    const Result<Committed> committed = commit(std::move(transaction));
    EXPECT_TRUE(committed) << committed.error().to_string();
    return committed ? committed->revision : 0;
  }
  std::vector<std::string> listed(ListOptions options = {}) {
    const Result<Listing> listing = loop_.await(store_->list("", std::move(options)));
    EXPECT_TRUE(listing) << listing.error().to_string();
    return listing ? texts(listing->items) : std::vector<std::string>();
  }
  Result<ChangeBatch> next(Watch& watch) { return loop_.await(watch.next()); }

  TemporaryDirectory directory_;
  TestLoop loop_{TestLoop::Blocking::threads};
  std::unique_ptr<SqliteStore> store_;
};

// Everything is there again after a restart: values, revisions, history, and what was compacted.
TEST_F(SqliteStoreTest, RemembersEverythingAcrossRestarts) {
  open();
  write(make({put("/a", "1"), put("/b", "1")}));
  write(make({put("/a", "2")}));
  write(make({erase("/b"), put("/c", "3")}, {exists("/b")}));
  ASSERT_TRUE(loop_.await(store_->compact(2)));
  close();

  open();
  EXPECT_EQ(loop_.await(store_->revision()), 3);
  EXPECT_THAT(listed(), ElementsAre("/a=2@0", "/c=3@1"));
  EXPECT_THAT(listed({.at = 2}), ElementsAre("/a=2@0", "/b=1@1"));
  EXPECT_EQ(loop_.await(store_->list("", {.at = 1})).error().code, Code::gone);
  const std::unique_ptr<Watch> resumed = std::move(*store_->watch("", 2));
  EXPECT_THAT(texts(next(*resumed)->changes), ElementsAre("-/b@0", "/c=3@1"));
  const std::unique_ptr<Watch> too_old = std::move(*store_->watch("", 0));
  EXPECT_EQ(next(*too_old).error().code, Code::gone);
  EXPECT_EQ(write(make({put("/a", "4")})), 4);
  close();
}

// Revisions go on growing even if the last thing before the restart was compacted away.
TEST_F(SqliteStoreTest, RevisionsGoOnAfterCompactionAndRestart) {
  open();
  write(make({put("/a", "1")}));
  const Revision erased = write(make({erase("/a")}, {exists("/a")}));
  ASSERT_TRUE(loop_.await(store_->compact(erased)));
  close();
  open();
  EXPECT_EQ(loop_.await(store_->revision()), erased);
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_EQ(write(make({put("/a", "2")})), erased + 1);
  close();
}

// A store that is dropped without being closed has lost nothing that it acknowledged.
TEST_F(SqliteStoreTest, NeedsNoOrderlyEnd) {
  open();
  for (int i = 0; i < 30; ++i) write(make({put("/" + std::to_string(i), "v")}));
  store_.reset();
  open();
  EXPECT_EQ(listed().size(), 30u);
  close();
}

// After close() writes are refused; nothing that was begun is cut off.
TEST_F(SqliteStoreTest, RefusesWritesAfterClose) {
  open();
  loop_.run(store_->close());
  EXPECT_EQ(commit(make({put("/a", "1")})).error().code, Code::unavailable);
  EXPECT_EQ(loop_.await(store_->compact(0)).error().code, Code::unavailable);
}

// Only one server at a time may use a folder; the second one learns which process has it.
TEST_F(SqliteStoreTest, RefusesASecondServer) {
  open();
  const Result<std::unique_ptr<SqliteStore>> second =
      SqliteStore::open(loop_, {.directory = directory_.path()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable);
  EXPECT_EQ(second.error().message, directory_.path() +
                                        " is in use by another fairlead server (pid " +
                                        std::to_string(::getpid()) + ")");
  close();
  open();
  close();
}

// Transactions that wait while a commit is under way share the next one.
TEST_F(SqliteStoreTest, SharesCommits) {
  struct Writers {
    static Task<void> write(Store& store, int number, int& acknowledged) {
      for (int i = 0; i < 5; ++i) {
        Transaction transaction = make({put("/" + std::to_string(number), std::to_string(i))});
        const Result<Committed> committed = co_await store.commit(std::move(transaction));
        if (committed) ++acknowledged;
      }
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, int& acknowledged) {
      runtime::Scope scope(runtime);
      for (int i = 0; i < 50; ++i) scope.spawn(write(store, i, acknowledged));
      co_await scope.join();
    }
  };
  open();
  int acknowledged = 0;
  loop_.run(Writers::all(loop_, *store_, acknowledged));
  EXPECT_EQ(acknowledged, 250);
  EXPECT_EQ(store_->stats().transactions, 250u);
  EXPECT_LE(store_->stats().batches, 25u);
  close();
}

// Watches have been handed a change before the writer hears that it is committed.
TEST_F(SqliteStoreTest, TellsWatchesBeforeTheWriter) {
  struct Story {
    static Task<void> watch(Watch& watch, std::vector<std::string>& order) {
      const Result<ChangeBatch> batch = co_await watch.next();
      if (batch) order.push_back("watch");
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, Watch& watched,
                          std::vector<std::string>& order) {
      runtime::Scope scope(runtime);
      scope.spawn(watch(watched, order));
      co_await runtime::yield(runtime);
      Transaction transaction = make({put("/a", "1")});
      const Result<Committed> committed = co_await store.commit(std::move(transaction));
      if (committed) order.push_back("writer");
      co_await scope.join();
    }
  };
  open();
  const std::unique_ptr<Watch> watched = std::move(*store_->watch("", 0));
  std::vector<std::string> order;
  loop_.run(Story::all(loop_, *store_, *watched, order));
  EXPECT_THAT(order, ElementsAre("watch", "writer"));
  close();
}

// A transaction that is cancelled while it waits is not carried out; one that has begun is waited
// for.
TEST_F(SqliteStoreTest, CancelledTransactionsAreTakenBackOrFinished) {
  struct Story {
    static Task<void> write(Store& store, std::string key, Result<Committed>& outcome) {
      Transaction transaction = make({put(key, "1")});
      outcome = co_await store.commit(std::move(transaction));
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, Result<Committed>& begun,
                          Result<Committed>& waiting) {
      runtime::Scope scope(runtime);
      scope.spawn(write(store, "/begun", begun));
      scope.spawn(write(store, "/waiting", waiting));
      co_await runtime::yield(runtime);
      co_await scope.close();
    }
  };
  open();
  Result<Committed> begun;
  Result<Committed> waiting;
  loop_.run(Story::all(loop_, *store_, begun, waiting));
  EXPECT_TRUE(begun);
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().code, Code::cancelled);
  EXPECT_THAT(listed(), ElementsAre("/begun=1@0"));
  close();
}

// Compaction gives back the space of what nobody can see any more.
TEST_F(SqliteStoreTest, CompactionFreesSpace) {
  open({.max_database_bytes = 1 << 20});
  const std::string value(4'000, 'v');
  Revision last = 0;
  // Far more than fits, were history kept for ever.
  for (int round = 0; round < 15; ++round) {
    for (int i = 0; i < 100; ++i) last = write(make({put("/" + std::to_string(i % 10), value)}));
    ASSERT_TRUE(loop_.await(store_->compact(last)));
  }
  EXPECT_EQ(listed().size(), 10u);
  close();
}

// A database that has reached its limit refuses writes with exhausted, goes on reading, and takes
// writes again when there is room.
TEST_F(SqliteStoreTest, AFullDatabaseRefusesWritesAndRecovers) {
  open({.max_database_bytes = 1 << 20});
  const std::string value(20'000, 'v');
  Result<Committed> committed;
  int made = 0;
  while ((committed = commit(make({put("/" + std::to_string(made), value)})))) ++made;
  EXPECT_EQ(committed.error().code, Code::exhausted) << committed.error().to_string();
  EXPECT_EQ(listed().size(), static_cast<std::size_t>(made));
  EXPECT_EQ(loop_.await(store_->revision()), made);
  const std::unique_ptr<Watch> watch = std::move(*store_->watch("", 0));
  EXPECT_EQ(next(*watch)->changes.size(), static_cast<std::size_t>(made));

  const Revision erased = write(make({erase("/0"), erase("/1")}, {exists("/0"), exists("/1")}));
  EXPECT_EQ(erased, made + 1);
  write(make({put("/small", "x")}));
  ASSERT_TRUE(loop_.await(store_->compact(erased + 1)));
  EXPECT_TRUE(commit(make({put("/again", value)})));
  close();
}

// Nobody else may read what is in the store, whatever the umask and whatever the files were before.
TEST_F(SqliteStoreTest, FilesArePrivate) {
  namespace fs = std::filesystem;
  const mode_t before = ::umask(0);
  fs::permissions(directory_.path(), fs::perms(0755));
  const auto expect_private = [&] {
    int found = 0;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      const fs::perms mode = entry.status().permissions();
      EXPECT_EQ(mode & fs::perms(0077), fs::perms::none) << entry.path();
      ++found;
    }
    EXPECT_GE(found, 4);  // lock, database, log, index
  };
  open();
  write(make({put("/secret", "x")}));
  expect_private();
  store_.reset();  // as killed: the log stays
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    if (entry.path().filename().string().starts_with("fairlead.db"))
      fs::permissions(entry.path(), fs::perms(0644));  // as made by an earlier version
  open();
  write(make({put("/secret", "y")}));
  expect_private();
  close();
  ::umask(before);
}

// Before the disk is full, writes are refused while reads go on.
TEST_F(SqliteStoreTest, AFullDiskRefusesWrites) {
  open();
  write(make({put("/a", "1")}));
  close();
  open({.reserve_bytes = 1ull << 62});
  EXPECT_EQ(commit(make({put("/b", "1")})).error().code, Code::exhausted);
  EXPECT_THAT(listed(), ElementsAre("/a=1@0"));
  close();
}

// When a commit fails on its way to the disk, nobody knows what is there: the process is to end,
// and whoever asked is told that the outcome is unknown.
TEST_F(SqliteStoreTest, AFailedCommitIsFatal) {
  for (const bool sync : {true, false}) {
    TemporaryDirectory directory;
    FaultyVfs vfs("faulty");
    std::vector<std::string> fatal;
    std::unique_ptr<SqliteStore> store =
        open_store(loop_, {.directory = directory.path(),
                           .vfs = vfs.name(),
                           .on_fatal = [&](const std::string& why) { fatal.push_back(why); }});
    ASSERT_TRUE(store);
    ASSERT_TRUE(loop_.await(store->commit(make({put("/a", "1")}))));
    const std::unique_ptr<Watch> watch = std::move(*store->watch("", 1));
    (sync ? vfs.sync_status : vfs.write_status) = sync ? SQLITE_IOERR_FSYNC : SQLITE_FULL;

    const Result<Committed> failed = loop_.await(store->commit(make({put("/b", "1")})));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::timeout) << failed.error().to_string();
    EXPECT_EQ(fatal.size(), 1u);

    // Even if the disk works again, nothing goes on as if nothing had happened.
    vfs.sync_status = vfs.write_status = SQLITE_OK;
    EXPECT_EQ(loop_.await(store->commit(make({put("/c", "1")}))).error().code, Code::unavailable);
    EXPECT_EQ(loop_.await(store->revision()).error().code, Code::unavailable);
    EXPECT_EQ(loop_.await(store->get("/a")).error().code, Code::unavailable);
    EXPECT_EQ(loop_.await(watch->next()).error().code, Code::unavailable);
    EXPECT_EQ(fatal.size(), 1u);
  }
}

// Those who wait behind a failed commit were not begun: they are told so, and are not left waiting.
TEST_F(SqliteStoreTest, AFailedCommitLeavesNobodyWaiting) {
  struct Story {
    static Task<void> write(Store& store, std::string key, std::vector<Code>& codes) {
      Transaction transaction = make({put(key, "1")});
      const Result<Committed> outcome = co_await store.commit(std::move(transaction));
      codes.push_back(outcome ? Code::internal : outcome.error().code);
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, std::vector<Code>& codes) {
      runtime::Scope scope(runtime);
      for (int i = 0; i < 4; ++i) scope.spawn(write(store, "/" + std::to_string(i), codes));
      co_await scope.join();
    }
  };
  FaultyVfs vfs("faulty");
  std::unique_ptr<SqliteStore> store = open_store(
      loop_,
      {.directory = directory_.path(), .vfs = vfs.name(), .on_fatal = [](const std::string&) {}});
  ASSERT_TRUE(store);
  vfs.sync_status = SQLITE_IOERR_FSYNC;
  std::vector<Code> codes;
  loop_.run(Story::all(loop_, *store, codes));
  EXPECT_THAT(codes, UnorderedElementsAre(Code::timeout, Code::unavailable, Code::unavailable,
                                          Code::unavailable));
}

// Nothing is acknowledged that was not synced: every commit makes at least one sync of its own.
TEST_F(SqliteStoreTest, EveryCommitIsSynced) {
  FaultyVfs vfs("faulty");
  std::unique_ptr<SqliteStore> store =
      open_store(loop_, {.directory = directory_.path(), .vfs = vfs.name()});
  ASSERT_TRUE(store);
  for (int i = 0; i < 10; ++i) {
    const int before = vfs.syncs;
    ASSERT_TRUE(loop_.await(store->commit(make({put("/a", std::to_string(i))}))));
    EXPECT_GT(vfs.syncs, before);
  }
}

// The log is copied into the database while commits go on, and again and again.
TEST_F(SqliteStoreTest, KeepsItsLogShort) {
  open({.checkpoint_pages = 4});
  for (int i = 0; i < 50; ++i) write(make({put("/" + std::to_string(i), std::string(3'000, 'v'))}));
  EXPECT_GT(store_->checkpoint_stats().completed, 3u);
  EXPECT_EQ(store_->checkpoint_stats().failures, 0u);
  EXPECT_LT(store_->stats().wal_pages, 50);
  EXPECT_EQ(listed().size(), 50u);
  close();
}

}  // namespace
}  // namespace fairlead::store
