#include "api/store/sqlite/checkpoint.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"

namespace fairlead::store {

Checkpointer::Checkpointer(runtime::Runtime& runtime, std::shared_ptr<Database> connection,
                           int threshold, std::function<void()> wants_turn_now)
    : runtime_(runtime),
      connection_(std::move(connection)),
      threshold_(threshold),
      wants_turn_now_(std::move(wants_turn_now)),
      start_at_(threshold) {}

void Checkpointer::committed(int log_pages) {
  log_pages_ = log_pages;
  if (passes_ == 0 && log_pages_ >= start_at_) start_copying();
}

void Checkpointer::start_copying() {
  ++passes_;
  auto outcome = std::make_shared<Result<Checkpoint>>();
  // The work holds what it uses: it may still run when this object is gone.
  runtime_.start_blocking(
      {.work = [outcome, connection = connection_] { *outcome = connection->checkpoint(); },
       .done =
           [outcome, weak = weak_from_this()] {
             if (const std::shared_ptr<Checkpointer> self = weak.lock()) self->copied(*outcome);
           }});
}

void Checkpointer::copied(const Result<Checkpoint>& outcome) {
  if (!outcome) return failed(outcome.error());
  // Commits have gone on meanwhile. Another pass catches up with most of what they added.
  constexpr int kMostPasses = 3;
  const int left = log_pages_ - outcome->copied_pages;
  if (left > threshold_ / 8 && passes_ < kMostPasses) return start_copying();
  wants_turn_ = true;
  wants_turn_now_();
}

void Checkpointer::turn_ended(const Result<Checkpoint>& outcome, Duration took) {
  stats_.longest_turn = std::max(stats_.longest_turn, took);
  if (!outcome) return failed(outcome.error());
  if (!outcome->complete()) return try_later();
  ++stats_.completed;
  passes_ = 0;
  start_at_ = threshold_;
}

// Nothing is lost by it: the log still has everything.
void Checkpointer::failed(const Error& error) {
  ++stats_.failures;
  log::warning("checkpoint failed", {{"error", error.message}});
  try_later();
}

// A reader held it up, or the disk is full; not every commit after that should try again.
void Checkpointer::try_later() {
  passes_ = 0;
  start_at_ = log_pages_ + std::max(1, threshold_ / 4);
}

}  // namespace fairlead::store
