// For tests only: connected byte streams in memory, and a loop with virtual time to run both ends
// on.
//
// Time moves only when nothing is ready, straight to the next timer, so that tests of timeouts take
// no time and give the same result in every run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::http {

// One direction of a connection.
struct Pipe {
  explicit Pipe(std::size_t room) : capacity(room) {}
  std::string bytes;
  std::size_t capacity;
  bool ended = false;   // the writer will write no more
  bool closed = false;  // one side is gone
  std::size_t writes = 0;
  runtime::Signal readable;
  runtime::Signal writable;

  void close() {
    closed = true;
    readable.notify();
    writable.notify();
  }
};

class MemoryStream final : public runtime::Stream {
 public:
  MemoryStream(std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out, runtime::PeerInfo peer)
      : in_(std::move(in)), out_(std::move(out)), peer_(std::move(peer)) {}
  ~MemoryStream() override { close(); }

  static std::pair<std::unique_ptr<MemoryStream>, std::unique_ptr<MemoryStream>> pair(
      std::string alpn = {}, std::size_t capacity = 64 << 10, std::string address = "memory",
      std::size_t certificate_bytes = 0, bool certificate_trusted = false) {
    const auto there = std::make_shared<Pipe>(capacity);
    const auto back = std::make_shared<Pipe>(capacity);
    const runtime::PeerInfo peer{.address = std::move(address),
                                 .tls = !alpn.empty(),
                                 .alpn = alpn,
                                 .certificate = {},
                                 .certificate_trusted = certificate_trusted,
                                 .certificate_bytes = certificate_bytes};
    return {std::make_unique<MemoryStream>(back, there, peer),
            std::make_unique<MemoryStream>(there, back, peer)};
  }

  Task<Result<>> handshake() override { co_return Result<>{}; }

  Task<Result<std::size_t>> read(std::span<char> into) override {
    const std::shared_ptr<Pipe> in = in_;
    while (in->bytes.empty()) {
      if (closed_) co_return fail(Code::unavailable, "stream closed");
      if (in->ended || in->closed) co_return std::size_t{0};
      FL_CO_CHECKED(co_await in->readable.wait());
    }
    if (closed_) co_return fail(Code::unavailable, "stream closed");
    const std::size_t n = std::min({into.size(), in->bytes.size(), read_limit});
    std::memcpy(into.data(), in->bytes.data(), n);
    in->bytes.erase(0, n);
    in->writable.notify();
    co_return n;
  }

  Task<Result<>> write(std::string_view bytes) override {
    const std::shared_ptr<Pipe> out = out_;
    ++out->writes;
    while (!bytes.empty()) {
      if (closed_ || out->closed) co_return fail(Code::unavailable, "stream closed");
      if (out->bytes.size() >= out->capacity) {
        FL_CO_CHECKED(co_await out->writable.wait());
        continue;
      }
      const std::string_view part = bytes.substr(0, out->capacity - out->bytes.size());
      out->bytes.append(part);
      bytes.remove_prefix(part.size());
      out->readable.notify();
    }
    co_return Result<>{};
  }

  Task<Result<>> shutdown_write() override {
    out_->ended = true;
    out_->readable.notify();
    co_return Result<>{};
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    in_->close();
    out_->close();
  }
  const runtime::PeerInfo& peer() const override { return peer_; }

  std::size_t read_limit = SIZE_MAX;  // at most so many bytes per read
  // As if the other side had ended its own just now.
  void end_incoming() {
    in_->ended = true;
    in_->readable.notify();
  }
  const Pipe& incoming() const { return *in_; }
  const Pipe& outgoing() const { return *out_; }

 private:
  std::shared_ptr<Pipe> in_;
  std::shared_ptr<Pipe> out_;
  runtime::PeerInfo peer_;
  bool closed_ = false;
};

using AcceptQueue = runtime::Channel<std::unique_ptr<runtime::Stream>>;

class MemoryListener final : public runtime::Listener {
 public:
  explicit MemoryListener(runtime::Endpoint at) : at_(std::move(at)) {}
  ~MemoryListener() override { close(); }
  Task<Result<std::unique_ptr<runtime::Stream>>> accept() override { return queue_->receive(); }
  runtime::Endpoint local() const override { return at_; }
  void close() override { queue_->close(); }
  std::weak_ptr<AcceptQueue> queue() const { return queue_; }

