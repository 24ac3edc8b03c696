#include "features/vip/guard/guard_plan.h"

#include <algorithm>

namespace fairlead::vip {
namespace {

constexpr Duration kTimeToEnd = 7s;     // of an engine that was asked to, and waits for a successor
constexpr Duration kFirstRest = 100ms;  // before the second start in a row
constexpr Duration kLongestRest = 5s;
constexpr Duration kLongRun = 10s;  // an engine that ran so long did not fail at its start

}  // namespace

GuardPlan::Step GuardPlan::next(Instant now) {
  switch (state_) {
    case State::to_start:
      if (stopping_) {
        state_ = State::done;
        return Step::end;
      }
      state_ = State::running;
      started_at_ = now;
      asked_ = killed_ = false;
      return Step::start;
    case State::running:
      if (!stopping_ || killed_) return Step::nothing;
      if (!asked_) {
        asked_ = true;
        kill_at_ = now + kTimeToEnd;
        return Step::ask;
      }
      if (now < kill_at_) return Step::nothing;
      killed_ = true;
      return Step::kill;
    case State::to_close:
      if (stopping_ && started_at_ == Instant{}) {
        state_ = State::done;
        return Step::end;
      }
      state_ = State::closing;
      return Step::close;
    case State::closing:
      return Step::nothing;
    case State::quiet: {
      if (now < due_) return Step::nothing;
      state_ = State::resting;
      due_ = std::max(due_, started_at_ + back_off_);
      return silent_ ? Step::farewell : Step::nothing;
    }
    case State::resting:
      if (!stopping_ && now < due_) return Step::nothing;
      state_ = State::to_start;
      return next(now);
    case State::done:
      return Step::nothing;
  }
  return Step::nothing;
}

std::optional<Instant> GuardPlan::due() const {
  switch (state_) {
    case State::running:
      if (stopping_ && asked_ && !killed_) return kill_at_;
      return std::nullopt;
    case State::quiet:
    case State::resting:
      return due_;
    default:
      return std::nullopt;
  }
}

void GuardPlan::ended(Instant now) {
  if (state_ != State::running) return;
  state_ = State::to_close;
  const bool long_run = now - started_at_ >= kLongRun;
  back_off_ = long_run ? Duration::zero() : std::clamp(back_off_ * 2, kFirstRest, kLongestRest);
}

void GuardPlan::closed(Instant now, bool successful, Duration margin) {
  if (state_ != State::closing) return;
  state_ = State::quiet;
  silent_ = successful;
  due_ = now + margin;
}

void GuardPlan::stop(Instant) { stopping_ = true; }

}  // namespace fairlead::vip
