// StopRequest: somebody wants a program to end: a signal in production, the story in simulation.
#pragma once

#include "foundation/command/announce.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::command {

class StopRequest {
 public:
  // Asked again, whatever was to be waited for before the end is not waited for.
  void ask(int signal = 0) {
    ++times_;
    signal_ = signal;
    changed_.notify();
  }
  bool asked() const { return times_ > 0; }
  int times() const { return times_; }
  int signal() const { return signal_; }
  runtime::Signal& changed() { return changed_; }

 private:
  int times_ = 0;
  int signal_ = 0;
  runtime::Signal changed_;
};

// For a signal; the service manager is told of the first.
inline void ask(StopRequest& stop, int signal) {
  if (!stop.asked()) announce_stop("signal " + std::to_string(signal));
  stop.ask(signal);
}

// Asks at every signal that the runtime catches, until cancelled.
inline Task<void> ask_at_signals(runtime::EpollRuntime& runtime, StopRequest& stop) {
  for (;;) {
    const Result<int> signal = co_await runtime.next_signal();
    if (!signal) co_return;
    ask(stop, *signal);
  }
}

}  // namespace fairlead::command
