#include "api/store/backup/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "api/store/contract/contract.h"
#include "api/store/memory_store.h"
#include "api/store/restored_revision.h"
#include "api/store/sqlite/sqlite_store.h"
#include "api/store/temporary_directory.h"
#include "api/store/test_loop.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr WallTime kNow = std::chrono::sys_days(std::chrono::year{2026} / 11 / 17);

KeyValue item(std::string key, std::string value, Place modified, Revision created) {
  return {std::move(key), Bytes(std::move(value)), modified, created};
}

std::string small_backup() {
  BackupEncoder encoder(9);
  std::string text = encoder.begin();
  text += encoder.item(item("/a", std::string("\0\n\xff", 3), {4, 2}, 3));
  text += encoder.item(item("/b", "", {9, 0}, 9));
  return text + encoder.end();
}

struct Decoded {
  std::vector<KeyValue> items;
  Result<BackupSummary> summary;
};
Decoded decode(std::string_view text, std::size_t piece) {
  BackupDecoder decoder;
  Decoded decoded;
  for (;;) {
    const std::string_view next = text.substr(0, piece);
    decoder.feed(next);
    text.remove_prefix(next.size());
    for (;;) {
      Result<std::optional<KeyValue>> taken = decoder.next();
      if (!taken) {
        decoded.summary = fail(taken.error());
        return decoded;
      }
      if (!*taken) break;
      decoded.items.push_back(std::move(**taken));
    }
    if (text.empty()) break;
  }
  decoded.summary = decoder.finish();
  return decoded;
}

