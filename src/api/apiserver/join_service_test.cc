#include "api/apiserver/join_service.h"

#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"
#include "api/identity/join_token_secret.h"
#include "api/identity/test_support.h"

namespace fairlead::apiserver {
namespace {

using namespace identity::testing;
using identity::JoinToken;
using identity::JoinTokenRecord;
using identity::PrivateKey;

// A server with an authority, and tokens as its administrator makes them.
struct Cluster {
  MemoryFiles files;
  std::unique_ptr<identity::Authority> authority =
      must(identity::Authority::open(files, {.folder = "pki"}, kNow, seeded(1)));
  TestServer server{{std::make_shared<identity::X509Authenticator>(
      identity::TrustStore({authority->ca().certificate}),
      [this](std::string_view node, std::string_view pin) {
        return server.nodes.key_pin_of(node) == pin;
      })}};
  JoinService service{{.runtime = server.runtime,
                       .catalog = server.catalog,
                       .cache = server.cache,
                       .writer = server.api.writer(),
                       .authority = *authority,
                       .authenticator = server.authenticator},
                      {.burst = 20, .per_second = 1}};
  identity::Random random = seeded(11);

  Cluster() {
    service.set_servers({"https://a:6443", "https://b:6443"});
    server.api.add_path(service);
  }
  std::string token(void (*change)(JoinTokenRecord&) = [](JoinTokenRecord&) {}) {
    const JoinToken made = JoinToken::make(random, authority->ca().certificate.key_pin());
    JoinTokenRecord record = identity::make_record(made, kNow + kDay);
    change(record);
    server.create("/api/v1/namespaces/kube-system/secrets",
                  identity::encode_join_token_secret(record));
    return made.to_string();
  }
  std::unique_ptr<TestExchange> join(std::string token, std::string node, const PrivateKey& key,
                                     std::string certificate = {}) {
    const auto request = must(identity::SigningRequest::make(key, {"system:masters", {"admins"}}));
    auto body = identity::encode_join_request(
        {.token = std::move(token), .node = std::move(node), .signing_request = request.pem()});
    const runtime::PeerInfo peer{.address = "peer",
                                 .tls = true,
                                 .alpn = {},
                                 .certificate = std::move(certificate),
                                 .certificate_trusted = true};
    return server.begin("", "POST", identity::kJoinPath, std::move(body), "application/json", peer);
  }
  static std::string certificate_in(const TestExchange& answer) {
    return must(identity::decode_join_response(answer.text)).certificate;
  }
};

const PrivateKey& key_one() {
  static const PrivateKey key = must(PrivateKey::generate());
  return key;
}
const PrivateKey& key_two() {
  static const PrivateKey key = must(PrivateKey::generate());
  return key;
}

// A token and a key make a Node and a certificate that is that node's, whatever else was asked for.
TEST(JoinService, MakesNodes) {
  Cluster cluster;
  const auto answer = cluster.join(cluster.token(), "n7", key_one());
  ASSERT_EQ(answer->status, 200) << answer->text;
  const auto response = must(identity::decode_join_response(answer->text));
  EXPECT_EQ(response.node, "n7");
  EXPECT_EQ(response.servers, (std::vector<std::string>{"https://a:6443", "https://b:6443"}));
  const auto certificate = must(identity::Certificate::parse_pem(response.certificate));
  EXPECT_EQ(certificate.subject().common_name, "system:node:n7");
  EXPECT_EQ(certificate.subject().organizations, (std::vector<std::string>{"system:nodes"}));
  EXPECT_TRUE(
      identity::check_join_response(response, key_one(), "n7", cluster.authority->ca_pem(), kNow));
  EXPECT_EQ(cluster.server.nodes.key_pin_of("n7"), certificate.key_pin());
}

// The authority's certificate is for everybody, the rest of the paths for nobody.
TEST(JoinService, ShowsTheAuthority) {
  Cluster cluster;
  const auto ca = cluster.server.ask("", "GET", identity::kJoinCaPath);
  EXPECT_EQ(ca->text, cluster.authority->ca_pem());
  EXPECT_EQ(cluster.server.ask("", "GET", identity::kJoinPath)->status, 405);
  EXPECT_EQ(cluster.server.ask("", "POST", identity::kJoinCaPath, "{}")->status, 405);
  EXPECT_EQ(cluster.server.ask("", "POST", identity::kJoinPath, "{}")->status, 400);
  EXPECT_EQ(cluster.server.ask("", "POST", identity::kJoinPath, std::string(70'000, 'x'))->status,
            413);
}

// Unknown, wrong and expired tokens are refused alike; one for another node is refused by name.
TEST(JoinService, RefusesOtherTokens) {
  Cluster cluster;
  const std::string good = cluster.token();
  std::string wrong = good;
  wrong[8] = wrong[8] == 'a' ? 'b' : 'a';
  const std::string expired = cluster.token([](JoinTokenRecord& record) { record.expires = kNow; });
  const std::string unknown = JoinToken::make(seeded(99)).to_string();
  const std::string words = cluster.join(unknown, "n7", key_one())->at("message");
  for (const std::string& token :
       {wrong, expired, unknown, std::string("rubbish"), std::string()}) {
    const auto refused = cluster.join(token, "n7", key_one());
    EXPECT_EQ(refused->status, 401) << token;
    if (token == wrong || token == expired) EXPECT_EQ(refused->at("message"), words);
  }
  const std::string bound = cluster.token([](JoinTokenRecord& record) { record.node = "n8"; });
  EXPECT_EQ(cluster.join(bound, "n7", key_one())->status, 403);
  EXPECT_FALSE(cluster.server.exists("/api/v1/nodes/n7"));
  EXPECT_EQ(cluster.join(bound, "n8", key_one())->status, 200);
}

// A name belongs to the key it was registered with, until the Node is deleted or a token may
// replace it.
TEST(JoinService, ANameBelongsToItsKey) {
  Cluster cluster;
  const std::string token = cluster.token();
  ASSERT_EQ(cluster.join(token, "n7", key_one())->status, 200);
  EXPECT_EQ(cluster.join(token, "n7", key_one())->status, 200);  // the answer was lost: again
  EXPECT_EQ(cluster.join(token, "n7", key_two())->status, 403);
  const std::string replacing =
      cluster.token([](JoinTokenRecord& record) { record.replaces_nodes = true; });
  EXPECT_EQ(cluster.join(replacing, "n7", key_two())->status, 200);
  EXPECT_EQ(cluster.join(token, "n7", key_one())->status, 403);
  ASSERT_EQ(cluster.server.ask("admin", "DELETE", "/api/v1/nodes/n7")->status, 200);
  EXPECT_EQ(cluster.join(token, "n7", key_one())->status, 200);
}

// A node renews by its certificate alone, for itself alone, and no longer once its Node is gone.
TEST(JoinService, RenewsByCertificate) {
  Cluster cluster;
  const std::string first =
      Cluster::certificate_in(*cluster.join(cluster.token(), "n7", key_one()));
  EXPECT_EQ(cluster.join("", "n7", key_one(), first)->status, 200);
  EXPECT_NE(cluster.join("", "n8", key_one(), first)->status, 200);
  EXPECT_FALSE(cluster.server.exists("/api/v1/nodes/n8"));
  ASSERT_EQ(cluster.server.ask("admin", "DELETE", "/api/v1/nodes/n7")->status, 200);
  EXPECT_EQ(cluster.join("", "n7", key_one(), first)->status, 401);
}

// Strangers who try tokens run dry; a node's renewal does not wait for them; time refills.
TEST(JoinService, BoundsAttempts) {
  Cluster cluster;
  const std::string token = cluster.token();
  const std::string certificate = Cluster::certificate_in(*cluster.join(token, "n7", key_one()));
  int refused = 0;
  for (int i = 0; i < 40; ++i)
    refused += cluster.join("rubbish", "n9", key_two())->status == 429 ? 1 : 0;
  EXPECT_EQ(refused, 20);  // 20 at once
  EXPECT_EQ(cluster.join("", "n7", key_one(), certificate)->status, 200);
  // Who has a right token is not held up by those who have none, only by others like themselves.
  EXPECT_EQ(cluster.join(token, "n7", key_one())->status, 200);
  for (int i = 0; i < 40; ++i)
    refused += cluster.join(token, "n7", key_one())->status == 429 ? 1 : 0;
  EXPECT_EQ(refused, 20 + 22);
  cluster.server.runtime.advance(2s);
  EXPECT_EQ(cluster.join(token, "n7", key_one())->status, 200);
}

// What the store holds of a token proves nothing, and a Secret that is no token is none.
TEST(JoinService, TokensAreKeptAsDigests) {
  const JoinToken token = JoinToken::make(seeded(5));
  const JoinTokenRecord record = identity::make_record(token, kNow + kDay, "for tests");
  Json secret = identity::encode_join_token_secret(record);
  const Json text = secret;
  EXPECT_EQ(wire::encode_json(text).find(token.secret), std::string::npos);
  const auto read = identity::decode_join_token_secret(secret);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, token.id);
  EXPECT_EQ(read->description, "for tests");
  wire::find(secret, "metadata")->get_object()["name"] = "join-token-other0";
  EXPECT_FALSE(identity::decode_join_token_secret(secret));
  secret = text;
  secret.get_object()["type"] = "Opaque";
  EXPECT_FALSE(identity::decode_join_token_secret(secret));
  secret = text;
  wire::find(secret, "data")->get_object()["record"] = "!";
  EXPECT_FALSE(identity::decode_join_token_secret(secret));
}

}  // namespace
}  // namespace fairlead::apiserver
