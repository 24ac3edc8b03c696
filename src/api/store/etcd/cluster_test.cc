// EtcdStore against clusters of real etcd members that die, freeze and are compacted meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/store/contract/contract.h"
#include "api/store/etcd/etcd_store.h"
#include "api/store/etcd/processes_test.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {
namespace {

using runtime::EpollRuntime;
using runtime::Runtime;
using testing::ElementsAre;

EtcdOptions options_from(const EtcdCluster& cluster, std::size_t first) {
  EtcdOptions options;
  for (std::size_t i = 0; i < cluster.size(); ++i)
    options.endpoints.push_back(cluster.endpoints()[(first + i) % cluster.size()]);
  return options;
}

EtcdOptions options_of_one(const EtcdCluster& cluster, std::size_t member) {
  EtcdOptions options;
  options.endpoints = {cluster.endpoints()[member]};
  return options;
}

Transaction create(const std::string& key, const std::string& value) {
  Transaction transaction;
  transaction.compares.push_back(absent(key));
  transaction.operations.push_back(put(key, value));
  return transaction;
}

// Waits for a cluster that is starting or electing.
Task<Revision> ready(EtcdStore& store) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const Result<Revision> revision = co_await store.revision();
    if (revision) co_return *revision;
  }
  ADD_FAILURE() << "etcd does not answer";
  co_return 0;
}

Task<std::size_t> leader_of(Runtime& runtime, const EtcdCluster& cluster) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      EtcdStore member(runtime, options_of_one(cluster, i));
      const Result<EtcdStatus> status = co_await member.status();
      if (status && status->leads) co_return i;
    }
    (void)co_await runtime::sleep(runtime, 100ms);
  }
  ADD_FAILURE() << "no leader";
  co_return 0;
}

// Writers that only ever create, and remember what they were told.
struct Ledger {
  std::map<std::string, Revision> acknowledged;
  std::set<std::string> unknown;  // timeout: may or may not be there
  std::set<std::string> refused;  // surely not there
  bool stop = false;
};

Task<void> keep_writing(EtcdStore& store, std::string name, Ledger& ledger) {
  for (int i = 0; !ledger.stop; ++i) {
    const std::string key = name + "/" + std::to_string(i);
    const Result<Committed> committed = co_await store.commit(create(key, "v"));
    if (committed) {
      ledger.acknowledged[key] = committed->revision;
    } else if (committed.error().code == Code::timeout) {
      ledger.unknown.insert(key);
    } else {
      EXPECT_EQ(committed.error().code, Code::unavailable) << committed.error().to_string();
      ledger.refused.insert(key);
    }
  }
}

// What a watch told, checked for order as it comes.
struct History {
  std::vector<Change> changes;
  Revision reached = 0;
  bool ended = false;
};

Task<void> keep_watching(Watch& watch, History& history) {
  for (;;) {
    Result<ChangeBatch> batch = co_await watch.next();
    if (!batch) {
      EXPECT_EQ(batch.error().code, Code::cancelled) << batch.error().to_string();
      break;
    }
    for (Change& change : batch->changes) {
      EXPECT_GT(change.current.modified.revision, history.reached);
      history.changes.push_back(std::move(change));
    }
    history.reached = batch->revision;
  }
  history.ended = true;
}

Task<void> until_reached(Runtime& runtime, const History& history, Revision revision) {
  for (int i = 0; i < 3000 && history.reached < revision && !history.ended; ++i)
    (void)co_await runtime::sleep(runtime, 10ms);
  EXPECT_GE(history.reached, revision);
}

// Two servers on a cluster of three, under load from both: the member that the first one talks to
// is killed and comes back, the leader freezes for seconds, and history is compacted meanwhile.
// Every acknowledged write is there afterwards, nothing refused is, and both watches tell one and
// the same history, which ends in exactly what is there.
struct Storm {
  EtcdCluster cluster{3};
  EpollRuntime runtime;
  EtcdStore first{runtime, options_from(cluster, 0)};
  EtcdStore second{runtime, options_from(cluster, 1)};
  Ledger ledger;
  History first_history;
  History second_history;

  Task<void> pause(Duration duration) { (void)co_await runtime::sleep(runtime, duration); }

