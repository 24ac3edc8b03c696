#include "foundation/runtime/scope.h"

namespace fairlead::runtime {

// One spawned task: queued once to start and once, by its final suspend, to be reaped.
class Scope::Root final : public Ready {
 public:
  Root(Scope& scope, Task<void> task)
      : scope_(scope), fiber_(scope.executor_), task_(std::move(task)) {
    task_.handle().promise().fiber = &fiber_;
    task_.handle().promise().on_end = this;
  }
  Fiber& fiber() { return fiber_; }
  std::list<std::unique_ptr<Root>>::iterator place;
  void run() override {
    if (!std::exchange(started_, true)) {
      task_.handle().resume();
    } else {
      scope_.ended(this);
    }
  }

 private:
  Scope& scope_;
  Fiber fiber_;
  Task<void> task_;
  bool started_ = false;
};

class Scope::Join final : public Waiter {
 public:
  explicit Join(Scope& scope) : scope_(&scope) {}
  ~Join() override {
    if (scope_ && scope_->join_ == this) scope_->join_ = nullptr;
  }
  bool await_ready() const { return scope_->roots_.empty(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    CHECK(!scope_->join_);
    scope_->join_ = this;
    const bool cancelled = fiber_cancelled(handle);
    suspend(handle);
    if (cancelled) scope_->cancel();
  }
  void await_resume() {}
  void on_cancel() override {
    if (scope_) scope_->cancel();
  }
  // The scope is destroyed with its tasks: nothing is left to wait for.
  void scope_gone() {
    scope_ = nullptr;
    wake();
  }

 private:
  Scope* scope_;
};

Scope::Scope(Executor& executor) : executor_(executor) {}

Scope::~Scope() {
  if (join_) std::exchange(join_, nullptr)->scope_gone();
  std::list<std::unique_ptr<Root>> roots = std::move(roots_);
  roots_.clear();
  while (!roots.empty()) roots.pop_front();
}

void Scope::spawn(Task<void> task) {
  roots_.push_back(std::make_unique<Root>(*this, std::move(task)));
  Root& root = *roots_.back();
  root.place = std::prev(roots_.end());
  if (cancelled_) root.fiber().cancel();
  executor_.post(root);
}

void Scope::cancel() {
  if (std::exchange(cancelled_, true)) return;
  // on_cancel only queues resumptions, so the list does not change under the loop.
  for (auto& root : roots_) root->fiber().cancel();
}

Task<void> Scope::join() {
  Join join(*this);
  co_await join;
}

Task<void> Scope::close() {
  cancel();
  Join join(*this);
  co_await join;
}

void Scope::ended(Root* root) {
  roots_.erase(root->place);
  if (roots_.empty() && join_) std::exchange(join_, nullptr)->wake();
}

}  // namespace fairlead::runtime
