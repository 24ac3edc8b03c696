// Contract: watches. Order, whole revisions, resuming, gone, many at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/store/contract/contract.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Place> places(const std::vector<Change>& changes) {
  std::vector<Place> places;
  for (const Change& change : changes) places.push_back(change.current.modified);
  return places;
}

// A watch tells every change after its start in order, erasures with their place and nothing else.
TEST_P(StoreContract, WatchesTellEveryChangeInOrder) {
  write({put("/early", "0")});
  const Revision start = revision();
  const std::unique_ptr<Watch> watcher = watch("/", start);
  const Revision first = write({put("/b", "1"), put("/a", "1")});
  write({put("/a", "2")});
  const Revision third = write({put("/c", "3"), erase("/a")}, {exists("/a")});
  const std::vector<Change> changes = changes_until(*watcher, third);
  EXPECT_THAT(texts(changes), ElementsAre("/b=1@0", "/a=1@1", "/a=2@0", "/c=3@0", "-/a@1"));
  ASSERT_EQ(changes.size(), 5u);
  EXPECT_EQ(changes[0].current.created, first);
  EXPECT_EQ(changes[2].current.created, first);
  EXPECT_EQ(changes[4].current.created, 0);
  EXPECT_EQ(changes[4].current.modified, (Place{third, 1}));
  EXPECT_TRUE(changes[4].current.value.empty());
  EXPECT_TRUE(std::ranges::is_sorted(places(changes)));
}

// A watch that waits is woken by a change made afterwards.
TEST_P(StoreContract, WaitingWatchesAreWoken) {
  struct Story {
    static Task<void> wait(Watch& watch, std::vector<Change>& seen) {
      while (seen.empty()) {
        Result<ChangeBatch> batch = co_await watch.next();
        if (!batch) co_return;
        for (Change& change : batch->changes) seen.push_back(std::move(change));
      }
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, Watch& watch,
                          std::vector<Change>& seen) {
      runtime::Scope scope(runtime);
      scope.spawn(wait(watch, seen));
      for (int i = 0; i < 20; ++i) co_await runtime::yield(runtime);
      Transaction transaction;
      transaction.operations.push_back(put("/k", "new"));
      const Result<Committed> committed = co_await store.commit(std::move(transaction));
      EXPECT_TRUE(committed);
      co_await scope.join();
    }
  };
  const std::unique_ptr<Watch> watcher = watch("/", revision());
  std::vector<Change> seen;
  run(Story::all(runtime(), store(), *watcher, seen));
  EXPECT_THAT(texts(seen), ElementsAre("/k=new@0"));
}

// Prefixes of watches are exact, and positions are those within the transaction, not the watch.
TEST_P(StoreContract, WatchesSeeOnlyTheirPrefix) {
  const Revision start = revision();
  const std::unique_ptr<Watch> watcher = watch("/a/", start);
  const std::unique_ptr<Watch> high = watch("\xff", start);
  write({put("/a", "1"), put("/a/x", "1"), put("/b/x", "1"), put("/a/y", "1"), put("/a0", "1")});
  write({put("\xff\xff", "2"), put("\xfe", "2")});
  const Revision last = write({erase("/b/x"), erase("/a/x")}, {exists("/a/x"), exists("/b/x")});
  EXPECT_THAT(texts(changes_until(*watcher, last)), ElementsAre("/a/x=1@1", "/a/y=1@3", "-/a/x@1"));
  EXPECT_THAT(texts(changes_until(*high, last)), ElementsAre("\xff\xff=2@0"));
}

// Also where nothing of its prefix changes, a watch reaches the current revision.
TEST_P(StoreContract, WatchesReachTheCurrentRevision) {
  const std::unique_ptr<Watch> watcher = watch("/quiet/", revision());
  for (int i = 0; i < 3; ++i) write({put("/loud", std::to_string(i))});
  EXPECT_THAT(changes_until(*watcher, revision()), IsEmpty());
}

