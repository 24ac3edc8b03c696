// SharedCall: one call whose outcome several fibers wait for.
// SingleFlight: fibers that ask for the same thing at the same time share one call.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"

namespace fairlead::runtime {

// Wait for it without another coroutine, as this is on the way of every read:
//
//   while (!call->outcome()) {
//     FL_CO_CHECKED(co_await call->wait());
//   }
template <class T>
class SharedCall {
 public:
  const std::optional<Result<T>>& outcome() const { return outcome_; }
  Signal::Wait wait() { return ended_.wait(); }
  void end(Result<T> outcome) {
    outcome_.emplace(std::move(outcome));
    ended_.notify();
  }

 private:
  std::optional<Result<T>> outcome_;
  Signal ended_;
};

// A caller joins the call for its key that is under way, whoever began it. A call belongs to the
// SingleFlight: it goes on when its first caller is cancelled, because others may have joined, and
// has to end by itself. What it captures outlives the SingleFlight.
template <class Key, class T, class Hash = std::hash<Key>>
class SingleFlight {
 public:
  explicit SingleFlight(Executor& executor) : scope_(executor) {}

  bool under_way(const Key& key) const { return calls_.contains(key); }
  std::size_t size() const { return calls_.size(); }

  // The outcome for `key`. `call()` makes the Task that finds it, if none is under way; it begins
  // on the next turn of the loop.
  template <class Call>
  Task<Result<T>> ask(Key key, Call call) {
    std::shared_ptr<SharedCall<T>> shared;
    if (const auto at = calls_.find(key); at != calls_.end()) {
      shared = at->second;
    } else {
      shared = std::make_shared<SharedCall<T>>();
      calls_.emplace(key, shared);
      scope_.spawn(carry(key, shared, call()));
    }
    while (!shared->outcome()) {
      FL_CO_CHECKED(co_await shared->wait());
    }
    co_return *shared->outcome();
  }

 private:
  // Whoever asks after the end begins another call.
  Task<void> carry(Key key, std::shared_ptr<SharedCall<T>> shared, Task<Result<T>> call) {
    Result<T> outcome = co_await call;
    calls_.erase(key);
    shared->end(std::move(outcome));
  }

  std::unordered_map<Key, std::shared_ptr<SharedCall<T>>, Hash> calls_;
  Scope scope_;
};

}  // namespace fairlead::runtime
