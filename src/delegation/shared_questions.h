// SharedQuestions: whoever asks what is being asked already waits for that answer.
//
// A question belongs to nobody who waits for it: it goes on when its first asker leaves, because
// others may have joined. Runs on one loop.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "identity/digest.h"
#include "runtime/channel.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"

namespace fairlead::delegation {

template <class Answer>
class SharedQuestions {
 public:
  // At most `limit` different ones at a time: the host is not flooded by a flood here.
  SharedQuestions(runtime::Runtime& runtime, std::size_t limit) : limit_(limit), scope_(runtime) {}

  // The answer to the question that `key` stands for. `ask()` makes the Task that asks it, if
  // nobody does. Fails with exhausted when too many are open.
  template <class Ask>
  Task<Result<Answer>> answer(identity::Digest key, Ask ask) {
    std::shared_ptr<Question> question;
    if (const auto at = open_.find(key); at != open_.end()) {
      question = at->second;
    } else {
      if (open_.size() >= limit_)
        co_return fail(Code::exhausted, "too many questions to the host cluster are open");
      question = std::make_shared<Question>();
      open_.emplace(key, question);
      scope_.spawn(carry(key, question, ask()));
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

  Task<void> carry(identity::Digest key, std::shared_ptr<Question> question,
                   Task<Result<Answer>> asking) {
    Result<Answer> answer = co_await asking;
    open_.erase(key);
    question->answer.emplace(std::move(answer));
    question->answered.notify();
  }

  std::size_t limit_;
  std::unordered_map<identity::Digest, std::shared_ptr<Question>, identity::DigestHash> open_;
  runtime::Scope scope_;
};

}  // namespace fairlead::delegation
