// GuardPlan: what the guard does, and when. The guard is the engine's parent: it starts the engine,
// and when the engine has ended, however that came, makes this host silent and tells the peers, so
// that they need not wait for the lease. Pure: the process (guard_process.h) and the simulation
// carry it out.
//
//   close → (margin) → farewell → (back-off) → start → running → close → …
//                               ↘ end               ↘ stop: ask, then kill
//
// It begins by closing: an engine of before may have been killed together with its guard.
//
// Promise: before the start of an engine the fence was closed, the margin has passed, and, if the
// fence could be closed, the farewells of the engine before were sent.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/runtime/time.h"

namespace fairlead::vip {

class GuardPlan {
 public:
  enum class Step : std::uint8_t {
    nothing,   // until due(), or until something happens
    start,     // the engine; then started() or ended()
    ask,       // the engine to end in order
    kill,      // the engine
    close,     // the fence; then closed()
    farewell,  // the peers
    end,       // the guard
  };

  // What is to be done now. Each step is given out once.
  Step next(Instant now);
  std::optional<Instant> due() const;

  // The engine has ended.
  void ended(Instant now);
  // The fence is closed; `margin` from now on nothing of this host is under way any more.
  // Unsuccessful: the peers are not told, and wait for the lease.
  void closed(Instant now, bool successful, Duration margin);
  // No further engine.
  void stop(Instant now);

 private:
  enum class State : std::uint8_t { to_start, running, to_close, closing, quiet, resting, done };
  State state_ = State::to_close;
  bool stopping_ = false;
  bool asked_ = false, killed_ = false;
  bool silent_ = false;  // the fence was closed
  Instant due_{};
  Instant kill_at_{};
  Instant started_at_{};
  Duration back_off_{};
};

}  // namespace fairlead::vip
