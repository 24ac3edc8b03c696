// EtcdStore against one real etcd: the contract, and what only etcd makes necessary.
#include "api/store/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "api/identity/authority.h"
#include "api/identity/certificate.h"
#include "api/store/contract/contract.h"
#include "api/store/etcd/processes_test.h"
#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;

// One etcd for the whole program; every test has a root of its own in it.
EtcdCluster& shared_etcd() {
  static EtcdCluster cluster(1);
  return cluster;
}

EtcdOptions options_in(EtcdCluster& cluster) {
  static int worlds = 0;
  EtcdOptions options;
  options.endpoints = cluster.endpoints();
  options.root = "/test" + std::to_string(++worlds) + "/";
  return options;
}

class EtcdWorld final : public ContractWorld {
 public:
  explicit EtcdWorld(EtcdOptions options = options_in(shared_etcd())) : options_(options) {
    wait_ready();
  }
  runtime::Runtime& runtime() override { return runtime_; }
  EtcdStore& store() override { return store_; }
  const EtcdOptions& options() const { return options_; }
  void run(Task<void> task) override { runtime_.run_until_complete(std::move(task)); }
  template <class T>
  T await(Task<T> task) {
    return runtime_.run_until_complete(std::move(task));
  }
  Revision write(const std::string& key, const std::string& value) {
    return write_in(store_, key, value);
  }
  Revision write_in(EtcdStore& store, const std::string& key, const std::string& value) {
    Transaction transaction;
    transaction.operations.push_back(put(key, value));
    const Result<Committed> committed = await(store.commit(std::move(transaction)));
    EXPECT_TRUE(committed) << committed.error().to_string();
    return committed ? committed->revision : 0;
  }
  // Everything the watch tells until it has reached `revision`.
  std::vector<Change> changes_until(Watch& watch, Revision revision) {
    std::vector<Change> seen;
    for (Revision reached = 0; reached < revision;) {
      Result<ChangeBatch> batch = await(runtime::with_timeout(runtime_, 30s, watch.next()));
      EXPECT_TRUE(batch) << batch.error().to_string();
      if (!batch) break;
      for (Change& change : batch->changes) seen.push_back(std::move(change));
      reached = batch->revision;
    }
    return seen;
  }

 private:
  void wait_ready() {
    for (int attempt = 0; attempt < 10; ++attempt) {
      if (await(store_.revision())) return;
    }
    ADD_FAILURE() << "etcd does not answer; is the Debian package etcd-server installed?";
  }
  EtcdOptions options_;
  runtime::EpollRuntime runtime_;
  EtcdStore store_{runtime_, options_};
};

INSTANTIATE_TEST_SUITE_P(Etcd, StoreContract,
                         testing::Values(ContractStore{
                             "plain", [] { return std::make_unique<EtcdWorld>(); }}),
                         contract_name);

// Two stores on one etcd, as two servers have them, with a root of their own each: neither sees
// anything of the other but revisions, and the watch reaches those with the help of a tick.
TEST(EtcdStore, WatchesReachRevisionsMadeElsewhere) {
  EtcdWorld world;
  EtcdOptions foreign = world.options();
  foreign.root = "/elsewhere/";
  EtcdStore other(world.runtime(), foreign);
  const Revision start = *world.await(world.store().revision());
  const auto watch = std::move(*world.store().watch("", start));
  world.write_in(other, "k", "foreign");
  const Revision now = *world.await(world.store().revision());
  EXPECT_GT(now, start);
  EXPECT_THAT(world.changes_until(*watch, now), testing::IsEmpty());
  EXPECT_GE(world.store().counters().ticks, 1U);
}

// Two servers on one root see each other's changes, in the same order and at the same places.
TEST(EtcdStore, TwoStoresTellTheSameHistory) {
  EtcdWorld world;
  EtcdStore second(world.runtime(), world.options());
  const Revision start = *world.await(world.store().revision());
  const auto first_watch = std::move(*world.store().watch("", start));
  const auto second_watch = std::move(*second.watch("", start));
  Revision last = 0;
  for (int i = 0; i < 10; ++i) {
    last = world.write("a" + std::to_string(i), "1");
    last = world.write_in(second, "b" + std::to_string(i), "2");
  }
  const auto first_seen = world.changes_until(*first_watch, last);
  const auto second_seen = world.changes_until(*second_watch, last);
  EXPECT_EQ(first_seen.size(), 20U);
  EXPECT_EQ(texts(first_seen), texts(second_seen));
}

