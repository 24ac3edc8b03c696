// Who may watch what is asked for as long as the watch is open: what a node may see follows what
// runs on it, and whoever loses identity or rights loses the watches that rest on them.
#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"
#include "api/identity/join.h"
#include "api/identity/test_support.h"

namespace fairlead::apiserver {
namespace {

using namespace identity::testing;

constexpr std::string_view kMoorings = "/apis/fairlead.dev/v1alpha1/namespaces/default/moorings";

Json mooring(std::string_view name, std::string_view node) {
  return JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", JsonObject{{"node", node}}}};
}

void set_channel(TestServer& server, std::string_view name) {
  const std::string path = std::string(kMoorings) + "/" + std::string(name);
  const auto patched =
      server.ask("admin", "PATCH", path + "/status", R"({"status":{"line":"1","channel":7}})",
                 "application/merge-patch+json");
  ASSERT_EQ(patched->status, 200) << patched->text;
}

// A watch over a channel ends when the node no longer has a mooring in it, and is then
// refused.
TEST(WatchRights, EndWithTheLastMooring) {
  TestServer server;
  server.create(kMoorings, mooring("mine", "n1"));
  server.create(kMoorings, mooring("theirs", "n2"));
  set_channel(server, "mine");
  set_channel(server, "theirs");
  const std::string channel =
      "/apis/fairlead.dev/v1alpha1/"
      "moorings?watch=true&fieldSelector=status.channel%3D7";
  const auto watch = server.begin("n1", "GET", channel);
  ASSERT_EQ(watch->status, 200) << watch->text;
  EXPECT_FALSE(watch->ended);
  EXPECT_NE(watch->text.find("theirs"), std::string::npos) << watch->text;

  ASSERT_EQ(server.ask("admin", "DELETE", std::string(kMoorings) + "/mine")->status, 200);
  server.create(kMoorings, mooring("later", "n2"));
  set_channel(server, "later");
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(watch->text.find("later"), std::string::npos) << watch->text;
  EXPECT_EQ(server.ask("n1", "GET", channel)->status, 403);
}

// The old form of a watch of one object, and a selection of one name, show that object and no
// other.
TEST(WatchRights, OneNameIsOneObject) {
  TestServer server;
  server.create(kMoorings, mooring("mine", "n1"));
  server.create(kMoorings, mooring("theirs", "n2"));
  const std::string group = "/apis/fairlead.dev/v1alpha1";
  const std::string selected =
      group + "/namespaces/default/moorings?fieldSelector=metadata.name%3Dmine";
  const auto old_watch =
      server.begin("n1", "GET", group + "/watch/namespaces/default/moorings/mine");
  const auto watch = server.begin("n1", "GET", selected + "&watch=true");
  const auto list = server.ask("n1", "GET", selected);
  for (const auto* shown : {&old_watch, &watch, &list}) {
    EXPECT_EQ((*shown)->status, 200) << (*shown)->text;
    EXPECT_NE((*shown)->text.find("\"mine\""), std::string::npos) << (*shown)->text;
    EXPECT_EQ((*shown)->text.find("\"theirs\""), std::string::npos) << (*shown)->text;
  }
  // A selector on top of a name in the path takes away; it never leads to another object.
  const auto other = server.begin("n1", "GET",
                                  group +
                                      "/watch/namespaces/default/moorings/mine"
                                      "?fieldSelector=metadata.name%3Dtheirs");
  EXPECT_EQ(other->text, "") << other->text;
  EXPECT_EQ(
      server.ask("n1", "GET", group + "/moorings?fieldSelector=metadata.name%3Dtheirs")->status,
      403);
}

// A watch of one mooring by name tells of its deletion, and goes no further when another node
// has one of that name.
TEST(WatchRights, DoNotFollowAMooringToAnotherNode) {
  TestServer server;
  const std::string mine = std::string(kMoorings) + "/mine";
  server.create(kMoorings, mooring("mine", "n1"));
  const std::string selected =
      std::string(kMoorings) + "?watch=true&fieldSelector=metadata.name%3Dmine";
  const auto watch = server.begin("n1", "GET", selected);
  EXPECT_NE(watch->text.find("ADDED"), std::string::npos) << watch->text;
  ASSERT_EQ(server.ask("admin", "DELETE", mine)->status, 200);
  EXPECT_NE(watch->text.find("DELETED"), std::string::npos) << watch->text;
  EXPECT_FALSE(watch->ended);
  server.create(kMoorings, mooring("mine", "n2"));
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(watch->text.find("\"n2\""), std::string::npos) << watch->text;
}

// A server whose nodes and users show certificates, good for an hour.
struct Certified {
  identity::KeyPair ca = make_ca();
  TestServer server{{std::make_shared<identity::X509Authenticator>(
      identity::TrustStore({ca.certificate}), [this](std::string_view node, std::string_view pin) {
        return server.nodes.key_pin_of(node) == pin;
      })}};

