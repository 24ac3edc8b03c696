// EtcdStore on a real etcd that is restored under it, in each of the ways in which that is done:
// whoever knew the etcd of before never takes the new changes for those that are lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/store/backup/backup.h"
#include "api/store/contract/contract.h"
#include "api/store/etcd/etcd_store.h"
#include "api/store/etcd/processes_test.h"
#include "api/store/restored_revision.h"
#include "api/store/sqlite/sqlite_store.h"
#include "api/store/temporary_directory.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;

class EtcdRestore : public testing::Test {
 protected:
  explicit EtcdRestore(std::size_t members = 1) : cluster_(members) {}

  EtcdOptions options(Revision seen = 0) const {
    EtcdOptions options;
    options.endpoints = cluster_.endpoints();
    options.seen = seen;
    return options;
  }
  std::unique_ptr<EtcdStore> open(Revision seen = 0) {
    auto store = std::make_unique<EtcdStore>(runtime_, options(seen));
    ready(*store);
    return store;
  }
  template <class T>
  T await(Task<T> task) {
    return runtime_.run_until_complete(std::move(task));
  }
  template <class T>
  Result<T> await_soon(Task<Result<T>> task) {
    return await(runtime::with_timeout(runtime_, 30s, std::move(task)));
  }
  Revision ready(EtcdStore& store) {
    for (int attempt = 0; attempt < 20; ++attempt)
      if (const Result<Revision> now = await(store.revision())) return *now;
    ADD_FAILURE() << "etcd does not answer";
    return 0;
  }
  Revision write(Store& store, std::string key, std::string value) {
    Transaction transaction;
    transaction.operations.push_back(put(std::move(key), std::move(value)));
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Result<Committed> committed = await(store.commit(transaction));
      if (committed) return committed->revision;
    }
    ADD_FAILURE() << "no write succeeded";
    return 0;
  }
  void write_many(Store& store, std::string_view value, int count = 40) {
    for (int i = 0; i < count; ++i) write(store, "/k" + std::to_string(i), std::string(value));
  }
  // Everything the watch tells until it has reached `revision`.
  std::vector<Change> changes_until(Watch& watch, Revision revision) {
    std::vector<Change> seen;
    for (Revision reached = 0; reached < revision;) {
      Result<ChangeBatch> batch = await_soon(watch.next());
      EXPECT_TRUE(batch) << batch.error().to_string();
      if (!batch) break;
      for (Change& change : batch->changes) seen.push_back(std::move(change));
      reached = batch->revision;
    }
    return seen;
  }
  Code watch_outcome(EtcdStore& store, Revision after) {
    const auto watch = std::move(*store.watch("", after));
    const Result<ChangeBatch> batch = await_soon(watch->next());
    return batch ? Code::internal : batch.error().code;
  }
  // What must hold of a store that has known `lost`, a revision after the one that came back.
  void expect_new_epoch(EtcdStore& store, Revision lost) {
    EXPECT_GT(ready(store), lost);
    EXPECT_EQ(watch_outcome(store, lost), Code::gone);
    EXPECT_EQ(watch_outcome(store, lost - 10), Code::gone);
    const Result<Listing> old = await_soon(store.list("", {.at = lost}));
    EXPECT_EQ(old ? Code::internal : old.error().code, Code::gone);
    const Result<Listing> now = await_soon(store.list("", {}));
    ASSERT_TRUE(now) << now.error().to_string();
    for (const KeyValue& item : now->items) {
      EXPECT_GT(item.modified.revision, lost) << item.key;
      EXPECT_LE(item.modified.revision, now->revision) << item.key;
    }
    const Revision next = write(store, "/after", "1");
    EXPECT_GT(next, now->revision);
    const auto watch = std::move(*store.watch("", now->revision));
    EXPECT_THAT(texts(changes_until(*watch, next)), ElementsAre("/after=1@0"));
  }

  EtcdCluster cluster_;
  runtime::EpollRuntime runtime_;
};

class EtcdClusterRestore : public EtcdRestore {
 protected:
  EtcdClusterRestore() : EtcdRestore(3) {}
};