// A watch that starts further back than the feed remembers follows etcd by itself, joins the others
// once it has caught up, and misses and repeats nothing on the way.
TEST(EtcdStore, WatchesFarBehindCatchUp) {
  EtcdOptions options = options_in(shared_etcd());
  options.log_changes = 4;
  EtcdWorld world(options);
  const Revision start = *world.await(world.store().revision());
  const auto ahead = std::move(*world.store().watch("", start));
  Revision last = 0;
  std::vector<std::string> expected;
  for (int i = 0; i < 30; ++i) {
    last = world.write("k" + std::to_string(i), "v");
    expected.push_back("k" + std::to_string(i) + "=v@0");
  }
  EXPECT_EQ(texts(world.changes_until(*ahead, last)), expected);
  const auto behind = std::move(*world.store().watch("", start));
  EXPECT_EQ(texts(world.changes_until(*behind, last)), expected);
  const std::uint64_t streams = world.store().counters().watch_connects;
  EXPECT_GE(streams, 2U);
  last = world.write("more", "v");
  EXPECT_THAT(texts(world.changes_until(*behind, last)), ElementsAre("more=v@0"));
  EXPECT_THAT(texts(world.changes_until(*ahead, last)), ElementsAre("more=v@0"));
  EXPECT_EQ(world.store().counters().watch_connects, streams);
}

// Erasures at exactly the compacted revision are lost to etcd's watches; a watch that would need
// them is told gone instead of missing them.
TEST(EtcdStore, NeverMissesAnErasureAtTheCompactedRevision) {
  EtcdWorld world;
  const Revision made = world.write("k", "v");
  Transaction transaction;
  transaction.compares.push_back(exists("k"));
  transaction.operations.push_back(erase("k"));
  const Revision erased = world.await(world.store().commit(std::move(transaction)))->revision;
  ASSERT_TRUE(world.await(world.store().compact(erased)));
  const auto watch = std::move(*world.store().watch("", made));
  const Result<ChangeBatch> batch =
      world.await(runtime::with_timeout(world.runtime(), 30s, watch->next()));
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::gone);
}

// Lists larger than a page come complete and in order, also when small values are followed by ones
// that no page of that many could hold.
TEST(EtcdStore, ListsInPages) {
  EtcdWorld world;
  std::vector<std::string> expected;
  for (int batch = 0; batch < 10; ++batch) {
    Transaction transaction;
    for (int i = 0; i < 100; ++i) {
      char key[16];
      std::snprintf(key, sizeof key, "k%04d", batch * 100 + i);
      expected.emplace_back(key);
      transaction.operations.push_back(put(key, "small"));
    }
    ASSERT_TRUE(world.await(world.store().commit(std::move(transaction))));
  }
  for (int i = 0; i < 6; ++i) {
    expected.push_back("z" + std::to_string(i));
    world.write(expected.back(), std::string(1'000'000, 'x'));
  }
  const Result<Listing> listing = world.await(world.store().list("", {}));
  ASSERT_TRUE(listing) << listing.error().to_string();
  std::vector<std::string> keys;
  for (const KeyValue& item : listing->items) keys.push_back(item.key);
  EXPECT_EQ(keys, expected);
  EXPECT_FALSE(listing->more);
}