  Task<void> strike(Revision start) {
    co_await pause(500ms);
    const std::uint64_t switches = first.counters().member_switches;
    const std::size_t used = cluster.index_of(first.member());
    cluster.member(used).kill();
    co_await pause(1500ms);
    EXPECT_GT(first.counters().member_switches, switches);
    cluster.member(used).start();
    co_await pause(1s);
    const std::size_t leader = co_await leader_of(runtime, cluster);
    cluster.member(leader).freeze();
    co_await pause(1s);
    const Result<> compacted = co_await second.compact(start + 10);
    EXPECT_TRUE(compacted || compacted.error().code == Code::timeout)
        << compacted.error().to_string();
    co_await pause(2s);
    cluster.member(leader).thaw();
    co_await pause(500ms);
  }

  Task<void> run() {
    const Revision start = co_await ready(first);
    const auto first_watch = std::move(*first.watch("", start));
    const auto second_watch = std::move(*second.watch("", start));
    runtime::Scope watching(runtime);
    watching.spawn(keep_watching(*first_watch, first_history));
    watching.spawn(keep_watching(*second_watch, second_history));
    runtime::Scope writing(runtime);
    for (int i = 0; i < 4; ++i) {
      writing.spawn(keep_writing(first, "first" + std::to_string(i), ledger));
      writing.spawn(keep_writing(second, "second" + std::to_string(i), ledger));
    }
    co_await strike(start);
    ledger.stop = true;
    co_await writing.join();
    const Revision last = co_await ready(second);
    co_await until_reached(runtime, first_history, last);
    co_await until_reached(runtime, second_history, last);
    co_await watching.close();
    const Result<Listing> listing = co_await second.list("", {});
    EXPECT_TRUE(listing);
    if (listing) check(*listing);
  }

  void check(const Listing& listing) const {
    std::map<std::string, Revision> found;
    for (const KeyValue& item : listing.items) found[item.key] = item.modified.revision;
    EXPECT_GT(ledger.acknowledged.size(), 100U);
    for (const auto& [key, revision] : ledger.acknowledged) {
      ASSERT_TRUE(found.contains(key)) << "acknowledged and lost: " << key;
      EXPECT_EQ(found[key], revision);
    }
    for (const std::string& key : ledger.refused)
      EXPECT_FALSE(found.contains(key)) << "refused and made: " << key;
    EXPECT_EQ(texts(first_history.changes), texts(second_history.changes));
    std::map<std::string, Revision> told;
    for (const Change& change : first_history.changes)
      EXPECT_TRUE(told.emplace(change.current.key, change.current.modified.revision).second);
    EXPECT_EQ(told, found);
  }
};

TEST(EtcdCluster, SurvivesDeathFreezeAndCompaction) {
  Storm storm;
  storm.runtime.run_until_complete(storm.run());
}

// A watch whose member was away while the changes it needs were made and compacted is told gone.
struct LeftBehind {
  EtcdCluster cluster{3};
  EpollRuntime runtime;
  EtcdStore lonely{runtime, options_of_one(cluster, 0)};
  EtcdStore others{runtime, options_from(cluster, 1)};

  Task<Result<ChangeBatch>> run() {
    const Revision start = co_await ready(lonely);
    const auto watch = std::move(*lonely.watch("", start));
    (void)co_await others.commit(create("before", "v"));
    Result<ChangeBatch> batch = co_await watch->next();
    EXPECT_TRUE(batch);
    cluster.member(0).kill();
    co_await ready(others);
    Revision last = 0;
    for (int i = 0; i < 5; ++i) {
      const auto committed = co_await others.commit(create("while" + std::to_string(i), "v"));
      EXPECT_TRUE(committed || committed.error().code == Code::timeout);
    }
    last = co_await ready(others);
    const Result<> compacted = co_await others.compact(last);
    EXPECT_TRUE(compacted) << compacted.error().to_string();
    cluster.member(0).start();
    co_return co_await watch->next();
  }
};

TEST(EtcdCluster, AWatchLeftBehindIsGone) {
  LeftBehind story;
  const Result<ChangeBatch> batch = story.runtime.run_until_complete(story.run());
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::gone);
}

// A write that a frozen member has taken is answered with timeout, never with a guess; when the
// member goes on, so does the store, and the watch has lost nothing.
struct Frozen {
  EtcdCluster cluster{1};
  EpollRuntime runtime;
  EtcdOptions options = options_of_one(cluster, 0);

