// SharedQuestions: single-flight for requests to the host cluster: equal questions at the same time
// share one request.
//
// A request goes on when its first caller is cancelled, because others may have joined. Open
// requests are bounded in all and per caller, with a share of their own for anonymous callers, so
// that a flood from one caller does not block the others. Runs on one loop.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/identity/digest.h"
#include "foundation/base/key_map.h"
#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

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
      : limits_(limits), scope_(runtime) {}

  // The answer to the question that `key` stands for. `ask()` makes the Task that asks it, if
  // nobody does. Fails with exhausted when too many are open.
  template <class Ask>
  Task<Result<Answer>> answer(identity::Digest key, Asker asker, Ask ask) {
    std::shared_ptr<Question> question;
    if (const auto at = open_.find(key); at != open_.end()) {
      question = at->second;
    } else {
      if (!has_room(asker))
        co_return fail(Code::exhausted, "too many questions to the host cluster are open");
      question = std::make_shared<Question>();
      open_.emplace(key, question);
      count(asker, +1);
      scope_.spawn(carry(key, std::move(asker), question, ask()));
    }
    while (!question->answer) {
      FL_CO_CHECKED(co_await question->answered.wait());
    }
    co_return *question->answer;
  }

  std::size_t open() const { return open_.size(); }

 private:
  struct Question {
    std::optional<Result<Answer>> answer;
    runtime::Signal answered;
  };

  bool has_room(const Asker& asker) const {
    if (open_.size() >= limits_.all) return false;
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

  Task<void> carry(identity::Digest key, Asker asker, std::shared_ptr<Question> question,
                   Task<Result<Answer>> asking) {
    Result<Answer> answer = co_await asking;
    open_.erase(key);
    count(asker, -1);
    question->answer.emplace(std::move(answer));
    question->answered.notify();
  }

  QuestionLimits limits_;
  std::size_t strangers_ = 0;
  KeyMap<std::size_t> by_asker_;
  std::unordered_map<identity::Digest, std::shared_ptr<Question>, identity::DigestHash> open_;
  runtime::Scope scope_;
};

}  // namespace fairlead::delegation