// A value that someone else put below our root is named by lists and does not stop watches.
TEST(EtcdStore, ForeignValuesAreNamed) {
  EtcdWorld world;
  EtcdClient client(world.runtime(), world.options());
  const std::string key = world.options().root + "data/foreign";
  const Revision start = *world.await(world.store().revision());
  const auto watch = std::move(*world.store().watch("", start));
  wire::etcd::TxnRequest request;
  request.success.emplace_back(wire::etcd::PutRequest{.key = key, .value = "by hand"});
  ASSERT_TRUE(world.await(client.write(wire::etcd::kTxnPath, framed_request(request))));
  const Revision last = world.write("ours", "v");
  EXPECT_THAT(texts(world.changes_until(*watch, last)), ElementsAre("ours=v@0"));
  EXPECT_EQ(world.store().counters().foreign_values, 1U);
  const Result<Listing> listing = world.await(world.store().list("", {}));
  ASSERT_FALSE(listing);
  EXPECT_EQ(listing.error().code, Code::corrupt);
  EXPECT_THAT(listing.error().message, testing::HasSubstr("data/foreign"));
}

// Of two servers that take turns, one compacts in each period, to where it stood a period ago.
TEST(EtcdStore, CompactsInTurn) {
  EtcdWorld world;
  EtcdStore second(world.runtime(), world.options());
  const Revision old = world.write("k", "1");
  CompactionTurn mine = *world.await(world.store().compact_in_turn({}));
  CompactionTurn theirs = *world.await(second.compact_in_turn({}));
  EXPECT_EQ(mine.turn, theirs.turn);
  world.write("k", "2");
  EXPECT_TRUE(world.await(world.store().list("", {.at = old})));
  theirs = *world.await(second.compact_in_turn(theirs));
  const Revision compacted = mine.revision;
  mine = *world.await(world.store().compact_in_turn(mine));
  EXPECT_EQ(mine.turn, theirs.turn);
  const Result<Listing> gone = world.await(world.store().list("", {.at = old}));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::gone);
  EXPECT_TRUE(world.await(world.store().list("", {.at = compacted})));
}

// Callers that ask for the revision together share one question to etcd, asked after they came.
TEST(EtcdStore, RevisionsAreAskedTogether) {
  EtcdWorld world;
  const std::uint64_t before = world.store().counters().reads.count;
  struct Crowd {
    static Task<void> ask(EtcdStore& store, Revision at_least, int& answered) {
      const Result<Revision> revision = co_await store.revision();
      EXPECT_TRUE(revision);
      if (revision && *revision >= at_least) ++answered;
    }
    static Task<void> all(runtime::Runtime& runtime, EtcdStore& store, Revision at_least,
                          int& answered) {
      runtime::Scope scope(runtime);
      for (int i = 0; i < 100; ++i) scope.spawn(ask(store, at_least, answered));
      co_await scope.join();
    }
  };
  const Revision written = world.write("k", "v");
  int answered = 0;
  world.run(Crowd::all(world.runtime(), world.store(), written, answered));
  EXPECT_EQ(answered, 100);
  EXPECT_LE(world.store().counters().reads.count - before, 2U);
}

// Of transactions that go to etcd as one group, a conflict fails only its own; what follows it is
// carried out, too.
TEST(EtcdStore, AConflictInAGroupFailsAlone) {
  EtcdWorld world;
  struct Crowd {
    static Task<void> create(EtcdStore& store, std::string key, std::vector<std::string>& made,
                             std::vector<std::string>& refused) {
      Transaction transaction;
      transaction.compares.push_back({key, 0});
      transaction.operations.push_back(put(key, "v"));
      const Result<Committed> committed = co_await store.commit(std::move(transaction));
      EXPECT_TRUE(committed || committed.error().code == Code::conflict);
      (committed ? made : refused).push_back(std::move(key));
    }
    static Task<void> all(runtime::Runtime& runtime, EtcdStore& store, std::string prefix,
                          std::vector<std::string>& made, std::vector<std::string>& refused) {
      runtime::Scope scope(runtime);
      scope.spawn(create(store, "taken", made, refused));
      for (int i = 0; i < 20; ++i)
        scope.spawn(create(store, prefix + std::to_string(i), made, refused));
      co_await scope.join();
    }
  };
  world.write("taken", "v");
  const std::uint64_t before = world.store().counters().groups;
  for (const char* prefix : {"first-", "second-"}) {
    std::vector<std::string> made, refused;
    world.run(Crowd::all(world.runtime(), world.store(), prefix, made, refused));
    EXPECT_EQ(made.size(), 20U);
    EXPECT_THAT(refused, ElementsAre("taken"));
  }
  EXPECT_LE(world.store().counters().groups - before, 6U);
}

