// Scope: owns every task it spawns. Closing cancels and joins; nothing is ever detached.
//
//   Scope scope(runtime);
//   scope.spawn(serve(connection));
//   …
//   co_await scope.close();
//
// Destroying a scope that still has tasks destroys their frames without resuming them, as when a
// simulated machine crashes or a process exits.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "foundation/runtime/task.h"

namespace fairlead::runtime {

class Scope {
 public:
  explicit Scope(Executor& executor);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  // Starts the task on the next turn of the loop.
  void spawn(Task<void> task);

  // Asks every task to stop; further spawns start cancelled.
  void cancel();

  // Waits until every task has ended. Not interrupted by cancellation of the waiting fiber, but
  // hands that cancellation on to the tasks.
  Task<void> join();

  Task<void> close();

  std::size_t size() const { return roots_.size(); }

 private:
  class Root;
  class Join;
  void ended(Root* root);

  Executor& executor_;
  std::list<std::unique_ptr<Root>> roots_;  // in spawn order: cancellation is deterministic
  Join* join_ = nullptr;
  bool cancelled_ = false;
};

}  // namespace fairlead::runtime
