// DelegatedAuthenticator: bearer tokens that the host cluster knows, by TokenReview.
//
// The last of the authenticators that look at tokens: those of this server's own are found before.
// A token is kept only as its SHA-256; the token itself is in one review and gone with it. Answers
// are cached for seconds, so a revoked token works no longer than that. Reviews of unknown tokens
// are charged to the address they come from, and leave room for tokens that proved a user within
// the last hour: a peer that guesses tokens uses up only its own share.
//
// A token that says it is for the agents' audience is reviewed for that audience, and proves the
// node of the pod that it is bound to (agent_tokens.h), never its service account.
//
// When the host cannot be asked the outcome is `unavailable`: the token is neither good nor wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/delegation/agent_tokens.h"
#include "api/delegation/answer_cache.h"
#include "api/delegation/shared_questions.h"
#include "api/identity/authenticator.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::delegation {

// Sends a review to the host cluster's path and returns its answer (RestClient::call).
using PostReview = std::function<Task<Result<Json>>(std::string path, Json review)>;
// Reads a pod of the host cluster.
using GetPod = std::function<Task<Result<Json>>(std::string namespace_name, std::string name)>;

struct TokenReviewLimits {
  Duration known_for = 10s;     // a token that proves a user
  Duration unknown_for = 10s;   // one that proves nobody
  std::size_t tokens = 10'000;  // kept of each of the two
  Duration proven_for = 1h;     // one that proved a user is not a stranger's
  QuestionLimits at_once;       // reviews under way
};

class DelegatedAuthenticator final : public identity::Authenticator {
 public:
  DelegatedAuthenticator(runtime::Runtime& runtime, PostReview post, TokenReviewLimits limits = {});

  // Agents may prove their node by the token of their pod, from now on.
  void accept_agents(AgentTokens rules, GetPod get_pod);

  std::optional<Result<identity::UserRef>> authenticate_now(
      const identity::AuthRequest& request) override;
  Task<Result<identity::UserRef>> authenticate(const identity::AuthRequest& request) override;
  bool looks_at(std::string_view header) const override;

  std::uint64_t reviews() const { return reviews_; }    // sent
  std::uint64_t failures() const { return failures_; }  // of them, without an answer

 private:
  std::optional<Result<identity::UserRef>> known(const identity::Digest& key) const;
  // Null: it proves nobody.
  Task<Result<identity::UserRef>> review(identity::Digest key, std::string token);
  Task<Result<identity::UserRef>> ask_host(std::string token);
  Task<Result<identity::UserRef>> node_of(const Json& review, identity::UserRef account);

  runtime::Runtime& runtime_;
  PostReview post_;
  std::optional<AgentTokens> agents_;
  GetPod get_pod_;
  AnswerCache<identity::UserRef> known_;
  AnswerCache<bool> unknown_;
  AnswerCache<bool> proven_;
  std::uint64_t reviews_ = 0;
  std::uint64_t failures_ = 0;
  SharedQuestions<identity::UserRef> questions_;
};

}  // namespace fairlead::delegation