// The figures of the member come through.
TEST(EtcdStore, Status) {
  EtcdWorld world;
  const Result<EtcdStatus> status = world.await(world.store().status());
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_TRUE(status->has_leader);
  EXPECT_FALSE(status->version.empty());
  EXPECT_GT(status->database_bytes, 0);
  EXPECT_TRUE(status->alarms.empty());
}

// With nobody at the address, reads and writes say so, and of a write that it was surely not made.
TEST(EtcdStore, SaysWhenNobodyAnswers) {
  runtime::EpollRuntime runtime;
  EtcdOptions options;
  options.endpoints = {*runtime::Endpoint::parse("127.0.0.1:1"),
                       *runtime::Endpoint::parse("127.0.0.1:2")};
  options.call_time = 300ms;
  EtcdStore store(runtime, options);
  const Result<Revision> revision = runtime.run_until_complete(store.revision());
  ASSERT_FALSE(revision);
  EXPECT_EQ(revision.error().code, Code::unavailable);
  Transaction transaction;
  transaction.operations.push_back(put("k", "v"));
  const Result<Committed> committed =
      runtime.run_until_complete(store.commit(std::move(transaction)));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Code::unavailable);
  EXPECT_GT(store.counters().retries, 0U);
}

// Certificates for both sides, as files for etcd and as a source for the store.
struct TestTls {
  TestTls() {
    const identity::Random random = [state = std::uint64_t{7}]() mutable {
      return state = state * 6364136223846793005U + 1442695040888963407U;
    };
    const identity::Validity validity{runtime.wall_now() - 1h, runtime.wall_now() + 24h};
    const auto ca = *identity::make_authority("test", validity, random);
    const auto server = *identity::issue(ca,
                                         {.subject = {"etcd", {}},
                                          .names = {{"localhost"}, {*Ip::parse("127.0.0.1")}},
                                          .purposes = {identity::Purpose::server},
                                          .validity = validity},
                                         random);
    const auto client = *identity::issue(ca,
                                         {.subject = {"store", {}},
                                          .names = {},
                                          .purposes = {identity::Purpose::client},
                                          .validity = validity},
                                         random);
    write("ca.pem", ca.certificate.pem());
    write("server.pem", server.certificate.pem());
    write("server.key", *server.key.pem());
    credentials.certificate_chain = client.certificate.pem();
    credentials.private_key = *client.key.pem();
    credentials.trusted_ca = ca.certificate.pem();
    credentials.alpn = {"h2"};
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
  }
  std::vector<std::string> flags() const {
    return {"--cert-file",       folder.path() / "server.pem",
            "--key-file",        folder.path() / "server.key",
            "--trusted-ca-file", folder.path() / "ca.pem",
            "--client-cert-auth"};
  }
  runtime::EpollRuntime runtime;
  TemporaryFolder folder;
  runtime::TlsCredentials credentials;
};

// Over TLS with certificates on both sides everything works the same; without ours, nothing does.
TEST(EtcdStore, SpeaksTls) {
  const TestTls tls;
  EtcdCluster cluster(1, tls.flags());
  EtcdOptions options = options_in(cluster);
  options.tls = std::make_shared<identity::SwappableTls>(tls.credentials);
  EtcdWorld world(options);
  const auto watch = std::move(*world.store().watch("", 0));
  const Revision made = world.write("k", "v");
  EXPECT_THAT(texts(world.changes_until(*watch, made)), ElementsAre("k=v@0"));

  runtime::TlsCredentials nameless = tls.credentials;
  nameless.certificate_chain.clear();
  nameless.private_key.clear();
  EtcdOptions refused = options;
  refused.tls = std::make_shared<identity::SwappableTls>(nameless);
  refused.call_time = 1s;
  EtcdStore stranger(world.runtime(), refused);
  EXPECT_FALSE(world.await(stranger.get("k")));
}

}  // namespace
}  // namespace fairlead::store
