#include "api/delegation/delegated_authenticator.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/delegation/review_messages.h"
#include "api/delegation/test_host.h"
#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::delegation {
namespace {

using identity::AuthRequest;
using identity::UserRef;
using Fields = std::vector<std::pair<std::string, std::string>>;

// "good…" tokens are jane's, all others nobody's.
Json judge_token(const Json& spec) {
  if (!wire::find_string(spec, "token").starts_with("good"))
    return JsonObject{{"error", "invalid bearer token"}};
  JsonObject user{{"username", "jane"},
                  {"uid", "u1"},
                  {"groups", JsonArray{"devs"}},
                  {"extra", JsonObject{{"scopes", JsonArray{"a", "b"}}}}};
  return JsonObject{{"authenticated", true}, {"user", std::move(user)}};
}

std::string name_in(const Result<UserRef>& outcome) {
  if (!outcome) return std::string(code_name(outcome.error().code));
  return *outcome ? (*outcome)->name : "nobody";
}

struct Asker {
  explicit Asker(std::string token, std::string address = {})
      : fields{{"Authorization", "Bearer " + std::move(token)}},
        peer{.address = std::move(address)},
        request{.peer = &peer, .headers = fields} {}
  Fields fields;
  runtime::PeerInfo peer;
  AuthRequest request;
  std::string outcome;  // empty: none yet
};

Task<void> ask(DelegatedAuthenticator& authenticator, Asker& asker) {
  Task<Result<UserRef>> asking = authenticator.authenticate(asker.request);
  const Result<UserRef> outcome = co_await asking;
  asker.outcome = name_in(outcome);
}

struct DelegatedAuthenticatorTest : testing::Test {
  runtime::ManualRuntime runtime;
  HeldHost host{judge_token};
  TokenReviewLimits limits{.known_for = 10s,
                           .unknown_for = 4s,
                           .tokens = 3,
                           .at_once = {.all = 6, .strangers = 5, .each = 3}};
  DelegatedAuthenticator authenticator{runtime, host.poster(), limits};
  runtime::Scope scope{runtime};

  std::string outcome_of(std::string token) {
    Asker asker(std::move(token));
    if (auto now = authenticator.authenticate_now(asker.request)) return name_in(*now);
    scope.spawn(ask(authenticator, asker));
    runtime.settle();
    return asker.outcome;
  }
};

// What the host says about a token is what counts, in full.
TEST_F(DelegatedAuthenticatorTest, TheHostDecides) {
  Asker good("good");
  scope.spawn(ask(authenticator, good));
  runtime.settle();
  EXPECT_EQ(good.outcome, "jane");
  EXPECT_EQ(host.paths, std::vector<std::string>{std::string(kTokenReviewPath)});
  EXPECT_EQ(wire::find_string(host.specs.front(), "token"), "good");
  const auto kept = authenticator.authenticate_now(good.request);
  ASSERT_TRUE(kept && *kept && **kept);
  const identity::User& user = ***kept;
  EXPECT_EQ(user.uid, "u1");
  EXPECT_EQ(user.groups, (std::vector<std::string>{"devs", "system:authenticated"}));
  EXPECT_EQ(user.extra.at("scopes"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(outcome_of("bad"), "unauthorized");
}

// A request without a bearer token is none of its business and costs no review.
TEST_F(DelegatedAuthenticatorTest, OtherCredentialsAreLeftAlone) {
  const Fields basic{{"Authorization", "Basic eDp5"}};
  for (const AuthRequest& request : {AuthRequest{}, AuthRequest{.headers = basic}}) {
    const auto outcome = authenticator.authenticate_now(request);
    ASSERT_TRUE(outcome && *outcome);
    EXPECT_FALSE(**outcome);
  }
  EXPECT_TRUE(host.specs.empty());
}

// Good and bad answers are kept, each for its own time, and asked again after it.
TEST_F(DelegatedAuthenticatorTest, AnswersAreKeptForAWhile) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome_of("good"), "jane");
    EXPECT_EQ(outcome_of("bad"), "unauthorized");
  }
  EXPECT_EQ(host.specs.size(), 2u);
  runtime.advance(4s);
  EXPECT_EQ(outcome_of("good"), "jane");
  EXPECT_EQ(outcome_of("bad"), "unauthorized");
  EXPECT_EQ(host.specs.size(), 3u);
  runtime.advance(6s);
  EXPECT_EQ(outcome_of("good"), "jane");
  EXPECT_EQ(host.specs.size(), 4u);
}

