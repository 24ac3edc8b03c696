#include "api/store/sqlite/commit.h"

#include <algorithm>
#include <utility>

#include "api/store/transaction.h"
#include "foundation/base/check.h"
#include "foundation/base/log.h"

namespace fairlead::store {

// Something a fiber waits for. Shared, so that either side may go first.
struct GroupCommit::Parked {
  runtime::Waiter* waiter = nullptr;
  bool ended = false;
  void end() {
    ended = true;
    if (waiter) waiter->wake();
  }
};

struct GroupCommit::Pending : Parked {
  Transaction transaction;
  std::size_t bytes = 0;
  Result<Committed> outcome;
};

struct GroupCommit::Turn : Parked {
  enum class Kind { batch, upkeep, checkpoint };
  Kind kind = Kind::upkeep;
  Upkeep work;      // off the loop
  Written written;  // of `work`
  Instant started;
  Result<Checkpoint> checkpoint;
  CommitBatch batch;                              // of a batch, with those who wait for it
  std::vector<std::shared_ptr<Pending>> callers;  // in the same order
};

class GroupCommit::PendingWait final : public runtime::Waiter {
 public:
  PendingWait(GroupCommit& group, std::shared_ptr<Pending> pending)
      : group_(group), pending_(std::move(pending)) {}
  ~PendingWait() override { pending_->waiter = nullptr; }
  bool await_ready() const { return pending_->ended; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (fiber_cancelled(handle) && group_.take_back(pending_)) return false;
    suspend(handle);
    pending_->waiter = this;
    return true;
  }
  void await_resume() {}
  void on_cancel() override {
    if (group_.take_back(pending_)) wake();
  }

 private:
  GroupCommit& group_;
  std::shared_ptr<Pending> pending_;
};

// Upkeep cannot be taken back: its outcome is waited for.
class GroupCommit::TurnWait final : public runtime::Waiter {
 public:
  explicit TurnWait(std::shared_ptr<Turn> turn) : turn_(std::move(turn)) {}
  ~TurnWait() override { turn_->waiter = nullptr; }
  bool await_ready() const { return turn_->ended; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    suspend(handle);
    turn_->waiter = this;
  }
  void await_resume() {}
  void on_cancel() override {}

 private:
  std::shared_ptr<Turn> turn_;
};

class GroupCommit::GatherTimer final : public runtime::Timer {
 public:
  explicit GatherTimer(GroupCommit& group) : group_(group) {}
  void fire() override {
    group_.gather_goal_ = 0;
    group_.start_turn();
  }

