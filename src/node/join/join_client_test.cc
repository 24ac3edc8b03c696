#include "node/join/join_client.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "api/identity/test_support.h"
#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::join {
namespace {

using identity::testing::must;
using identity::testing::seeded;

// A node's folder on disk, and attempts to join from it. No server is needed: what is tested here
// is decided before one is asked.
struct JoinClientTest : testing::Test {
  runtime::EpollRuntime runtime;
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                 ("join_client_" + std::to_string(runtime.random()));
  std::vector<std::string> told;

  ~JoinClientTest() override { std::filesystem::remove_all(folder); }

  Result<JoinOutcome> run(JoinPlan plan) {
    plan.folder = folder.string();
    plan.default_node = "by-default";
    JoinClient client(runtime, std::move(plan), [this](std::string line) { told.push_back(line); });
    return runtime.run_until_complete(client.run());
  }
  // As if the node had joined as `node` with a certificate of that time.
  void join_as(const std::string& node, identity::Validity validity) {
    std::filesystem::create_directories(folder);
    JoinFiles files(runtime.files(), folder.string());
    const identity::PrivateKey key = must(files.key());
    const auto ca = must(identity::make_authority(
        "ca", {validity.not_before - 24h, validity.not_after + 24h}, seeded(1)));
    const identity::User user = identity::node_user(node);
    const auto request = must(identity::SigningRequest::make(key, {user.name, user.groups}));
    const auto certificate = must(identity::sign(ca, request,
                                                 {.subject = {user.name, user.groups},
                                                  .names = {},
                                                  .purposes = {identity::Purpose::client},
                                                  .validity = validity},
                                                 seeded(2)));
    const identity::JoinResponse response{
        .node = node, .certificate = certificate.pem(), .ca = ca.certificate.pem(), .servers = {}};
    // Port 9 on loopback: nobody answers.
    ASSERT_TRUE(files.write(response, key, {"https://127.0.0.1:9"}));
  }
  identity::Validity now_and(Duration before, Duration after) {
    return {runtime.wall_now() - before, runtime.wall_now() + after};
  }
};

// What is missing or wrong is named by its flag, before anything is sent.
TEST_F(JoinClientTest, FlagsAreChecked) {
  const std::string unpinned = identity::JoinToken::make(seeded(3)).to_string();
  const std::string pinned =
      identity::JoinToken::make(seeded(3), "sha256:" + std::string(64, 'a')).to_string();
  const std::pair<JoinPlan, std::string> cases[] = {
      {{}, "--token: needed to join"},
      {{.token = "rubbish"}, "--token"},
      {{.token = unpinned}, "--token: it does not name the cluster's authority"},
      {{.token = pinned}, "--server: at least one is needed"},
      {{.token = pinned, .node = "No_Name"}, "--node: No_Name"},
  };
  for (const auto& [plan, words] : cases) {
    const Result<JoinOutcome> outcome = run(plan);
    ASSERT_FALSE(outcome) << words;
    EXPECT_EQ(outcome.error().code, Code::invalid) << words;
    EXPECT_TRUE(outcome.error().message.starts_with(words)) << outcome.error().message;
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "node.key"));
}

// While its certificate is good there is nothing to do, and no server is asked.
TEST_F(JoinClientTest, AGoodCertificateIsLeftAlone) {
  join_as("n1", now_and(24h, 24h * 29));
  const Result<JoinOutcome> outcome = run({});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->kind, JoinOutcome::Kind::unchanged);
  EXPECT_EQ(outcome->node, "n1");
  EXPECT_TRUE(told.empty());
}

// A folder belongs to one node.
TEST_F(JoinClientTest, AFolderBelongsToOneNode) {
  join_as("n1", now_and(24h, 24h * 29));
  const Result<JoinOutcome> outcome = run({.node = "n2"});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::already_exists);
  EXPECT_NE(outcome.error().message.find("is that of node n1, not of n2"), std::string::npos);
}

// After two thirds of its life a certificate is renewed, at the servers it knows; nobody answers
// here.
TEST_F(JoinClientTest, RenewsInTime) {
  join_as("n1", now_and(24h * 25, 24h * 5));
  const Result<JoinOutcome> outcome = run({});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("127.0.0.1:9"), std::string::npos)
      << outcome.error().message;
}

// An expired certificate proves nothing: a token is needed again.
TEST_F(JoinClientTest, AnExpiredCertificateNeedsAToken) {
  join_as("n1", now_and(24h * 30, -1s));
  const Result<JoinOutcome> outcome = run({});
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().message.starts_with("--token: needed, because"))
      << outcome.error().message;
}

}  // namespace
}  // namespace fairlead::join
