#include "foundation/runtime/blocking_pool.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace fairlead::runtime {

BlockingPool::~BlockingPool() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    dropped.swap(queue_);
  }
  work_or_end_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockingPool::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (queue_.size() <= idle_ || threads_.size() >= max_threads_) {
    work_or_end_.notify_one();
    return;
  }
  // Signals are for the loop's thread alone: new threads inherit a full mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_.emplace_back([this] { serve(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void BlockingPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_or_end_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    --idle_;
    if (ending_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it captured dies before the lock is taken
    lock.lock();
  }
}

}  // namespace fairlead::runtime
