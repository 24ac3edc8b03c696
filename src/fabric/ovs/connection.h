// A stream to a daemon of Open vSwitch with a reader and a writer of its own: what is sent is
// queued, what arrives is handed on as it comes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "runtime/channel.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"

namespace fairlead::fabric::ovs {

class Connection {
 public:
  // Called for each piece; a failure ends the connection.
  using Consume = std::function<Result<>(std::string_view)>;
  // Called once, when it has ended by itself. It must not destroy the connection.
  using Ended = std::function<void(const Error&)>;

  Connection(runtime::Runtime& runtime, std::unique_ptr<runtime::Stream> stream, Consume consume,
             Ended ended);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view bytes);
  bool open() const { return open_; }

 private:
  Task<void> read();
  Task<void> write();
  void end(const Error& error);

  std::unique_ptr<runtime::Stream> stream_;
  Consume consume_;
  Ended ended_;
  std::string outbox_;
  runtime::Signal to_write_;
  bool open_ = true;
  runtime::Scope scope_;  // last: its tasks use all of the above
};

// Answers that are waited for, by number.
template <class Number, class T>
class Awaited {
 public:
  // REQUIRES: before the answer can arrive.
  void expect(Number number) { pending_.emplace(number, std::make_shared<Pending>()); }
  bool expects(Number number) const { return pending_.contains(number); }

  void answer(Number number, Result<T> value) {
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;  // nobody waits any more
    found->second->value = std::move(value);
    found->second->arrived.notify();
  }
  void fail_all(const Error& error) {
    for (auto& [number, pending] : pending_) {
      if (!pending->value) pending->value = fail(error);
      pending->arrived.notify();
    }
  }
  Task<Result<T>> wait(Number number) {
    const std::shared_ptr<Pending> pending = pending_.at(number);
    while (!pending->value) {
      const Result<> woken = co_await pending->arrived.wait();
      if (!woken) {
        pending_.erase(number);
        co_return fail(woken.error());
      }
    }
    pending_.erase(number);
    co_return std::move(*pending->value);
  }

 private:
  struct Pending {
    std::optional<Result<T>> value;
    runtime::Signal arrived;
  };
  std::map<Number, std::shared_ptr<Pending>> pending_;
};

}  // namespace fairlead::fabric::ovs