// What was encoded comes back, whatever the pieces in which it arrives.
TEST(BackupFormat, ComesBackFromPiecesOfAnySize) {
  for (const std::size_t piece : {1u, 2u, 7u, 1'000u}) {
    const Decoded decoded = decode(small_backup(), piece);
    ASSERT_TRUE(decoded.summary) << decoded.summary.error().to_string();
    EXPECT_EQ(*decoded.summary, (BackupSummary{9, 2}));
    ASSERT_EQ(decoded.items.size(), 2u);
    EXPECT_EQ(decoded.items[0].key, "/a");
    EXPECT_EQ(decoded.items[0].value.view(), std::string_view("\0\n\xff", 3));
    EXPECT_EQ(decoded.items[0].modified, (Place{4, 2}));
    EXPECT_EQ(decoded.items[0].created, 3);
    EXPECT_EQ(decoded.items[1].value.view(), "");
  }
}

// A change of any single byte, and a cut at any place, is noticed.
TEST(BackupFormat, EveryDamageIsNoticed) {
  const std::string whole = small_backup();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(decode(damaged, 64).summary) << "byte " << i;
    EXPECT_FALSE(decode(whole.substr(0, i), 64).summary) << "cut at " << i;
  }
  EXPECT_FALSE(decode(whole + "x", 64).summary);
  EXPECT_FALSE(decode(std::string(100'000, 'x'), 64).summary);
  EXPECT_FALSE(decode("fairlead backup 1\nrevision 9\nitem 9216 9 99999999999 1\n", 64).summary);
}

// A backup of a later program is refused by name, not by a checksum error.
TEST(BackupFormat, RefusesUnknownVersions) {
  const Decoded decoded = decode("fairlead backup 7\nnew things\n", 64);
  ASSERT_FALSE(decoded.summary);
  EXPECT_EQ(decoded.summary.error().code, Code::unsupported);
  EXPECT_THAT(decoded.summary.error().message, HasSubstr("version 7"));
}

class Backup : public testing::Test {
 protected:
  std::unique_ptr<SqliteStore> open(const std::string& name) {
    Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(loop_, {.directory = in(name)});
    EXPECT_TRUE(store) << store.error().to_string();
    return store ? std::move(*store) : nullptr;
  }
  std::string in(const std::string& name) const { return directory_.path() + "/" + name; }
  Revision write(Store& store, std::vector<Operation> operations,
                 std::vector<Compare> compares = {}) {
    const Result<Committed> committed = loop_.await(
        store.commit({.compares = std::move(compares), .operations = std::move(operations)}));
    EXPECT_TRUE(committed) << committed.error().to_string();
    return committed ? committed->revision : 0;
  }
  Listing list(Store& store) {
    Result<Listing> listing = loop_.await(store.list("", {}));
    EXPECT_TRUE(listing) << listing.error().to_string();
    return listing ? *listing : Listing();
  }
  BackupSummary back_up_to(Store& store, const std::string& name) {
    const Result<BackupSummary> done = loop_.await(back_up(loop_, store, in(name)));
    EXPECT_TRUE(done) << done.error().to_string();
    return done.value_or(BackupSummary());
  }
  // More than one page, with an erased key and changed ones.
  void fill(Store& store) {
    for (int i = 0; i < 6; ++i) {
      std::vector<Operation> operations;
      for (int j = 0; j < 100; ++j)
        operations.push_back(put("/" + std::to_string(i) + "/" + std::to_string(j), "v"));
      write(store, std::move(operations));
    }
    write(store, {put("/3/3", "changed"), erase("/4/4")}, {exists("/4/4")});
  }

  TemporaryDirectory directory_;
  TestLoop loop_{TestLoop::Blocking::threads};
};

// A restored store holds the same objects at the same places in history, and goes on far beyond
// everything that clients of the old one can have seen.
TEST_F(Backup, RestoresASqliteStore) {
  std::unique_ptr<SqliteStore> store = open("old");
  fill(*store);
  const Listing before = list(*store);
  const BackupSummary made = back_up_to(*store, "backup");
  EXPECT_EQ(made, (BackupSummary{before.revision, 599}));
  write(*store, {put("/later", "not in the backup")});
  EXPECT_EQ(verify_backup(in("backup")), made);

  ASSERT_EQ(restore_sqlite(in("backup"), in("new"), kNow), made);
  std::unique_ptr<SqliteStore> restored = open("new");
  const Listing after = list(*restored);
  EXPECT_EQ(texts(after.items), texts(before.items));
  for (std::size_t i = 0; i < before.items.size(); ++i) {
    EXPECT_EQ(after.items[i].modified, before.items[i].modified);
    EXPECT_EQ(after.items[i].created, before.items[i].created);
  }
  EXPECT_EQ(after.revision, restored_revision(before.revision, kNow));
  const std::unique_ptr<Watch> old_client = std::move(*restored->watch("", before.revision + 1));
  EXPECT_EQ(loop_.await(old_client->next()).error().code, Code::gone);

  const Revision next = write(*restored, {put("/3/3", "again")},
                              {unchanged("/3/3", before.revision), absent("/4/4")});
  EXPECT_EQ(next, after.revision + 1);
  const std::unique_ptr<Watch> new_client = std::move(*restored->watch("", after.revision));
  EXPECT_THAT(texts(loop_.await(new_client->next())->changes), ElementsAre("/3/3=again@0"));
}

// Compaction works on a restored store as on any other.
TEST_F(Backup, ARestoredStoreCanBeCompacted) {
  {
    std::unique_ptr<SqliteStore> store = open("old");
    fill(*store);
    back_up_to(*store, "backup");
  }
  ASSERT_TRUE(restore_sqlite(in("backup"), in("new"), kNow));
  std::unique_ptr<SqliteStore> restored = open("new");
  write(*restored, {put("/3/3", "again")});
  const Revision last = write(*restored, {erase("/5/5")}, {exists("/5/5")});
  write(*restored, {put("/end", "")});
  ASSERT_TRUE(loop_.await(restored->compact(last + 1)));
  EXPECT_EQ(list(*restored).items.size(), 599u);
  EXPECT_EQ(loop_.await(restored->get("/3/3")).value()->value.view(), "again");
}

// A restore never touches a database that is there, nor a folder that a server uses, and a damaged
// backup leaves nothing behind.
TEST_F(Backup, RestoreRefusesToDestroy) {
  std::unique_ptr<SqliteStore> store = open("old");
  fill(*store);
  back_up_to(*store, "backup");
  EXPECT_EQ(restore_sqlite(in("backup"), in("old"), kNow).error().code, Code::unavailable);
  loop_.run(store->close());
  store.reset();
  EXPECT_EQ(restore_sqlite(in("backup"), in("old"), kNow).error().code, Code::already_exists);
  EXPECT_EQ(restore_sqlite(in("nothing"), in("new"), kNow).error().code, Code::not_found);

  std::filesystem::resize_file(in("backup"), std::filesystem::file_size(in("backup")) - 10);
  const Result<BackupSummary> damaged = restore_sqlite(in("backup"), in("new"), kNow);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::corrupt);
  EXPECT_FALSE(std::filesystem::exists(in("new") + "/fairlead.db"));
}

// A backup moves the state from one kind of store to another.
TEST_F(Backup, LoadsIntoAnyEmptyStore) {
  MemoryStore source(loop_);
  fill(source);
  write(source, {put("/large", std::string(Transaction::kMaxBytes - 6, 'x'))});
  const BackupSummary made = back_up_to(source, "backup");
  std::unique_ptr<SqliteStore> target = open("target");
  EXPECT_EQ(loop_.await(load_backup(loop_, *target, in("backup"))), made);
  const Listing expected = list(source);
  const Listing loaded = list(*target);
  ASSERT_EQ(loaded.items.size(), expected.items.size());
  for (std::size_t i = 0; i < expected.items.size(); ++i) {
    EXPECT_EQ(loaded.items[i].key, expected.items[i].key);
    EXPECT_EQ(loaded.items[i].value.view(), expected.items[i].value.view());
  }
  const Result<BackupSummary> twice = loop_.await(load_backup(loop_, *target, in("backup")));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::already_exists);
}

// The backup shows one moment, although writing goes on all the while.
TEST_F(Backup, ShowsOneMoment) {
  struct Story {
    static Task<void> write(Store& store, bool& done) {
      // Each transaction keeps the two keys, which lie on different pages, equal.
      int i = 0;
      while (!done) {
        ++i;
        Transaction transaction;
        transaction.operations.push_back(put("/0/0", std::to_string(i)));
        transaction.operations.push_back(put("/5/99", std::to_string(i)));
        const Result<Committed> committed = co_await store.commit(std::move(transaction));
        EXPECT_TRUE(committed);
      }
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, std::string path) {
      bool done = false;
      runtime::Scope scope(runtime);
      scope.spawn(write(store, done));
      const Result<BackupSummary> made = co_await back_up(runtime, store, path);
      EXPECT_TRUE(made);
      done = true;
      co_await scope.join();
    }
  };
  std::unique_ptr<SqliteStore> store = open("old");
  fill(*store);
  write(*store, {put("/0/0", "0"), put("/5/99", "0")});
  loop_.run(Story::all(loop_, *store, in("backup")));
  ASSERT_TRUE(restore_sqlite(in("backup"), in("new"), kNow));
  std::unique_ptr<SqliteStore> restored = open("new");
  EXPECT_EQ(loop_.await(restored->get("/0/0")).value()->value.view(),
            loop_.await(restored->get("/5/99")).value()->value.view());
}

// An empty store has a backup too.
TEST_F(Backup, EmptyStoresCanBeBackedUp) {
  MemoryStore store(loop_);
  EXPECT_EQ(back_up_to(store, "backup"), (BackupSummary{0, 0}));
  EXPECT_EQ(restore_sqlite(in("backup"), in("new"), kNow), (BackupSummary{0, 0}));
}

}  // namespace
}  // namespace fairlead::store
