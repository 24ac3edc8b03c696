#include "api/identity/join.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"

namespace fairlead::identity {
namespace {

using namespace testing;

// A cluster with one token for any node, one for node n1, one that may replace nodes, one expired.
struct Cluster {
  Random random = seeded(11);
  KeyPair ca = make_ca();
  JoinToken any = JoinToken::make(random), for_n1 = JoinToken::make(random);
  JoinToken replacing = JoinToken::make(random), expired = JoinToken::make(random);
  std::vector<JoinTokenRecord> records;
  PrivateKey key = must(PrivateKey::generate());
  SigningRequest signing = must(SigningRequest::make(key, {"ignored", {}}, {}));

  Cluster() {
    records = {make_record(any, kNow + kDay), make_record(for_n1, kNow + kDay),
               make_record(replacing, kNow + kDay), make_record(expired, kNow - 1s)};
    records[1].node = "n1";
    records[2].replaces_nodes = true;
  }
  JoinRequest request(const JoinToken& token, std::string node = "n1") const {
    return {token.to_string(), std::move(node), signing.pem()};
  }
  JoinFacts facts() const {
    JoinFacts result;
    result.tokens = &records;
    result.now = kNow;
    return result;
  }
};

// "granted", or the code of the refusal.
std::string outcome(const JoinRequest& request, const JoinFacts& facts) {
  const Result<JoinGrant> grant = decide_join(request, facts);
  return grant ? "granted" : std::string(code_name(grant.error().code));
}

// A token admits a new node, and only as what it was made for.
TEST(DecideJoin, new_nodes) {
  const Cluster cluster;
  JoinFacts facts = cluster.facts();
  EXPECT_EQ(outcome(cluster.request(cluster.any), facts), "granted");
  EXPECT_EQ(outcome(cluster.request(cluster.for_n1), facts), "granted");
  EXPECT_EQ(outcome(cluster.request(cluster.for_n1, "n2"), facts), "forbidden");
  EXPECT_EQ(outcome(cluster.request(cluster.expired), facts), "unauthorized");
  EXPECT_EQ(outcome(cluster.request(JoinToken::make(seeded(99))), facts), "unauthorized");
  JoinRequest request = cluster.request(cluster.any);
  request.token = "nonsense";
  EXPECT_EQ(outcome(request, facts), "unauthorized");
  for (const char* name : {"", "N1", "a/b", "n1 ", "system:node:n1"})
    EXPECT_EQ(outcome(cluster.request(cluster.any, name), facts), "invalid") << name;
  request = cluster.request(cluster.any);
  request.signing_request = "garbage";
  EXPECT_EQ(outcome(request, facts), "invalid");
  facts.tokens = nullptr;
  EXPECT_EQ(outcome(cluster.request(cluster.any), facts), "unauthorized");
  const JoinGrant grant = must(decide_join(cluster.request(cluster.any), cluster.facts()));
  EXPECT_EQ(grant.node, "n1");
  EXPECT_EQ(grant.key_pin, cluster.signing.key_pin());
  EXPECT_EQ(grant.token_id, cluster.any.id);
}

// A token does not let anyone become a node that exists, except when made for that; a retry is
// fine.
TEST(DecideJoin, registered_names) {
  const Cluster cluster;
  JoinFacts facts = cluster.facts();
  facts.registration = "sha256:another";
  EXPECT_EQ(outcome(cluster.request(cluster.any), facts), "forbidden");
  EXPECT_EQ(outcome(cluster.request(cluster.for_n1), facts), "forbidden");
  EXPECT_EQ(outcome(cluster.request(cluster.replacing), facts), "granted");
  facts.registration = cluster.signing.key_pin();
  EXPECT_EQ(outcome(cluster.request(cluster.any), facts), "granted");
}

// Without a token only the node itself, with its registered certificate, gets a new one.
TEST(DecideJoin, renewal) {
  const Cluster cluster;
  const JoinRequest request{"", "n1", cluster.signing.pem()};
  JoinFacts facts = cluster.facts();
  EXPECT_EQ(outcome(request, facts), "unauthorized");
  const auto peer = [&facts](User user, std::string pin) {
    facts.peer = std::make_shared<const User>(std::move(user));
    facts.peer_key_pin = std::move(pin);
  };
  facts.registration = "sha256:mine";
  peer(node_user("n1"), "sha256:mine");
  EXPECT_EQ(outcome(request, facts), "granted");
  peer(node_user("n2"), "sha256:mine");
  EXPECT_EQ(outcome(request, facts), "forbidden");
  peer({"fairlead:admin", {}, {"system:masters"}, {}}, "sha256:mine");
  EXPECT_EQ(outcome(request, facts), "forbidden");
  peer(node_user("n1"), "sha256:stolen-and-replaced");
  EXPECT_EQ(outcome(request, facts), "forbidden");
  peer(node_user("n1"), "sha256:mine");
  facts.registration = std::nullopt;
  EXPECT_EQ(outcome(request, facts), "forbidden");
}

// Messages survive the wire; wrong shapes are refused; members of the future are ignored.
TEST(JoinMessages, round_trip) {
  const JoinRequest request{"t", "n1", "pem"};
  const JoinRequest read = must(decode_join_request(encode_join_request(request)));
  EXPECT_EQ(read.token, "t");
  EXPECT_EQ(read.node, "n1");
  EXPECT_EQ(read.signing_request, "pem");
  const JoinResponse response{"n1", "c", "ca", {"https://a", "https://b"}};
  const JoinResponse received = must(decode_join_response(encode_join_response(response)));
  EXPECT_EQ(received.servers, response.servers);
  EXPECT_EQ(received.certificate, "c");
  EXPECT_TRUE(decode_join_request(R"({"node":"n","signingRequest":"p","later":[1]})"));
  for (const char* bad : {"", "[]", "{}", R"({"node":1,"signingRequest":"p"})", R"({"node":"n"})",
                          R"({"node":"n","signingRequest":"p","token":{}})"})
    EXPECT_FALSE(decode_join_request(bad)) << bad;
  EXPECT_FALSE(decode_join_request(std::string(100'000, ' ') + "{}"));
  EXPECT_FALSE(decode_join_response(R"({"node":"n","certificate":"c","ca":"a","servers":[1]})"));
}

// The first contact trusts only the authority that the token pins, not whoever answers.
TEST(JoinCa, pin) {
  const KeyPair ca = make_ca(), impostor = make_ca("test-ca", 2);
  const KeyPair leaf = client_of(ca, "x");
  const std::string pin = ca.certificate.key_pin();
  EXPECT_EQ(must(check_ca(impostor.certificate.pem() + ca.certificate.pem(), pin)),
            ca.certificate.pem());
  const auto refused = check_ca(impostor.certificate.pem(), pin);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unauthorized);
  EXPECT_FALSE(check_ca(leaf.certificate.pem(), leaf.certificate.key_pin()));
  EXPECT_FALSE(check_ca("", pin));
}

// A node believes the answer only if the certificate is for its key and name and from its
// authority.
TEST(JoinResponse, checks) {
  const Cluster cluster;
  const auto response_for = [&](const KeyPair& ca, const char* name, const char* group,
                                const SigningRequest& request) {
    const CertificateSpec spec{{name, {group}}, {}, {Purpose::client}, around_now()};
    return JoinResponse{"n1", must(sign(ca, request, spec, seeded(1))).pem(), "", {}};
  };
  const std::string trusted = cluster.ca.certificate.pem();
  const auto accepted = [&](const JoinResponse& response) {
    return check_join_response(response, cluster.key, "n1", trusted, kNow).has_value();
  };
  const SigningRequest other =
      must(SigningRequest::make(must(PrivateKey::generate()), {"n1", {}}, {}));
  EXPECT_TRUE(
      accepted(response_for(cluster.ca, "system:node:n1", "system:nodes", cluster.signing)));
  EXPECT_FALSE(
      accepted(response_for(cluster.ca, "system:node:n2", "system:nodes", cluster.signing)));
  EXPECT_FALSE(accepted(response_for(cluster.ca, "system:node:n1", "dev", cluster.signing)));
  EXPECT_FALSE(accepted(response_for(cluster.ca, "system:node:n1", "system:nodes", other)));
  EXPECT_FALSE(accepted(
      response_for(make_ca("test-ca", 2), "system:node:n1", "system:nodes", cluster.signing)));
}

}  // namespace
}  // namespace fairlead::identity
