// SharedQuestions: requests to the host cluster; equal ones at the same time are one
// (foundation/runtime/single_flight.h).
//
// Open requests are bounded in all and per caller, with a share of their own for anonymous callers,
// so that a flood from one caller does not block the others. Runs on one loop.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "api/identity/digest.h"
#include "foundation/base/key_map.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/single_flight.h"

namespace fairlead::delegation {

// On whose account a question is open.
struct Asker {
  std::string name;       // an address, a user; empty: not counted
  bool stranger = false;  // nothing speaks for it yet
};

// Questions that are open at a time.
struct QuestionLimits {
  std::size_t all = 200;  // the host is not flooded by a flood here
  std::size_t strangers = 150;
  std::size_t each = 30;  // of one asker
};

template <class Answer>
class SharedQuestions {
 public:
  SharedQuestions(runtime::Runtime& runtime, QuestionLimits limits)
      : limits_(limits), flight_(runtime) {}

  // The answer to the question that `key` stands for. `ask()` makes the Task that asks it, if
  // nobody does. Fails with exhausted when too many are open.
  template <class Ask>
  Task<Result<Answer>> answer(identity::Digest key, Asker asker, Ask ask) {
    if (!flight_.under_way(key)) {
      if (!has_room(asker))
        co_return fail(Code::exhausted, "too many questions to the host cluster are open");
      count(asker, +1);
    }
    const auto asking = [&] { return counted(std::move(asker), ask()); };
    co_return co_await flight_.ask(key, asking);
  }

  std::size_t open() const { return flight_.size(); }

 private:
  bool has_room(const Asker& asker) const {
    if (flight_.size() >= limits_.all) return false;
    if (asker.stranger && strangers_ >= limits_.strangers) return false;
    const auto own = by_asker_.find(asker.name);
    return own == by_asker_.end() || own->second < limits_.each;
  }
  void count(const Asker& asker, int by) {
    if (asker.stranger) strangers_ += static_cast<std::size_t>(by);
    if (asker.name.empty()) return;
    const auto own = by_asker_.try_emplace(asker.name, 0).first;
    own->second += static_cast<std::size_t>(by);
    if (own->second == 0) by_asker_.erase(own);
  }

  Task<Result<Answer>> counted(Asker asker, Task<Result<Answer>> asking) {
    Result<Answer> answer = co_await asking;
    count(asker, -1);
    co_return answer;
  }

  QuestionLimits limits_;
  std::size_t strangers_ = 0;
  KeyMap<std::size_t> by_asker_;
  runtime::SingleFlight<identity::Digest, Answer, identity::DigestHash> flight_;
};

}  // namespace fairlead::delegation
