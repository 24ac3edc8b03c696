// The loop of every controller: workers take keys from a WorkQueue, work on them, and what failed
// comes back after its back-off.
//
// A controller adds keys when it notices a change and decides, for a key or a batch of keys, what
// is to be done. Everything else is here and in the queue:
//
//   - several workers run at once, but never two on one key;
//   - a key added while it is worked on is worked on again;
//   - a failure is logged with the controller's name, and the key is retried. A conflict is no
//     reason for a warning: another server was faster, and the key is decided anew;
//   - work that is cancelled is neither a failure nor retried.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/control/work_queue.h"
#include "foundation/base/log.h"
#include "foundation/base/result.h"
#include "foundation/runtime/scope.h"

namespace fairlead::control {

struct LoopOptions {
  std::string_view name;  // in log lines; outlives the loop
  int workers = 1;
  std::size_t batch = 1;  // keys that one worker takes at once
};

namespace detail {
inline const std::string& text_of(const std::string& key) { return key; }
template <class Key>
std::string text_of(const Key& key) {
  return key.to_string();
}
}  // namespace detail

// Keys that one worker has taken together. It finishes each, in any order, as soon as its outcome
// is known; what is left at the end of the work is done and not retried.
template <class Key>
class Batch {
 public:
  Batch(WorkQueue<Key>& queue, std::string_view name, Key first, std::size_t most)
      : queue_(queue), name_(name), keys_{std::move(first)}, open_(keys_.begin(), keys_.end()) {
    while (keys_.size() < most && take_another()) {
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const std::vector<Key>& keys() const { return keys_; }  // in the order of adding

  // Takes one more key, if there is one: for work that found nothing to do for some of its keys. It
  // is then the last of keys().
  bool take_another() {
    std::optional<Key> next = queue_.try_take();
    if (!next) return false;
    open_.insert(*next);
    keys_.push_back(std::move(*next));
    return true;
  }

  // REQUIRES: `key` is of this batch and not finished yet.
  void finish(const Key& key, const Result<>& outcome) {
    CHECK(open_.erase(key) == 1);
    if (!outcome) tell(key, 1, outcome.error());
    settle(key, outcome);
  }
  // One outcome, and one line in the log, for all that are not finished yet.
  void finish_all(const Result<>& outcome) {
    const std::set<Key> open = std::exchange(open_, {});
    if (!outcome && !open.empty()) tell(*open.begin(), open.size(), outcome.error());
    for (const Key& key : keys_)
      if (open.contains(key)) settle(key, outcome);
  }

 private:
  void tell(const Key& key, std::size_t keys, const Error& error) const {
    if (error.code == Code::cancelled) return;
    log::write(error.code == Code::conflict ? log::Level::debug : log::Level::warning,
               "a controller will try again",
               {{"controller", name_},
                {"key", detail::text_of(key)},
                {"keys", keys},
                {"error", error.to_string()}});
  }
  void settle(const Key& key, const Result<>& outcome) {
    if (outcome) {
      queue_.forget(key);
    } else if (outcome.error().code != Code::cancelled) {
      queue_.retry(key);
    }
    queue_.done(key);
  }

  WorkQueue<Key>& queue_;
  std::string_view name_;
  std::vector<Key> keys_;
  std::set<Key> open_;
};

namespace detail {

template <class Key, class Work>
Task<void> work_through(WorkQueue<Key>& queue, LoopOptions options, const Work& work) {
  for (;;) {
    Result<Key> first = co_await queue.take();
    if (!first) co_return;
    Batch<Key> batch(queue, options.name, std::move(*first), options.batch);
    co_await work(batch);
    batch.finish_all(fail(Code::cancelled, "left"));
  }
}

}  // namespace detail

// Runs `work` on batches of keys until the queue is shut down and empty, or until cancelled. The
// queue outlives it.
template <class Key>
Task<void> run_batches(runtime::Runtime& runtime, WorkQueue<Key>& queue, LoopOptions options,
                       std::type_identity_t<std::function<Task<void>(Batch<Key>&)>> work) {
  runtime::Scope scope(runtime);
  for (int i = 0; i < options.workers; ++i) scope.spawn(detail::work_through(queue, options, work));
  co_await scope.join();
}

// The same, for controllers that work on one key at a time.
template <class Key>
Task<void> run_workers(runtime::Runtime& runtime, WorkQueue<Key>& queue, LoopOptions options,
                       std::type_identity_t<std::function<Task<Result<>>(Key)>> reconcile) {
  options.batch = 1;
  const auto work = [reconcile = std::move(reconcile)](Batch<Key>& batch) -> Task<void> {
    const Key& key = batch.keys().front();
    const Result<> outcome = co_await reconcile(key);
    batch.finish(key, outcome);
  };
  co_await run_batches<Key>(runtime, queue, options, work);
}

// Calls `act` after each `interval`, until cancelled. The interval begins when `act` has ended.
Task<void> every(runtime::Runtime& runtime, Duration interval, std::function<Task<void>()> act);

}  // namespace fairlead::control
