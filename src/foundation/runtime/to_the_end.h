// to_the_end(): carries out a task also if the fiber that awaits it is cancelled, before or
// meanwhile: for what is left to do when something stops. The task must bound its own time.
#pragma once

#include <utility>

#include "foundation/runtime/scope.h"
#include "foundation/runtime/task.h"

namespace fairlead::runtime {

namespace detail {

class EndWait final : public Waiter {
 public:
  bool await_ready() const { return ended_; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    suspend(handle);
  }
  void await_resume() {}
  void on_cancel() override {}
  void end() {
    ended_ = true;
    wake();
  }

 private:
  bool ended_ = false;
};

inline Task<void> run_and_tell(Task<void> task, EndWait& end) {
  co_await std::move(task);
  end.end();
}

}  // namespace detail

inline Task<void> to_the_end(Executor& executor, Task<void> task) {
  detail::EndWait end;
  Scope scope(executor);
  scope.spawn(detail::run_and_tell(std::move(task), end));
  co_await end;
  co_await scope.join();
}

}  // namespace fairlead::runtime
