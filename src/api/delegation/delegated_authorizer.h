// DelegatedAuthorizer: what the host cluster's RBAC allows, by SubjectAccessReview.
//
// Decided here, without asking: health paths are open to everyone, members of system:masters may do
// everything. Answers are cached for seconds; permissions longer than refusals, so that a user who
// has just been granted a right need not wait.
//
// Reviews are charged to the user they are about; anonymous users have a share of their own
// (shared_questions.h).
//
// When the host cannot be asked the outcome is `unavailable`, never permission.
#pragma once

#include <cstdint>
#include <optional>

#include "api/delegation/answer_cache.h"
#include "api/delegation/delegated_authenticator.h"
#include "api/delegation/shared_questions.h"
#include "api/identity/authorizer.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::delegation {

struct AccessReviewLimits {
  Duration allowed_for = 10s;
  Duration denied_for = 3s;
  std::size_t answers = 20'000;                                      // kept of each of the two
  QuestionLimits at_once{.all = 200, .strangers = 50, .each = 100};  // reviews under way
};

class DelegatedAuthorizer final : public identity::Authorizer {
 public:
  DelegatedAuthorizer(runtime::Runtime& runtime, PostReview post, AccessReviewLimits limits = {});

  std::optional<Result<identity::Decision>> authorize_now(
      const identity::Attributes& wanted) override;
  Task<Result<identity::Decision>> authorize(const identity::Attributes& wanted) override;

  std::uint64_t reviews() const { return reviews_; }    // sent
  std::uint64_t failures() const { return failures_; }  // of them, without an answer

 private:
  std::optional<Result<identity::Decision>> known(const identity::Digest& key) const;
  Task<Result<identity::Decision>> review(identity::Digest key, Json question);

  runtime::Runtime& runtime_;
  PostReview post_;
  AnswerCache<bool> allowed_;
  AnswerCache<identity::Decision> denied_;
  std::uint64_t reviews_ = 0;
  std::uint64_t failures_ = 0;
  SharedQuestions<identity::Decision> questions_;
};

}  // namespace fairlead::delegation