// `etcdctl snapshot restore` under a server that runs: its watch ends, and nothing that was known
// is taken for something new, however far the new history grows.
TEST_F(EtcdClusterRestore, ARunningServerNoticesASnapshot) {
  const auto store = open();
  write_many(*store, "kept");
  cluster_.save_snapshot();
  const auto watch = std::move(*store->watch("", ready(*store)));
  write_many(*store, "lost");
  const Revision lost = write(*store, "/k0", "lost again");
  EXPECT_EQ(changes_until(*watch, lost).size(), 41U);

  cluster_.restore_snapshot();
  const Revision first = write(*store, "/k1", "new");
  EXPECT_GT(first, lost);
  write_many(*store, "new");  // as many as were lost: etcd's own revisions are the same again
  const Result<ChangeBatch> batch = await_soon(watch->next());
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::gone);
  expect_new_epoch(*store, lost);
  EXPECT_EQ(store->restores(), 1U);
  // Whoever decided on what is lost is refused.
  const Result<Committed> outdated = await_soon(
      store->commit({.compares = {unchanged("/k0", lost)}, .operations = {put("/k0", "late")}}));
  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().code, Code::conflict);
}

// Servers that were stopped meanwhile and remember nothing find out all the same, and agree.
TEST_F(EtcdRestore, ServersThatStartAfterASnapshotNoticeIt) {
  Revision lost = 0;
  {
    const auto store = open();
    write_many(*store, "kept");
    cluster_.save_snapshot();
    lost = write(*store, "/k0", "lost");
  }
  cluster_.restore_snapshot();
  EtcdStore first(runtime_, options());
  EtcdStore second(runtime_, options());
  struct Both {
    static Task<void> ask(EtcdStore& store) {
      for (int attempt = 0; attempt < 20; ++attempt)
        if (co_await store.revision()) co_return;
    }
    static Task<void> run(runtime::Runtime& runtime, EtcdStore& one, EtcdStore& other) {
      runtime::Scope scope(runtime);
      scope.spawn(ask(one));
      scope.spawn(ask(other));
      co_await scope.join();
    }
  };
  await(Both::run(runtime_, first, second));
  EXPECT_EQ(first.restores() + second.restores(), 1U);
  expect_new_epoch(first, lost);
  EXPECT_EQ(ready(first), ready(second));
  EXPECT_EQ(open()->restores(), 0U);  // and so does one that comes later
}

// The same snapshot a second time: the numbers of the first restore are not used again.
TEST_F(EtcdRestore, ASecondRestoreIsBeyondTheFirst) {
  auto store = open();
  write_many(*store, "kept");
  cluster_.save_snapshot();
  cluster_.restore_snapshot();
  const Revision lost = write(*store, "/k0", "lost");
  store.reset();
  cluster_.restore_snapshot();
  expect_new_epoch(*open(), lost);
}

// etcd's files put back as they were, raft log and all, show nothing themselves; the revision that
// the server kept elsewhere does.
TEST_F(EtcdRestore, FilesPutBackAreNoticedByWhatTheServerKept) {
  auto store = open();
  write_many(*store, "kept");
  store.reset();
  cluster_.member(0).kill();
  std::filesystem::copy(cluster_.data(0), cluster_.folder() / "copy",
                        std::filesystem::copy_options::recursive);
  cluster_.member(0).start();
  store = open();
  const Revision lost = write(*store, "/k0", "lost");
  EXPECT_GE(store->seen(), lost);
  const Revision kept = store->seen();
  store.reset();
  cluster_.member(0).kill();
  cluster_.wipe(0);
  std::filesystem::rename(cluster_.folder() / "copy", cluster_.data(0));
  cluster_.member(0).start();
  expect_new_epoch(*open(kept), lost);
}