 private:
  GroupCommit& group_;
};

GroupCommit::GroupCommit(runtime::Runtime& runtime, std::shared_ptr<SqliteWriter> writer,
                         std::shared_ptr<Database> checkpoint_connection, int checkpoint_pages,
                         Hooks hooks)
    : runtime_(runtime),
      writer_(std::move(writer)),
      hooks_(std::move(hooks)),
      checkpointer_(std::make_shared<Checkpointer>(runtime, std::move(checkpoint_connection),
                                                   checkpoint_pages, [this] { start_turn(); })),
      gather_timer_(std::make_unique<GatherTimer>(*this)) {}

GroupCommit::~GroupCommit() = default;

Result<> GroupCommit::check_open() const {
  if (!lost_.empty()) return fail(Code::unavailable, "the store is lost: " + lost_);
  if (closed_) return fail(Code::unavailable, "the store is closed");
  return {};
}

Task<Result<Committed>> GroupCommit::commit(Transaction transaction) {
  FL_CO_CHECKED(check_open());
  auto pending = std::make_shared<Pending>();
  pending->bytes = size_of(transaction);
  pending->transaction = std::move(transaction);
  if (queue_bytes_ + pending->bytes > kQueueBytes)
    co_return fail(Code::exhausted, "too many writes are waiting for the disk");
  queue_bytes_ += pending->bytes;
  queue_.push_back(pending);
  start_turn();
  PendingWait wait(*this, pending);
  co_await wait;
  co_return std::move(pending->outcome);
}

bool GroupCommit::take_back(const std::shared_ptr<Pending>& pending) {
  const auto place = std::ranges::find(queue_, pending);
  if (place == queue_.end()) return false;
  queue_.erase(place);
  queue_bytes_ -= pending->bytes;
  pending->outcome = fail(Code::cancelled, "cancelled");
  return true;
}

Task<Result<>> GroupCommit::with_writer(Upkeep work) {
  FL_CO_CHECKED(check_open());
  auto turn = std::make_shared<Turn>();
  turn->work = std::move(work);
  upkeep_.push_back(turn);
  start_turn();
  TurnWait wait(turn);
  co_await wait;
  co_return std::move(turn->written.result);
}

Task<void> GroupCommit::close() {
  if (closed_ || !lost_.empty()) co_return;
  closed_ = true;
  last_turn_ = make_checkpoint();
  const std::shared_ptr<Turn> last = last_turn_;
  start_turn();
  TurnWait wait(last);
  co_await wait;
}

// Whether the next batch should wait for callers that are likely to arrive.
bool GroupCommit::gathering() {
  if (queue_.size() >= gather_goal_ || closed_ || runtime_.now() >= gather_until_) {
    runtime_.timers().remove(*gather_timer_);
    gather_goal_ = 0;
    return false;
  }
  if (!gather_timer_->armed()) runtime_.timers().add(*gather_timer_, gather_until_);
  return true;
}

std::shared_ptr<GroupCommit::Turn> GroupCommit::next_turn() {
  if (checkpointer_->wants_turn()) {
    checkpointer_->turn_started();
    return make_checkpoint();
  }
  const bool upkeep_first = queue_.empty() || !upkeep_was_last_;
  if (!upkeep_.empty() && upkeep_first) {
    std::shared_ptr<Turn> turn = upkeep_.front();
    upkeep_.pop_front();
    return turn;
  }
  if (!queue_.empty()) return gathering() ? nullptr : make_batch();
  return std::exchange(last_turn_, nullptr);
}

void GroupCommit::start_turn() {
  if (current_ || !lost_.empty()) return;
  current_ = next_turn();
  if (!current_) return;
  upkeep_was_last_ = current_->kind != Turn::Kind::batch;
  current_->started = runtime_.now();
  // The work holds what it uses: it may still run when this object is gone.
  runtime_.start_blocking(
      {.work = [turn = current_, writer = writer_] { turn->written = turn->work(*writer); },
       .done =
           [turn = current_, weak = weak_from_this()] {
             if (const std::shared_ptr<GroupCommit> self = weak.lock()) self->end_turn(turn);
           }});
}

std::shared_ptr<GroupCommit::Turn> GroupCommit::make_batch() {
  auto turn = std::make_shared<Turn>();
  turn->kind = Turn::Kind::batch;
  std::size_t bytes = 0;
  while (!queue_.empty() && turn->callers.size() < kBatchTransactions && bytes < kBatchBytes) {
    std::shared_ptr<Pending> pending = std::move(queue_.front());
    queue_.pop_front();
    bytes += pending->bytes;
    turn->batch.transactions.push_back(std::move(pending->transaction));
    turn->callers.push_back(std::move(pending));
  }
  queue_bytes_ -= bytes;
  turn->work = [&batch = turn->batch, bytes, has_room = hooks_.has_room](SqliteWriter& writer) {
    if (has_room(bytes)) return writer.commit(batch);
    Written refused{.result = fail(Code::exhausted, "the disk is full"), .fatal = {}};
    batch.outcomes.assign(batch.transactions.size(), fail(refused.result.error()));
    return refused;
  };
  return turn;
}

std::shared_ptr<GroupCommit::Turn> GroupCommit::make_checkpoint() {
  auto turn = std::make_shared<Turn>();
  turn->kind = Turn::Kind::checkpoint;
  turn->work = [&outcome = turn->checkpoint](SqliteWriter& writer) {
    outcome = writer.checkpoint();
    return Written();
  };
  return turn;
}

void GroupCommit::end_turn(const std::shared_ptr<Turn>& turn) {
  CHECK(current_ == turn);
  current_.reset();
  if (!turn->written.fatal.empty()) return lose(*turn);

  const Duration took = runtime_.now() - turn->started;
  stats_.wal_pages = writer_->wal_pages();
  if (turn->kind == Turn::Kind::batch) {
    stats_.last_batch = took;
    stats_.longest_batch = std::max(stats_.longest_batch, took);
    end_batch(*turn);
    checkpointer_->committed(stats_.wal_pages);
  } else if (turn->kind == Turn::Kind::checkpoint) {
    checkpointer_->turn_ended(turn->checkpoint, took);
  }
  turn->end();
  start_turn();
}

void GroupCommit::end_batch(Turn& turn) {
  ++stats_.batches;
  stats_.transactions += turn.callers.size();
  gather_goal_ = turn.callers.size() + queue_.size();
  gather_until_ = runtime_.now() + std::min(stats_.last_batch / 4, kLongestGathering);
  if (!turn.batch.changes.empty()) hooks_.publish(std::move(turn.batch.changes));
  for (std::size_t i = 0; i < turn.callers.size(); ++i) {
    turn.callers[i]->outcome = std::move(turn.batch.outcomes[i]);
    turn.callers[i]->end();
  }
}

void GroupCommit::lose(Turn& turn) {
  lost_ = turn.written.fatal;
  hooks_.lost(lost_);
  // Only a replaced on_fatal comes back here. Those of the failed turn can know nothing; the others
  // were not begun.
  for (const auto& caller : turn.callers) {
    caller->outcome = fail(Code::timeout, "the outcome is unknown: " + lost_);
    caller->end();
  }
  turn.written.result = fail(Code::timeout, "the outcome is unknown: " + lost_);
  turn.end();
  for (const auto& pending : std::exchange(queue_, {})) {
    pending->outcome = fail(check_open().error());
    pending->end();
  }
  if (last_turn_) upkeep_.push_back(std::exchange(last_turn_, nullptr));
  for (const auto& waiting : std::exchange(upkeep_, {})) {
    waiting->written.result = fail(check_open().error());
    waiting->end();
  }
}

}  // namespace fairlead::store