// A flood of wrong tokens pushes no good one out.
TEST_F(DelegatedAuthenticatorTest, WrongTokensPushOutNoGoodOne) {
  EXPECT_EQ(outcome_of("good"), "jane");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(outcome_of("bad" + std::to_string(i)), "unauthorized");
  const std::size_t asked = host.specs.size();
  EXPECT_EQ(outcome_of("good"), "jane");
  EXPECT_EQ(host.specs.size(), asked);
}

// Those who come with a token that is being reviewed share the review, even when the first leaves.
TEST_F(DelegatedAuthenticatorTest, OneReviewForAllWhoWait) {
  host.hold();
  Asker first("good"), second("good"), third("good"), other("bad");
  auto leaving = std::make_unique<runtime::Scope>(runtime);
  leaving->spawn(ask(authenticator, first));
  runtime.settle();
  for (Asker* asker : {&second, &third, &other}) scope.spawn(ask(authenticator, *asker));
  runtime.settle();
  EXPECT_EQ(host.specs.size(), 2u);
  leaving->cancel();
  runtime.settle();
  EXPECT_EQ(first.outcome, "cancelled");
  EXPECT_EQ(second.outcome, "");
  host.release();
  runtime.settle();
  EXPECT_EQ(second.outcome, "jane");
  EXPECT_EQ(third.outcome, "jane");
  EXPECT_EQ(other.outcome, "unauthorized");
  EXPECT_EQ(host.specs.size(), 2u);
  EXPECT_EQ(authenticator.reviews(), 2u);
}

// Only so many reviews are under way; the next is told to come back, those under way are answered.
TEST_F(DelegatedAuthenticatorTest, ReviewsUnderWayAreBounded) {
  host.hold();
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < 6; ++i) {
    askers.push_back(std::make_unique<Asker>("good" + std::to_string(i)));
    scope.spawn(ask(authenticator, *askers.back()));
  }
  runtime.settle();
  EXPECT_EQ(askers[5]->outcome, "exhausted");
  host.release();
  runtime.settle();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(askers[i]->outcome, "jane") << i;
}

// Guesses from one address take that address's share, guesses from many the share of strangers: a
// token that has proved a user before is reviewed all the same.
TEST_F(DelegatedAuthenticatorTest, GuessesTakeNobodyElsesPlace) {
  EXPECT_EQ(outcome_of("good-known"), "jane");
  runtime.advance(10s);  // it must be reviewed again
  host.hold();
  std::vector<std::unique_ptr<Asker>> askers;
  const auto begin = [&](const std::string& token, const std::string& address) {
    askers.push_back(std::make_unique<Asker>(token, address));
    scope.spawn(ask(authenticator, *askers.back()));
    runtime.settle();
    return askers.back().get();
  };
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(begin("guess" + std::to_string(i), "10.0.0.1:100" + std::to_string(i))->outcome, "");
  EXPECT_EQ(begin("guess3", "10.0.0.1:1003")->outcome, "exhausted");
  const Asker* fresh = begin("good-new", "10.0.0.2:1000");
  EXPECT_EQ(fresh->outcome, "");
  EXPECT_EQ(begin("guess4", "10.0.0.3:1000")->outcome, "");
  EXPECT_EQ(begin("guess5", "10.0.0.4:1000")->outcome, "exhausted");
  const Asker* known = begin("good-known", "10.0.0.1:1004");
  EXPECT_EQ(known->outcome, "");
  host.release();
  runtime.settle();
  EXPECT_EQ(fresh->outcome, "jane");
  EXPECT_EQ(known->outcome, "jane");
}

// A host that cannot be asked says nothing about the token: no user, no 401, and nothing is kept.
TEST_F(DelegatedAuthenticatorTest, AHostThatIsDownDecidesNothing) {
  host.down = true;
  EXPECT_EQ(outcome_of("good"), "unavailable");
  EXPECT_EQ(outcome_of("bad"), "unavailable");
  EXPECT_EQ(authenticator.failures(), 2u);
  host.down = false;
  EXPECT_EQ(outcome_of("good"), "jane");
  EXPECT_EQ(outcome_of("bad"), "unauthorized");
}

}  // namespace
}  // namespace fairlead::delegation