// Restarts of members, elections and compaction are no restore.
TEST_F(EtcdClusterRestore, WhatIsNoRestoreIsNotTakenForOne) {
  const auto store = open();
  const auto watch = std::move(*store->watch("", ready(*store)));
  for (std::size_t i = 0; i < 2 * cluster_.size(); ++i) {
    write_many(*store, "v" + std::to_string(i), 10);
    const Revision before = write(*store, "/before", std::to_string(i));
    EXPECT_GE(changes_until(*watch, before).size(), 1U);  // or it is left behind, and gone
    ASSERT_TRUE(await_soon(store->compact(before - 5)));
    cluster_.member(i % cluster_.size()).kill();
    const Revision now = write(*store, "/alive", std::to_string(i));
    EXPECT_GE(changes_until(*watch, now).size(), 1U);
    cluster_.member(i % cluster_.size()).start();
    EXPECT_EQ(open()->restores(), 0U);
  }
  EXPECT_EQ(store->restores(), 0U);
  EXPECT_LT(ready(*store), 100'000);
}

// The epoch is written anew although the connection stays, as by a server whose folder has seen
// another etcd: all others go along.
TEST_F(EtcdRestore, AnEpochBegunBesideAServerReachesIt) {
  const auto store = open();
  write_many(*store, "kept");
  const Revision known = ready(*store);
  const auto watch = std::move(*store->watch("", known));
  EXPECT_EQ(open(known + 5'000)->restores(), 1U);
  const Result<ChangeBatch> batch = await_soon(watch->next());
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::gone);
  expect_new_epoch(*store, known + 5'000);
}

// From SQLite to etcd and back: every object is there, and numbers only grow.
TEST_F(EtcdRestore, ABackupMovesBetweenKindsOfStores) {
  const TemporaryDirectory folder;
  const auto file = [&](const std::string& name) { return folder.path() + "/" + name; };
  const WallTime now = runtime_.wall_now();
  Result<std::unique_ptr<SqliteStore>> sqlite =
      SqliteStore::open(runtime_, {.directory = file("one")});
  ASSERT_TRUE(sqlite);
  write_many(**sqlite, "kept");
  write(**sqlite, "/binary", std::string("\0\xff\n", 3));
  const Result<Listing> before = await_soon((*sqlite)->list("", {}));
  const Result<BackupSummary> first = await(back_up(runtime_, **sqlite, file("backup1")));
  ASSERT_TRUE(first) << first.error().to_string();
  const Revision lost = write(**sqlite, "/k0", "lost");
  await((*sqlite)->close());

  const auto etcd = open(restored_revision(first->revision, now));
  ASSERT_TRUE(await(load_backup(runtime_, *etcd, file("backup1"))));
  expect_new_epoch(*etcd, lost);
  Transaction remove{.compares = {exists("/after")}, .operations = {erase("/after")}};
  const Revision in_etcd = await_soon(etcd->commit(std::move(remove)))->revision;
  const Result<Listing> between = await_soon(etcd->list("", {}));
  const auto keys_and_values = [](const Listing& listing) {
    std::vector<std::string> all;
    for (const KeyValue& item : listing.items)
      all.push_back(item.key + "=" + std::string(item.value.view()));
    return all;
  };
  EXPECT_EQ(keys_and_values(*between), keys_and_values(*before));

  const Result<BackupSummary> second = await(back_up(runtime_, *etcd, file("backup2")));
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_GE(second->revision, in_etcd);
  const Revision lost_in_etcd = write(*etcd, "/k0", "lost");
  ASSERT_TRUE(restore_sqlite(file("backup2"), file("two"), runtime_.wall_now()));
  Result<std::unique_ptr<SqliteStore>> again =
      SqliteStore::open(runtime_, {.directory = file("two")});
  ASSERT_TRUE(again);
  const Result<Listing> after = await_soon((*again)->list("", {}));
  EXPECT_EQ(keys_and_values(*after), keys_and_values(*before));
  for (std::size_t i = 0; i < after->items.size(); ++i)
    EXPECT_EQ(after->items[i].modified, between->items[i].modified);
  EXPECT_GT(after->revision, lost_in_etcd);
  EXPECT_GT(write(**again, "/k0", "new"), lost_in_etcd);
  const auto watch = std::move(*(*again)->watch("", lost_in_etcd));
  const Result<ChangeBatch> batch = await_soon(watch->next());
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::gone);
  await((*again)->close());
}

}  // namespace
}  // namespace fairlead::store
