#include "api/delegation/delegated_authenticator.h"

#include <algorithm>
#include <utility>

#include "api/delegation/review_messages.h"
#include "api/identity/header_text.h"
#include "api/identity/token.h"
#include "foundation/base/log.h"

namespace fairlead::delegation {
namespace {

using identity::UserRef;

std::unexpected<Error> not_known() {
  return fail(Code::unauthorized, "bearer token is not known to the host cluster");
}

// "10.0.0.7:41234" without its port.
std::string host_of(const std::string& address) {
  return address.substr(0, std::min(address.rfind(':'), address.size()));
}

}  // namespace

DelegatedAuthenticator::DelegatedAuthenticator(runtime::Runtime& runtime, PostReview post,
                                               TokenReviewLimits limits)
    : runtime_(runtime),
      post_(std::move(post)),
      known_(limits.tokens, limits.known_for),
      unknown_(limits.tokens, limits.unknown_for),
      proven_(limits.tokens, limits.proven_for),
      questions_(runtime, limits.at_once) {}

void DelegatedAuthenticator::accept_agents(AgentTokens rules, GetPod get_pod) {
  agents_ = std::move(rules);
  get_pod_ = std::move(get_pod);
}

std::optional<Result<UserRef>> DelegatedAuthenticator::known(const identity::Digest& key) const {
  const Instant now = runtime_.now();
  if (const UserRef* user = known_.find(key, now)) return *user;
  if (unknown_.find(key, now)) return not_known();
  return std::nullopt;
}

std::optional<Result<UserRef>> DelegatedAuthenticator::authenticate_now(
    const identity::AuthRequest& request) {
  const auto token = identity::bearer_token(request.header("authorization"));
  if (!token) return UserRef();
  return known(identity::sha256(*token));
}

Task<Result<UserRef>> DelegatedAuthenticator::authenticate(const identity::AuthRequest& request) {
  const auto token = identity::bearer_token(request.header("authorization"));
  if (!token) co_return UserRef();
  const identity::Digest key = identity::sha256(*token);
  if (std::optional<Result<UserRef>> outcome = known(key)) co_return std::move(*outcome);
  Asker asker;
  if (!proven_.find(key, runtime_.now()))
    asker = {.name = request.peer ? host_of(request.peer->address) : "", .stranger = true};
  const auto ask = [this, key, &token] { return review(key, std::string(*token)); };
  Task<Result<UserRef>> asking = questions_.answer(key, std::move(asker), ask);
  Result<UserRef> user = co_await asking;
  if (user && !*user) co_return not_known();
  co_return user;
}

bool DelegatedAuthenticator::looks_at(std::string_view header) const {
  return identity::same_header(header, "authorization");
}

Task<Result<UserRef>> DelegatedAuthenticator::ask_host(std::string token) {
  const bool of_agent = agents_ && claims_audience(token, agents_->audience);
  Json question = encode_token_review(token, of_agent ? agents_->audience : std::string_view());
  Task<Result<Json>> posting = post_(std::string(kTokenReviewPath), std::move(question));
  FL_CO_TRY(const Json answer, co_await posting);
  FL_CO_TRY(UserRef user, decode_token_review(answer));
  if (!user || !of_agent) co_return user;
  Task<Result<UserRef>> looking = node_of(answer, std::move(user));
  co_return co_await looking;
}

Task<Result<UserRef>> DelegatedAuthenticator::node_of(const Json& review, UserRef account) {
  const auto refused = [](const Error& error) {
    log::warning("an agent's token was refused", {{"error", error.message}});
    return UserRef();
  };
  const Result<AgentPod> pod = agent_pod(*agents_, review, *account);
  if (!pod) co_return refused(pod.error());
  Result<std::string> node = pod->node;
  if (node->empty()) {
    Task<Result<Json>> reading = get_pod_(agents_->namespace_name, pod->name);
    const Result<Json> found = co_await reading;
    if (!found && found.error().code != Code::not_found)
      co_return fail(found.error().context("the agent's pod " + pod->name));
    node = node_of_pod(*pod, found ? *found : Json(JsonObject{}));
  }
  if (!node) co_return refused(node.error());
  co_return std::make_shared<const identity::User>(
      identity::with_authenticated_group(identity::node_user(*node)));
}

Task<Result<UserRef>> DelegatedAuthenticator::review(identity::Digest key, std::string token) {
  ++reviews_;
  Task<Result<UserRef>> asking = ask_host(std::move(token));
  Result<UserRef> user = co_await asking;
  if (!user) {
    ++failures_;
    if (user.error().code != Code::cancelled)
      log::warning("token not reviewed", {{"error", user.error().to_string()}});
    co_return fail(Code::unavailable, "the host cluster cannot be asked about the token");
  }
  if (*user) {
    known_.put(key, *user, runtime_.now());
    proven_.put(key, true, runtime_.now());
  } else {
    unknown_.put(key, true, runtime_.now());
  }
  co_return user;
}

}  // namespace fairlead::delegation