 private:
  runtime::Endpoint at_;
  std::shared_ptr<AcceptQueue> queue_ = std::make_shared<AcceptQueue>(10'000);
};

class MemoryRuntime final : public runtime::Runtime {
 public:
  void post(runtime::Ready& ready) override { queue_.push(ready); }
  Instant now() const override { return now_; }
  WallTime wall_now() const override { return WallTime{} + now_.time_since_epoch(); }
  std::uint64_t random() override { return random_ = random_ * 6364136223846793005u + 1; }
  runtime::TimerHeap& timers() override { return timers_; }
  runtime::Files& files() override { std::abort(); }
  void start_blocking(runtime::BlockingJob) override { std::abort(); }
  Result<std::unique_ptr<runtime::DatagramSocket>> open_datagram(
      const runtime::Endpoint&) override {
    return fail(Code::unsupported, "no datagrams");
  }
  Result<std::unique_ptr<runtime::PacketSocket>> open_packet(const std::string&,
                                                             std::uint16_t) override {
    return fail(Code::unsupported, "no packets");
  }

  // Fails with unavailable where nobody listens.
  Task<Result<std::unique_ptr<runtime::Stream>>> connect(
      runtime::Endpoint to, std::shared_ptr<const runtime::TlsCredentials> tls) override {
    ++connects;
    const std::string name = to.to_string();
    co_await runtime::yield(*this);
    const auto found = listeners_.find(name);
    const std::shared_ptr<AcceptQueue> queue =
        found == listeners_.end() ? nullptr : found->second.lock();
    if (!queue) co_return fail(Code::unavailable, "connection refused");
    std::string alpn;
    if (tls && !server_alpn.empty() &&
        std::find(tls->alpn.begin(), tls->alpn.end(), server_alpn) != tls->alpn.end())
      alpn = server_alpn;
    auto [near, far] = MemoryStream::pair(alpn, pipe_bytes, client_address,
                                          client_certificate_bytes, client_certificate_trusted);
    last_near = near.get();
    if (!queue->try_send(std::move(far))) co_return fail(Code::unavailable, "connection refused");
    co_return std::unique_ptr<runtime::Stream>(std::move(near));
  }
  Result<std::unique_ptr<runtime::Listener>> listen(
      const runtime::Endpoint& at, std::shared_ptr<const runtime::TlsSource>) override {
    auto listener = std::make_unique<MemoryListener>(at);
    listeners_[at.to_string()] = listener->queue();
    return listener;
  }

  // Runs everything that is ready, then lets time pass up to `limit` from now.
  void run_for(Duration limit) {
    const Instant end = now_ + limit;
    for (;;) {
      run_ready();
      const std::optional<Instant> next = timers_.next_deadline();
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      while (runtime::Timer* timer = timers_.pop_due(now_)) timer->fire();
    }
    now_ = end;
  }
  void run_ready() {
    while (runtime::Ready* ready = queue_.pop()) ready->run();
  }

  // Drives the loop until the task has ended; nullopt if it did not within `limit` of virtual time.
  template <class T>
  std::optional<T> run(Task<T> task, Duration limit = std::chrono::hours(1)) {
    std::optional<T> result;
    bool ended = false;
    runtime::Scope scope(*this);
    scope.spawn(keep(std::move(task), result, ended));
    const Instant end = now_ + limit;
    while (!ended) {
      run_ready();
      if (ended) break;
      const std::optional<Instant> next = timers_.next_deadline();
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      while (runtime::Timer* timer = timers_.pop_due(now_)) timer->fire();
    }
    run_ready();
    return result;
  }

  std::string server_alpn = "h2";         // what every listener here would choose, if offered
  std::string client_address = "memory";  // that of the next connections
  std::size_t client_certificate_bytes = 0;
  bool client_certificate_trusted = false;
  std::size_t pipe_bytes = 64 << 10;  // what a connection takes before somebody reads it
  std::size_t connects = 0;
  MemoryStream* last_near = nullptr;  // the connecting end of the last connection

 private:
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& result, bool& ended) {
    result.emplace(co_await std::move(task));
    ended = true;
  }

  Instant now_{};
  std::uint64_t random_ = 1;
  runtime::TimerHeap timers_;
  runtime::ReadyQueue queue_;
  std::map<std::string, std::weak_ptr<AcceptQueue>> listeners_;
};

}  // namespace fairlead::http
