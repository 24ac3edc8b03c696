// TestLoop: a small Runtime for the store's tests, with time that jumps when nothing is left to do.
//
// Blocking work runs on real threads (Blocking::threads), so that what the loop and the work share
// is really shared, or on the loop itself (Blocking::on_loop), as in simulation. There is no
// network.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {

class TestLoop final : public runtime::Runtime {
 public:
  enum class Blocking { on_loop, threads };

  explicit TestLoop(Blocking blocking = Blocking::on_loop, std::uint64_t seed = 1) : seed_(seed) {
    if (blocking == Blocking::on_loop) return;
    for (int i = 0; i < 2; ++i) workers_.emplace_back([this](std::stop_token stop) { work(stop); });
  }
  ~TestLoop() override {
    for (std::jthread& worker : workers_) worker.request_stop();
    changed_.notify_all();
  }

  // Runs until the task has ended.
  void run(Task<void> task) {
    runtime::Scope scope(*this);
    scope.spawn(std::move(task));
    run_while([&] { return scope.size() > 0; });
  }
  template <class T>
  T await(Task<T> task) {
    std::optional<T> value;
    run(keep(std::move(task), value));
    return std::move(*value);
  }

  template <class Condition>
  void run_while(Condition condition) {
    while (condition()) {
      if (runtime::Ready* ready = ready_.pop()) {
        ready->run();
      } else if (std::optional<runtime::BlockingJob> job = next_done()) {
        job->done();
      } else if (const std::optional<Instant> deadline = timers_.next_deadline()) {
        now_ = std::max(now_, *deadline);
        while (runtime::Timer* due = timers_.pop_due(now_)) due->fire();
      } else {
        std::cerr << "TestLoop: everything waits and nothing is left that could happen\n";
        std::abort();
      }
    }
  }

  void post(runtime::Ready& ready) override { ready_.push(ready); }
  Instant now() const override { return now_; }
  WallTime wall_now() const override { return WallTime(now_.time_since_epoch()); }
  std::uint64_t random() override {
    std::uint64_t x = seed_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  runtime::TimerHeap& timers() override { return timers_; }
  runtime::Files& files() override { std::abort(); }
  void start_blocking(runtime::BlockingJob job) override {
    const std::lock_guard lock(mutex_);
    ++unfinished_;
    waiting_.push_back(std::move(job));
    changed_.notify_all();
  }
  Task<Result<std::unique_ptr<runtime::Stream>>> connect(
      runtime::Endpoint, std::shared_ptr<const runtime::TlsCredentials>) override {
    co_return fail(Code::unsupported, "no network here");
  }
  Result<std::unique_ptr<runtime::Listener>> listen(
      const runtime::Endpoint&, std::shared_ptr<const runtime::TlsSource>) override {
    return fail(Code::unsupported, "no network here");
  }
  Result<std::unique_ptr<runtime::DatagramSocket>> open_datagram(
      const runtime::Endpoint&) override {
    return fail(Code::unsupported, "no network here");
  }
  Result<std::unique_ptr<runtime::PacketSocket>> open_packet(const std::string&,
                                                             std::uint16_t) override {
    return fail(Code::unsupported, "no network here");
  }

 private:
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& value) {
    value.emplace(co_await task);
  }

  // A job whose work is over; waits for one while any is under way, so time never overtakes work.
  std::optional<runtime::BlockingJob> next_done() {
    std::unique_lock lock(mutex_);
    if (unfinished_ == 0) return std::nullopt;
    if (workers_.empty()) {
      runtime::BlockingJob job = std::move(waiting_.front());
      waiting_.pop_front();
      --unfinished_;
      lock.unlock();
      job.work();
      return job;
    }
    changed_.wait(lock, [&] { return !done_.empty(); });
    runtime::BlockingJob job = std::move(done_.front());
    done_.pop_front();
    --unfinished_;
    return job;
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop.stop_requested() || !waiting_.empty(); });
      if (waiting_.empty()) return;
      runtime::BlockingJob job = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      job.work();
      lock.lock();
      done_.push_back(std::move(job));
      changed_.notify_all();
    }
  }

  std::uint64_t seed_;
  Instant now_{};
  runtime::ReadyQueue ready_;
  runtime::TimerHeap timers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<runtime::BlockingJob> waiting_;
  std::deque<runtime::BlockingJob> done_;
  std::size_t unfinished_ = 0;
  std::vector<std::jthread> workers_;
};

}  // namespace fairlead::store
