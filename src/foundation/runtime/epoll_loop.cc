#include "foundation/runtime/epoll_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "foundation/base/check.h"

namespace fairlead::runtime {
namespace {

// A turn runs at most this many ready items before it looks at the kernel again, and takes at most
// this many events from it.
constexpr int kItemsPerTurn = 256;
constexpr int kEventsPerTurn = 256;
// An item may complete this many operations without waiting before it goes to the back of the
// queue.
constexpr int kOperationsPerItem = 32;

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return timespec{.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

EpollLoop::EpollLoop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(epoll_ >= 0);
  CHECK(wakeup_ >= 0);
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
  CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event) == 0);
}

EpollLoop::~EpollLoop() {
  ::close(wakeup_);
  ::close(epoll_);
}

Instant EpollLoop::now() const {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return Instant(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
}

void EpollLoop::run() {
  while (!stopped_) {
    run_ready();
    if (stopped_) break;
    wait_for_events();
    fire_timers();
  }
  stopped_ = false;
}

void EpollLoop::run_ready() {
  for (int i = 0; i < kItemsPerTurn && !stopped_; ++i) {
    Ready* ready = ready_.pop();
    if (!ready) return;
    operations_left_ = kOperationsPerItem;
    ready->run();
  }
}

int EpollLoop::poll_kernel(epoll_event* events, int room, bool forever, Duration wait) {
  if (has_pwait2_) {
    const timespec timeout = to_timespec(wait);
    const int count = ::epoll_pwait2(epoll_, events, room, forever ? nullptr : &timeout, nullptr);
    if (count >= 0 || errno != ENOSYS) return count;
    has_pwait2_ = false;
  }
  // Rounded up: a timer never fires early. A long wait is cut, the loop simply turns once more.
  constexpr std::int64_t kLongest = 3'600'000;
  const std::int64_t milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return ::epoll_wait(epoll_, events, room,
                      forever ? -1 : static_cast<int>(std::min(milliseconds, kLongest)));
}

void EpollLoop::wait_for_events() {
  Duration wait = 0ns;
  bool forever = false;
  if (ready_.empty()) {
    if (const std::optional<Instant> deadline = timers_.next_deadline()) {
      wait = std::max(Duration(0), *deadline - now());
    } else {
      forever = true;
    }
  }
  std::array<epoll_event, kEventsPerTurn> events;
  const int count = poll_kernel(events.data(), kEventsPerTurn, forever, wait);
  if (count < 0) {
    CHECK(errno == EINTR);
    return;
  }
  // Events only queue coroutines, so no descriptor of this batch is destroyed while it is walked.
  bool called = false;
  for (int i = 0; i < count; ++i) {
    if (events[i].data.ptr) {
      static_cast<Descriptor*>(events[i].data.ptr)->on_events(events[i].events);
    } else {
      called = true;
    }
  }
  if (called) run_calls();
}

void EpollLoop::fire_timers() {
  if (!timers_.next_deadline()) return;
  const Instant at = now();
  while (Timer* timer = timers_.pop_due(at)) timer->fire();
}

void EpollLoop::call_soon(std::function<void()> call) {
  bool first = false;
  {
    const std::lock_guard lock(calls_mutex_);
    first = calls_.empty();
    calls_.push_back(std::move(call));
  }
  if (!first) return;  // the wake-up for the first has not been taken yet
  const std::uint64_t one = 1;
  while (::write(wakeup_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void EpollLoop::run_calls() {
  std::vector<std::function<void()>> calls;
  {
    // Edge-triggered: each write is a new edge, so the counter itself is never read.
    const std::lock_guard lock(calls_mutex_);
    calls.swap(calls_);
  }
  for (std::function<void()>& call : calls) call();
}

void EpollLoop::drop_calls() {
  std::vector<std::function<void()>> calls;
  const std::lock_guard lock(calls_mutex_);
  calls.swap(calls_);
}

void EpollLoop::add(Descriptor& descriptor) {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                    .data = {.ptr = &descriptor}};
  CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor.fd(), &event) == 0);
}

void EpollLoop::remove(Descriptor& descriptor) {
  // Closing alone would not do: a forked child may still hold the same open file for a moment.
  CHECK(::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor.fd(), nullptr) == 0);
}

Descriptor::Descriptor(EpollLoop& loop, int fd) : loop_(loop), fd_(fd) { loop_.add(*this); }

void Descriptor::close() {
  if (fd_ < 0) return;
  loop_.remove(*this);
  ::close(fd_);
  fd_ = -1;
  while (Readiness* wait = readers_.pop()) wait->wake();
  while (Readiness* wait = writers_.pop()) wait->wake();
}

void Descriptor::on_events(std::uint32_t events) {
  constexpr std::uint32_t kBoth = EPOLLHUP | EPOLLERR;
  if (events & (EPOLLRDHUP | EPOLLHUP)) read_ended_ = true;
  if (events & (EPOLLIN | EPOLLRDHUP | kBoth)) {
    readable_ = true;
    while (Readiness* wait = readers_.pop()) wait->wake();
  }
  if (events & (EPOLLOUT | kBoth)) {
    writable_ = true;
    while (Readiness* wait = writers_.pop()) wait->wake();
  }
}

}  // namespace fairlead::runtime