  Task<void> run() {
    options.call_time = 2s;
    EtcdStore store(runtime, options);
    const Revision start = co_await ready(store);
    const auto watch = std::move(*store.watch("", start));
    const auto before = co_await store.commit(create("before", "v"));
    EXPECT_TRUE(before);
    cluster.member(0).freeze();
    const auto during = co_await store.commit(create("during", "v"));
    EXPECT_FALSE(during);
    if (!during) EXPECT_EQ(during.error().code, Code::timeout) << during.error().to_string();
    cluster.member(0).thaw();
    co_await ready(store);
    const auto after = co_await store.commit(create("after", "v"));
    EXPECT_TRUE(after);
    const auto found = co_await store.get("during");
    EXPECT_TRUE(found);
    History history;
    runtime::Scope watching(runtime);
    watching.spawn(keep_watching(*watch, history));
    co_await until_reached(runtime, history, after->revision);
    co_await watching.close();
    std::vector<std::string> expected = {"before=v@0", "after=v@0"};
    if (found && *found) expected.insert(expected.begin() + 1, "during=v@0");
    EXPECT_EQ(texts(history.changes), expected);
    EXPECT_EQ(store.counters().unknown_writes, 1U);
  }
};

TEST(EtcdCluster, AFrozenMemberMeansTimeout) {
  Frozen story;
  story.runtime.run_until_complete(story.run());
}

// A member that restarts keeps everything, and the watch goes on behind it without repetition.
struct Restart {
  EtcdCluster cluster{1};
  EpollRuntime runtime;
  EtcdStore store{runtime, options_of_one(cluster, 0)};

  Task<void> run() {
    const Revision start = co_await ready(store);
    const auto watch = std::move(*store.watch("", start));
    History history;
    runtime::Scope watching(runtime);
    watching.spawn(keep_watching(*watch, history));
    Revision last = 0;
    for (int round = 0; round < 3; ++round) {
      const auto committed = co_await store.commit(create("k" + std::to_string(round), "v"));
      EXPECT_TRUE(committed) << committed.error().to_string();
      if (committed) last = committed->revision;
      co_await until_reached(runtime, history, last);
      cluster.member(0).kill();
      cluster.member(0).start();
      co_await ready(store);
    }
    const auto committed = co_await store.commit(create("end", "v"));
    if (committed) last = committed->revision;
    co_await until_reached(runtime, history, last);
    co_await watching.close();
    EXPECT_THAT(texts(history.changes), ElementsAre("k0=v@0", "k1=v@0", "k2=v@0", "end=v@0"));
  }
};

TEST(EtcdCluster, AWatchSurvivesRestarts) {
  Restart story;
  story.runtime.run_until_complete(story.run());
}

// A cluster that was set back, as by restoring a backup, has lost what watches have told: they end
// with gone as soon as anyone asks for the revision, revisions go on growing all the same, and a
// new watch works.
struct SetBack {
  EtcdCluster cluster{1};
  EpollRuntime runtime;
  EtcdStore store{runtime, options_of_one(cluster, 0)};

  Task<void> run() {
    const Revision start = co_await ready(store);
    const auto watch = std::move(*store.watch("", start));
    for (int i = 0; i < 5; ++i) (void)co_await store.commit(create(std::to_string(i), "v"));
    for (Revision reached = start; reached < start + 5;) {
      const auto batch = co_await watch->next();
      EXPECT_TRUE(batch);
      if (!batch) co_return;
      reached = batch->revision;
    }
    cluster.member(0).kill();
    cluster.wipe(0);
    cluster.member(0).start();
    const Revision now = co_await ready(store);
    EXPECT_GT(now, start + 5);
    const auto batch = co_await watch->next();
    EXPECT_FALSE(batch);
    if (!batch) EXPECT_EQ(batch.error().code, Code::gone);
    const auto fresh = std::move(*store.watch("", now));
    (void)co_await store.commit(create("new", "v"));
    const auto news = co_await fresh->next();
    EXPECT_TRUE(news);
    if (news) EXPECT_THAT(texts(news->changes), ElementsAre("new=v@0"));
  }
};

TEST(EtcdCluster, AClusterSetBackEndsItsWatches) {
  SetBack story;
  story.runtime.run_until_complete(story.run());
}

}  // namespace
}  // namespace fairlead::store
