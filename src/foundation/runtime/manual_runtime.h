// ManualRuntime: for unit tests of what needs time and fibers but no network. Time moves only when
// the test says so; blocking work runs when the test says so.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::runtime {

class ManualRuntime final : public Runtime {
 public:
  // Runs ready fibers until none is left.
  void settle() {
    while (Ready* ready = queue_.pop()) ready->run();
  }
  // Moves time forward, firing timers that fall due on the way, then settles.
  void advance(Duration duration) {
    const Instant until = now_ + duration;
    settle();
    while (timers_.next_deadline() && *timers_.next_deadline() <= until) {
      now_ = std::max(now_, *timers_.next_deadline());
      fire_due();
      settle();
    }
    now_ = until;
  }
  // Moves time and fires the timers that are due, but runs no fiber: what the test does next
  // happens in the same turn of the loop.
  void advance_without_running(Duration duration) {
    now_ += duration;
    fire_due();
  }
  // Carries out the oldest blocking job; false if there is none.
  bool run_blocking_job() {
    if (jobs_.empty()) return false;
    BlockingJob job = std::move(jobs_.front());
    jobs_.pop_front();
    job.work();
    job.done();
    return true;
  }
  std::size_t blocking_jobs() const { return jobs_.size(); }
  bool idle() const { return queue_.empty(); }

  void post(Ready& ready) override { queue_.push(ready); }
  Instant now() const override { return now_; }
  WallTime wall_now() const override { return WallTime(now_.time_since_epoch()); }
  std::uint64_t random() override { return random_ = random_ * 6364136223846793005 + 1; }
  TimerHeap& timers() override { return timers_; }
  Files& files() override { CHECK(!"files in ManualRuntime"); }
  void start_blocking(BlockingJob job) override { jobs_.push_back(std::move(job)); }

  Task<Result<std::unique_ptr<Stream>>> connect(Endpoint,
                                                std::shared_ptr<const TlsCredentials>) override {
    co_return fail(Code::unsupported, "no network");
  }
  Result<std::unique_ptr<Listener>> listen(const Endpoint&,
                                           std::shared_ptr<const TlsSource>) override {
    return fail(Code::unsupported, "no network");
  }
  Result<std::unique_ptr<DatagramSocket>> open_datagram(const Endpoint&) override {
    return fail(Code::unsupported, "no network");
  }
  Result<std::unique_ptr<PacketSocket>> open_packet(const std::string&, std::uint16_t) override {
    return fail(Code::unsupported, "no network");
  }

 private:
  void fire_due() {
    while (Timer* timer = timers_.pop_due(now_)) timer->fire();
  }

  Instant now_{};
  std::uint64_t random_ = 1;
  ReadyQueue queue_;
  TimerHeap timers_;
  std::deque<BlockingJob> jobs_;
};

}  // namespace fairlead::runtime
