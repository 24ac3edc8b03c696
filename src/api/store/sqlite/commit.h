// GroupCommit: lets transactions that arrive while a commit is under way share the next one, and
// with it one sync of the disk. It owns the turn of the writer: a batch, or a piece of upkeep, at a
// time.
//
// Everything here runs on the loop; only the writer's calls run off it. A transaction is
// acknowledged after it is on disk and after `publish` has handed its changes to the watches.
//
// Gathering: the callers of a batch that has just ended are likely to come back at once. Starting
// the next one without them would make two half batches take turns for ever, each with a sync of
// its own. So it waits until as many have arrived as were there before, but at most a quarter of
// the time that the last batch took. A single caller never waits.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/store/sqlite/checkpoint.h"
#include "api/store/sqlite/writer.h"
#include "api/store/store.h"
#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

struct CommitStats {
  std::uint64_t batches = 0;
  std::uint64_t transactions = 0;  // in those batches
  Duration last_batch{};           // how long the last batch took
  Duration longest_batch{};
  int wal_pages = 0;
};

class GroupCommit : public std::enable_shared_from_this<GroupCommit> {
 public:
  struct Hooks {
    // On the loop: the changes are on disk, tell the watches.
    std::function<void(std::vector<CommittedChanges>)> publish;
    // On the loop: what is on disk is unknown.
    std::function<void(const std::string&)> lost;
    // Off the loop: whether the disk has room for that much more.
    std::function<bool(std::size_t bytes)> has_room;
  };

  // The log is copied into the database, by a connection of its own, from `checkpoint_pages` on.
  GroupCommit(runtime::Runtime& runtime, std::shared_ptr<SqliteWriter> writer,
              std::shared_ptr<Database> checkpoint_connection, int checkpoint_pages, Hooks hooks);
  ~GroupCommit();

  // REQUIRES: the transaction is valid. Cancelling takes it back while it waits; once its batch has
  // begun, the outcome is waited for.
  Task<Result<Committed>> commit(Transaction transaction);

  // A turn of the writer between two batches.
  using Upkeep = std::function<Written(SqliteWriter&)>;
  Task<Result<>> with_writer(Upkeep work);

  // Refuses what comes from now on, carries out what waits, and cleans up the log.
  Task<void> close();

  const CommitStats& stats() const { return stats_; }
  const CheckpointStats& checkpoint_stats() const { return checkpointer_->stats(); }

  // Bounds of one batch, and of what may wait for the next.
  static constexpr std::size_t kBatchTransactions = 512;
  static constexpr std::size_t kBatchBytes = 4 << 20;
  static constexpr std::size_t kQueueBytes = 64 << 20;
  static constexpr Duration kLongestGathering = 2ms;

 private:
  struct Parked;
  struct Pending;
  struct Turn;
  class PendingWait;
  class TurnWait;
  class GatherTimer;

  Result<> check_open() const;
  bool take_back(const std::shared_ptr<Pending>& pending);
  void start_turn();
  bool gathering();
  std::shared_ptr<Turn> next_turn();
  std::shared_ptr<Turn> make_batch();
  std::shared_ptr<Turn> make_checkpoint();
  void end_turn(const std::shared_ptr<Turn>& turn);
  void end_batch(Turn& turn);
  void lose(Turn& turn);

  runtime::Runtime& runtime_;
  std::shared_ptr<SqliteWriter> writer_;  // touched by the loop only while no turn is under way
  Hooks hooks_;
  std::shared_ptr<Checkpointer> checkpointer_;
  std::deque<std::shared_ptr<Pending>> queue_;
  std::size_t queue_bytes_ = 0;
  std::deque<std::shared_ptr<Turn>> upkeep_;
  std::shared_ptr<Turn> last_turn_;  // of close(), after everything else
  std::shared_ptr<Turn> current_;
  bool upkeep_was_last_ = false;
  std::unique_ptr<GatherTimer> gather_timer_;
  std::size_t gather_goal_ = 0;
  Instant gather_until_{};
  bool closed_ = false;
  std::string lost_;
  CommitStats stats_;
};

}  // namespace fairlead::store
