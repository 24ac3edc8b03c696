#include "api/delegation/delegated_authorizer.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/delegation/review_messages.h"
#include "foundation/base/log.h"

namespace fairlead::delegation {
namespace {

using identity::Attributes;
using identity::Decision;

constexpr std::array<std::string_view, 3> kOpenPaths{"/healthz", "/livez", "/readyz"};

bool is_open_path(const Attributes& wanted) {
  return !wanted.is_resource && (wanted.verb == "get" || wanted.verb == "head") &&
         std::ranges::find(kOpenPaths, wanted.path) != kOpenPaths.end();
}

// What needs no question; nullopt: ask.
std::optional<Decision> decide_here(const Attributes& wanted) {
  if (is_open_path(wanted)) return Decision::allow();
  if (!wanted.user) return Decision::deny("no user");
  if (wanted.user->in_group(identity::kMastersGroup)) return Decision::allow();
  return std::nullopt;
}

}  // namespace

DelegatedAuthorizer::DelegatedAuthorizer(runtime::Runtime& runtime, PostReview post,
                                         AccessReviewLimits limits)
    : runtime_(runtime),
      post_(std::move(post)),
      allowed_(limits.answers, limits.allowed_for),
      denied_(limits.answers, limits.denied_for),
      questions_(runtime, limits.at_once) {}

std::optional<Result<Decision>> DelegatedAuthorizer::known(const identity::Digest& key) const {
  const Instant now = runtime_.now();
  if (allowed_.find(key, now)) return Decision::allow();
  if (const Decision* denied = denied_.find(key, now)) return *denied;
  return std::nullopt;
}

std::optional<Result<Decision>> DelegatedAuthorizer::authorize_now(const Attributes& wanted) {
  if (std::optional<Decision> decision = decide_here(wanted)) return std::move(*decision);
  return known(access_key(wanted));
}

Task<Result<Decision>> DelegatedAuthorizer::authorize(const Attributes& wanted) {
  if (std::optional<Decision> decision = decide_here(wanted)) co_return std::move(*decision);
  const identity::Digest key = access_key(wanted);
  if (std::optional<Result<Decision>> decision = known(key)) co_return std::move(*decision);
  const auto ask = [this, key, &wanted] { return review(key, encode_access_review(wanted)); };
  Asker asker{.name = wanted.user->name, .stranger = wanted.user->name == identity::kAnonymousUser};
  Task<Result<Decision>> asking = questions_.answer(key, std::move(asker), ask);
  co_return co_await asking;
}

Task<Result<Decision>> DelegatedAuthorizer::review(identity::Digest key, Json question) {
  ++reviews_;
  Task<Result<Json>> posting = post_(std::string(kAccessReviewPath), std::move(question));
  const Result<Json> answer = co_await posting;
  Result<Decision> decision = Decision();
  if (answer) {
    decision = decode_access_review(*answer);
  } else {
    decision = fail(answer.error());
  }
  if (!decision) {
    ++failures_;
    if (decision.error().code != Code::cancelled)
      log::warning("access not reviewed", {{"error", decision.error().to_string()}});
    co_return fail(Code::unavailable, "the host cluster cannot be asked about access");
  }
  if (decision->allowed) {
    denied_.erase(key);
    allowed_.put(key, true, runtime_.now());
  } else {
    denied_.put(key, *decision, runtime_.now());
  }
  co_return decision;
}

}  // namespace fairlead::delegation