// No batch ends inside a revision, however it is cut.
TEST_P(StoreContract, BatchesNeverSplitARevision) {
  const Revision start = revision();
  std::map<Revision, std::size_t> sizes;
  for (std::size_t i = 1; i <= 40; ++i) {
    std::vector<Operation> operations;
    for (std::size_t j = 0; j < 1 + i * 37 % Transaction::kMaxOperations; ++j)
      operations.push_back(put("/" + std::to_string(j), std::to_string(i)));
    const std::size_t size = operations.size();
    sizes[write(std::move(operations))] = size;
  }
  const std::unique_ptr<Watch> watcher = watch("/", start);
  Revision reached = start;
  std::map<Revision, std::size_t> seen;
  while (reached < sizes.rbegin()->first) {
    const Result<ChangeBatch> batch = next(*watcher);
    ASSERT_TRUE(batch) << batch.error().to_string();
    for (const Change& change : batch->changes) {
      const Place place = change.current.modified;
      EXPECT_GT(place.revision, reached) << "a revision was continued in another batch";
      EXPECT_EQ(place.position, seen[place.revision]++);
    }
    EXPECT_GE(batch->revision, reached);
    if (!batch->changes.empty())
      EXPECT_GE(batch->revision, batch->changes.back().current.modified.revision);
    reached = batch->revision;
  }
  EXPECT_EQ(seen, sizes);
}

// A watch can be taken up again after every single revision, without gap or repetition.
TEST_P(StoreContract, WatchesResumeAfterAnyRevision) {
  const Revision start = revision();
  for (int i = 0; i < 12; ++i)
    write({put("/a", std::to_string(i)), put("/b" + std::to_string(i), "x")});
  write({erase("/a"), erase("/b3")}, {exists("/a"), exists("/b3")});
  const Revision last = revision();
  const std::unique_ptr<Watch> whole = watch("/", start);
  const std::vector<Change> history = changes_until(*whole, last);
  ASSERT_EQ(history.size(), 26u);
  for (Revision after = start; after < last; ++after) {
    const std::unique_ptr<Watch> resumed = watch("/", after);
    std::vector<Change> expected;
    for (const Change& change : history)
      if (change.current.modified.revision > after) expected.push_back(change);
    const std::vector<Change> seen = changes_until(*resumed, last);
    EXPECT_EQ(places(seen), places(expected)) << "after " << after;
    EXPECT_EQ(texts(seen), texts(expected)) << "after " << after;
  }
}

// A watch may be opened after a revision that is still to come: it stays silent until then.
TEST_P(StoreContract, WatchesMayStartInTheFuture) {
  const Revision start = revision();
  const std::unique_ptr<Watch> watcher = watch("/", start + 2);
  std::vector<Revision> made;
  for (int i = 0; i < 4; ++i) made.push_back(write({put("/k", std::to_string(i))}));
  std::vector<Place> expected;
  for (const Revision revision : made)
    if (revision > start + 2) expected.push_back({revision, 0});
  EXPECT_EQ(places(changes_until(*watcher, made.back())), expected);
}

// A watch that starts before what was compacted is told so, one that starts behind it is complete.
TEST_P(StoreContract, WatchesFromCompactedRevisionsAreGone) {
  const Revision start = revision();
  std::vector<Revision> made;
  for (int i = 0; i < 6; ++i) made.push_back(write({put("/k", std::to_string(i))}));
  write({erase("/k")}, {exists("/k")});
  const Revision last = revision();
  ASSERT_TRUE(compact(made[3]));

  for (const Revision after : {start, made[0], made[1]}) {
    Result<std::unique_ptr<Watch>> old = store().watch("/", after);
    if (old) {
      const Result<ChangeBatch> batch = next(**old);
      ASSERT_FALSE(batch) << "after " << after;
      EXPECT_EQ(batch.error().code, Code::gone);
    } else {
      EXPECT_EQ(old.error().code, Code::gone);
    }
  }
  const std::unique_ptr<Watch> kept = watch("/", made[3]);
  EXPECT_THAT(texts(changes_until(*kept, last)), ElementsAre("/k=4@0", "/k=5@0", "-/k@0"));
}

// Just before the compacted revision a watch either misses nothing or is gone; silence would be a
// lie.
TEST_P(StoreContract, WatchesAtTheEdgeOfCompactionMissNothing) {
  write({put("/k", "1")});
  const Revision erased = write({erase("/k")}, {exists("/k")});
  write({put("/other", "2")});
  const Revision last = revision();
  ASSERT_TRUE(compact(erased));
  Result<std::unique_ptr<Watch>> edge = store().watch("/", erased - 1);
  if (!edge) {
    EXPECT_EQ(edge.error().code, Code::gone);
    return;
  }
  std::vector<Change> seen;
  for (Revision reached = 0; reached < last;) {
    Result<ChangeBatch> batch = next(**edge);
    if (!batch) {
      EXPECT_EQ(batch.error().code, Code::gone);
      EXPECT_THAT(seen, IsEmpty());
      return;
    }
    reached = batch->revision;
    for (Change& change : batch->changes) seen.push_back(std::move(change));
  }
  EXPECT_THAT(texts(seen), ElementsAre("-/k@0", "/other=2@0"));
}

