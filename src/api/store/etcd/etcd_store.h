// EtcdStore: the Store for several servers on several machines, kept in an etcd v3 cluster.
//
// Reads and writes are etcd's own linearizable ranges and transactions, many at a time on one
// HTTP/2 connection; writes that wait go together (EtcdCommits). All watches share one etcd watch
// over the root (EtcdFeed). It survives the loss of a member, of the leader, of the network for a
// while, and compaction under it: whatever cannot be answered right is an error (timeout for a
// write whose fate is not known, gone for lost history), never a wrong answer.
//
// Revisions are etcd's, shared with everything else in that etcd, plus the base of the epoch
// (EtcdEpoch): 0 until etcd is restored from a backup. Only this class and its watches translate;
// the parts below them (EtcdCommits, EtcdFeed, EtcdTail) know etcd's revisions only. The watch
// learns of revisions by events only. Progress notifications would tell it of the others, but
// before etcd 3.4.25 and 3.5.8 they may overtake events (etcd issue 15220); so when revision() has
// told of one that the watch does not reach by itself, because it changed nothing below our root,
// the store writes a key of its own below the root (a tick) and the watch gets there.
//
// REQUIRES: the store outlives its watches and every call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/store/etcd/client.h"
#include "api/store/etcd/commits.h"
#include "api/store/etcd/feed.h"
#include "api/store/etcd/keys.h"
#include "api/store/etcd/options.h"
#include "api/store/store.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {

struct EtcdStatus {
  std::string version;
  std::int64_t database_bytes = 0;
  std::int64_t database_bytes_in_use = 0;
  bool has_leader = false;
  bool leads = false;
  std::vector<std::string> alarms;
};

// What compact_in_turn() hands from one call to the next.
struct CompactionTurn {
  std::int64_t turn = 0;
  Revision revision = 0;
};

class EtcdStore final : public Store {
 public:
  // Connects on first use.
  EtcdStore(runtime::Runtime& runtime, EtcdOptions options);
  ~EtcdStore() override;

  Task<Result<Revision>> revision() override;
  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<Listing>> list(std::string prefix, ListOptions options) override;
  Task<Result<Committed>> commit(Transaction transaction) override;
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision after) override;
  Task<Result<>> compact(Revision before) override;

  // For several servers on one etcd: each calls this once a period with what it got the last time
  // (at first, nothing). In each period one of them compacts, to where it stood a period ago, so
  // that between one and two periods of history are kept however many servers there are.
  Task<Result<CompactionTurn>> compact_in_turn(CompactionTurn last);

  // How the member that calls go to is doing.
  Task<Result<EtcdStatus>> status();

  // Where calls go now.
  const runtime::Endpoint& member() const {
    return client_.options().endpoints[client_.current_member()];
  }
  const EtcdCounters& counters() const { return client_.counters(); }
  // How often this server found etcd restored and began a new epoch.
  std::uint64_t restores() const { return client_.history().restores(); }
  // The newest revision that was handed out: to be kept for EtcdOptions::seen.
  Revision seen() const { return client_.history().seen(); }

  static constexpr std::size_t kQuestions = 2;  // for the revision, at a time; callers share them

 private:
  class EtcdWatch;
  struct Question;

  Task<void> ask_revisions();
  Task<Result<Revision>> ask_revision();
  Task<Result<std::optional<Revision>>> ask_revision_once();
  Task<Result<Listing>> list_once(std::string prefix, ListOptions options);
  std::shared_ptr<EtcdFeed> feed_after(const EtcdEpoch& epoch, Revision after);
  void change_epoch();

  void want(Revision revision);
  bool behind(Revision revision) const;
  Task<void> nudge();
  Task<Result<>> wait_until_reached(Revision revision);
  Task<Result<Revision>> tick();

  runtime::Runtime& runtime_;
  EtcdKeys keys_;
  EtcdClient client_;
  EtcdCommits commits_;
  std::shared_ptr<EtcdFeed> feed_;  // null until the first watch
  std::size_t pursuing_ = 0;        // watches that follow etcd by themselves, further back
  // Revisions of etcd in the present epoch, as those of feeds:
  Revision wanted_ = 0;       // the watch should get here …
  Revision known_event_ = 0;  // … and there is an event of ours at this revision
  bool nudging_ = false;
  std::shared_ptr<Question> next_question_;  // gathers callers until it is asked
  std::size_t questions_under_way_ = 0;
  runtime::Scope scope_;  // last: its fibers use all of the above
};

}  // namespace fairlead::store
