// WorkQueue: which keys need work, with client-go's semantics.
//
// A key that is added several times before it is taken is taken once. A key that is added while it
// is being worked on is taken again after done(), never at the same time. Failed keys come back
// after a back-off that doubles from 5 ms to 16 s (client-go: up to 1000 s, KOS: up to 8 h, too
// long for a user who waits), until forget().
//
// Runs on one loop. Keys are ordered values; the order of taking is the order of adding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "api/control/work_queue_metrics.h"
#include "foundation/base/result.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::control {

struct WorkQueueCounters {
  std::uint64_t adds = 0;
  std::uint64_t retries = 0;
};

template <class Key>
class WorkQueue {
 public:
  static constexpr runtime::BackOff::Limits kRetries{.first = 5ms, .longest = 16s};

  explicit WorkQueue(runtime::Runtime& runtime, std::optional<WorkQueueMetrics> metrics = {},
                     runtime::BackOff::Limits retries = kRetries)
      : runtime_(runtime), retries_(retries), metrics_(metrics) {
    if (metrics_) *metrics_->in_hand = [this] { return in_hand(); };
  }
  ~WorkQueue() {
    if (metrics_) *metrics_->in_hand = nullptr;
  }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void add(const Key& key) {
    if (shut_down_ || !dirty_.emplace(key, runtime_.now()).second) return;
    ++counters_.adds;
    if (metrics_) metrics_->adds->add();
    if (working_.contains(key)) return;  // done() queues it
    enqueue(key);
  }

  // Adds the key after `delay`, or earlier if an earlier time was already set.
  void add_after(const Key& key, Duration delay) {
    if (shut_down_) return;
    if (delay <= Duration::zero()) return add(key);
    const Instant due = runtime_.now() + delay;
    auto& alarm = alarms_[key];
    if (alarm && alarm->due <= due) return;
    alarm = std::make_unique<Alarm>(*this, key, due);
    runtime_.timers().add(*alarm, due);
  }

  // The key failed: adds it again after its back-off.
  void retry(const Key& key) {
    ++counters_.retries;
    if (metrics_) metrics_->retries->add();
    add_after(key, failing_.try_emplace(key, retries_).first->second.next(runtime_));
  }
  void forget(const Key& key) { failing_.erase(key); }

  // The next key; no other worker gets it until done(). Fails with unavailable after shut_down()
  // once the queue is empty, or with cancelled.
  Task<Result<Key>> take() {
    while (queue_.empty()) {
      if (shut_down_) co_return fail(Code::unavailable, "the queue was shut down");
      FL_CO_CHECKED(co_await changed_.wait());
    }
    co_return *try_take();
  }

  // Another key if one is queued now, for workers that handle batches.
  std::optional<Key> try_take() {
    if (queue_.empty()) return std::nullopt;
    Key key = std::move(queue_.front());
    queue_.pop_front();
    const auto added = dirty_.find(key);
    if (metrics_) {
      metrics_->depth->add(-1);
      metrics_->waited->observe(seconds_since(added->second));
    }
    dirty_.erase(added);
    working_.emplace(key, runtime_.now());
    return key;
  }

  void done(const Key& key) {
    const auto taken = working_.find(key);
    if (taken != working_.end()) {
      if (metrics_) metrics_->worked->observe(seconds_since(taken->second));
      working_.erase(taken);
    }
    if (dirty_.contains(key)) enqueue(key);
  }

  // Takes no further keys; queued ones are still handed out.
  void shut_down() {
    shut_down_ = true;
    alarms_.clear();
    changed_.notify();
  }

  std::size_t depth() const { return queue_.size(); }
  std::size_t in_work() const { return working_.size(); }
  WorkInHand in_hand() const {
    WorkInHand sum;
    for (const auto& [key, since] : working_) {
      sum.seconds += seconds_since(since);
      sum.longest = std::max(sum.longest, seconds_since(since));
    }
    return sum;
  }
  const WorkQueueCounters& counters() const { return counters_; }

 private:
  void enqueue(const Key& key) {
    queue_.push_back(key);
    if (metrics_) metrics_->depth->add(1);
    changed_.notify();
  }
  double seconds_since(Instant then) const {
    return std::chrono::duration<double>(runtime_.now() - then).count();
  }

  struct Alarm final : runtime::Timer {
    Alarm(WorkQueue& owner, Key what, Instant when)
        : queue(owner), key(std::move(what)), due(when) {}
    void fire() override {
      WorkQueue& owner = queue;
      const Key what = key;
      owner.alarms_.erase(what);  // destroys this
      owner.add(what);
    }
    WorkQueue& queue;
    Key key;
    Instant due;
  };

  runtime::Runtime& runtime_;
  runtime::BackOff::Limits retries_;
  std::optional<WorkQueueMetrics> metrics_;
  std::deque<Key> queue_;
  std::map<Key, Instant> dirty_;             // added and not yet taken, since when
  std::map<Key, Instant> working_;           // taken and not yet done, since when
  std::map<Key, runtime::BackOff> failing_;  // until they are forgotten
  std::map<Key, std::unique_ptr<Alarm>> alarms_;
  runtime::Signal changed_;
  WorkQueueCounters counters_;
  bool shut_down_ = false;
};

}  // namespace fairlead::control