// A watch that has caught up is not disturbed by compaction.
TEST_P(StoreContract, CompactionLeavesWatchesThatCaughtUpAlone) {
  const std::unique_ptr<Watch> watcher = watch("/", revision());
  const Revision first = write({put("/k", "1")});
  EXPECT_THAT(texts(changes_until(*watcher, first)), ElementsAre("/k=1@0"));
  ASSERT_TRUE(compact(first));
  const Revision second = write({put("/k", "2")});
  EXPECT_THAT(texts(changes_until(*watcher, second)), ElementsAre("/k=2@0"));
}

// Many watches at once, on different prefixes and of different starts, each see their own story;
// ending some of them does not touch the others.
TEST_P(StoreContract, ManyWatchesAreIndependent) {
  const Revision start = revision();
  std::vector<std::unique_ptr<Watch>> watchers;
  for (int i = 0; i < 60; ++i)
    watchers.push_back(watch(i % 2 == 0 ? "/" : "/" + std::to_string(i % 5), start));
  Revision last = 0;
  for (int i = 0; i < 20; ++i) last = write({put("/" + std::to_string(i % 5), std::to_string(i))});
  for (std::size_t i = 0; i < watchers.size(); i += 3) watchers[i].reset();
  last = write({put("/3", "end"), put("/4", "end")});
  for (std::size_t i = 0; i < watchers.size(); ++i) {
    if (!watchers[i]) continue;
    const std::vector<Change> seen = changes_until(*watchers[i], last);
    std::size_t expected = 22;
    if (i % 2 != 0) expected = i % 5 >= 3 ? 5 : 4;
    EXPECT_EQ(seen.size(), expected) << "watch " << i;
  }
}

// A cancelled wait says so, and the watch can be asked again without having lost anything.
TEST_P(StoreContract, WaitingForChangesCanBeCancelled) {
  const std::unique_ptr<Watch> watcher = watch("/", revision());
  for (;;) {
    const Result<ChangeBatch> batch =
        await(runtime::with_timeout(runtime(), 50ms, watcher->next()));
    if (batch) {
      EXPECT_THAT(batch->changes, IsEmpty());
      continue;
    }
    EXPECT_EQ(batch.error().code, Code::timeout);
    break;
  }
  const Revision made = write({put("/k", "1")});
  EXPECT_THAT(texts(changes_until(*watcher, made)), ElementsAre("/k=1@0"));
}

// Everything acknowledged before revision() was asked is within what it answers.
TEST_P(StoreContract, RevisionIsLinearizable) {
  struct Story {
    static Task<void> write_many(Store& store, int number, Revision& acknowledged) {
      for (int i = 0; i < 10; ++i) {
        Transaction transaction;
        transaction.operations.push_back(put("/" + std::to_string(number), std::to_string(i)));
        const Result<Committed> committed = co_await store.commit(std::move(transaction));
        EXPECT_TRUE(committed);
        if (committed) acknowledged = std::max(acknowledged, committed->revision);
      }
    }
    static Task<void> ask(Store& store, Revision& acknowledged) {
      Revision last = 0;
      for (int i = 0; i < 20; ++i) {
        const Revision known = std::max(acknowledged, last);
        const Result<Revision> current = co_await store.revision();
        EXPECT_TRUE(current);
        if (current) EXPECT_GE(*current, known);
        const Result<Listing> now = co_await store.list("/", ListOptions());
        EXPECT_TRUE(now);
        if (!current || !now) co_return;
        EXPECT_GE(now->revision, *current);
        last = now->revision;
      }
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store) {
      Revision acknowledged = 0;
      runtime::Scope scope(runtime);
      for (int i = 0; i < 6; ++i) scope.spawn(write_many(store, i, acknowledged));
      for (int i = 0; i < 3; ++i) scope.spawn(ask(store, acknowledged));
      co_await scope.join();
    }
  };
  run(Story::all(runtime(), store()));
}

}  // namespace
}  // namespace fairlead::store