  std::string certificate(const identity::User& user) {
    return client_of(ca, user.name, user.groups, around_now(kDay, 1h)).certificate.pem();
  }
  std::unique_ptr<TestExchange> watch(const std::string& certificate, std::string_view target) {
    const runtime::PeerInfo peer{.address = "peer",
                                 .tls = true,
                                 .alpn = {},
                                 .certificate = certificate,
                                 .certificate_trusted = true};
    return server.begin("", "GET", target, {}, {}, peer);
  }
  void register_node(const std::string& name, const std::string& certificate) {
    const std::string pin = must(identity::Certificate::parse_pem(certificate)).key_pin();
    server.create("/api/v1/nodes",
                  JsonObject{{"metadata",
                              JsonObject{{"name", name},
                                         {"annotations",
                                          JsonObject{{identity::kRegistrationAnnotation, pin}}}}}});
  }
};

constexpr std::string_view kParcelWatch = "/apis/fairlead.dev/v1alpha1/parcels?watch=true";

// A Node whose deletion waits for something is no longer registered.
TEST(WatchRights, EndWithTheDeletionOfTheNodeWhateverItWaitsFor) {
  Certified cluster;
  TestServer& server = cluster.server;
  const std::string one = cluster.certificate(identity::node_user("n1"));
  cluster.register_node("n1", one);
  const auto held = server.ask("admin", "PATCH", "/api/v1/nodes/n1",
                               R"({"metadata":{"finalizers":["somebody/waits"]}})",
                               "application/merge-patch+json");
  ASSERT_EQ(held->status, 200) << held->text;
  const auto watch = cluster.watch(one, kParcelWatch);
  ASSERT_EQ(watch->status, 200);
  ASSERT_EQ(server.ask("admin", "DELETE", "/api/v1/nodes/n1")->status, 200);
  EXPECT_EQ(server.ask("admin", "GET", "/api/v1/nodes/n1")->status, 200);
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(cluster.watch(one, kParcelWatch)->status, 401);
}

// Deleting a Node ends its watches at once, cleanly, and no other's. So does a new registration
// with another key.
TEST(WatchRights, EndWithTheRegistration) {
  Certified cluster;
  TestServer& server = cluster.server;
  const std::string one = cluster.certificate(identity::node_user("n1"));
  const std::string two = cluster.certificate(identity::node_user("n2"));
  const std::string admin = cluster.certificate({"joe", {}, {"system:masters"}, {}});
  cluster.register_node("n1", one);
  cluster.register_node("n2", two);
  const auto of_one = cluster.watch(one, kParcelWatch);
  const auto of_two = cluster.watch(two, kParcelWatch);
  const auto of_admin = cluster.watch(admin, kParcelWatch);
  for (const auto* watch : {&of_one, &of_two, &of_admin}) ASSERT_EQ((*watch)->status, 200);

  ASSERT_EQ(server.ask("admin", "DELETE", "/api/v1/nodes/n1")->status, 200);
  EXPECT_TRUE(of_one->ended);
  EXPECT_FALSE(of_two->ended);
  const auto changed =
      server.ask("admin", "PATCH", "/api/v1/nodes/n2",
                 R"({"metadata":{"annotations":{")" +
                     std::string(identity::kRegistrationAnnotation) + R"(":"sha256:other"}}})",
                 "application/merge-patch+json");
  ASSERT_EQ(changed->status, 200) << changed->text;
  EXPECT_TRUE(of_two->ended);
  server.runtime.advance(60s);
  EXPECT_FALSE(of_admin->ended);
}

// A certificate that expires takes its watches with it.
TEST(WatchRights, EndWithTheCertificate) {
  Certified cluster;
  const auto watch = cluster.watch(cluster.certificate({"joe", {}, {"system:masters"}, {}}),
                                   std::string(kParcelWatch) + "&timeoutSeconds=86400");
  ASSERT_EQ(watch->status, 200);
  cluster.server.runtime.advance(59min);
  EXPECT_FALSE(watch->ended);
  cluster.server.runtime.advance(2min);
  EXPECT_TRUE(watch->ended);
}

// An authority elsewhere (a host cluster) that gives, takes away and falls silent.
class Elsewhere final : public identity::Authenticator {
 public:
  std::optional<Result<identity::UserRef>> authenticate_now(const identity::AuthRequest&) override {
    return std::nullopt;
  }
  Task<Result<identity::UserRef>> authenticate(const identity::AuthRequest& request) override {
    if (request.header("authorization") != "Bearer elsewhere") co_return identity::UserRef();
    if (silent) co_return fail(Code::unavailable, "cannot be asked");
    if (!knows) co_return fail(Code::unauthorized, "not known");
    co_return std::make_shared<const identity::User>(
        identity::User{"jane", {}, {std::string(identity::kViewersGroup)}, {}});
  }
  bool looks_at(std::string_view header) const override { return header == "Authorization"; }
  bool knows = true;
  bool silent = false;
};

// A token that is taken away ends its watches; while nobody can be asked they go on for a minute.
TEST(WatchRights, EndWithTheTokenAndOutliveASilence) {
  auto elsewhere = std::make_shared<Elsewhere>();
  TestServer server({elsewhere});
  const auto watch = server.begin("elsewhere", "GET", kParcelWatch);
  ASSERT_EQ(watch->status, 200) << watch->text;
  elsewhere->silent = true;
  server.runtime.advance(45s);
  EXPECT_FALSE(watch->ended);
  elsewhere->silent = false;
  server.runtime.advance(20s);
  EXPECT_FALSE(watch->ended);
  elsewhere->knows = false;
  server.runtime.advance(11s);
  EXPECT_TRUE(watch->ended);

  elsewhere->knows = true;
  const auto another = server.begin("elsewhere", "GET", kParcelWatch);
  elsewhere->silent = true;
  server.runtime.advance(75s);
  EXPECT_TRUE(another->ended);
}

// A server that stops ends every watch, and those that are opened while it does.
TEST(WatchRights, EndWithTheServer) {
  TestServer server;
  const auto watch = server.begin("viewer", "GET", kParcelWatch);
  EXPECT_FALSE(watch->ended);
  server.api.end_watches();
  server.runtime.settle();
  EXPECT_TRUE(watch->ended);
  EXPECT_TRUE(server.begin("viewer", "GET", kParcelWatch)->ended);
}

}  // namespace
}  // namespace fairlead::apiserver
