#include "api/identity/authenticator.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"

namespace fairlead::identity {
namespace {

using namespace testing;
using Fields = std::vector<std::pair<std::string, std::string>>;

struct Asked {
  Asked(std::string certificate, Fields header_fields, WallTime at = kNow)
      : headers(std::move(header_fields)), now(at) {
    peer.certificate = std::move(certificate);
  }
  runtime::PeerInfo peer;
  Fields headers;
  WallTime now;
};

Result<UserRef> ask(Authenticator& authenticator, const Asked& asked) {
  std::optional<Result<UserRef>> outcome =
      authenticator.authenticate_now({&asked.peer, asked.headers, asked.now});
  EXPECT_TRUE(outcome.has_value());
  return outcome ? std::move(*outcome) : fail(Code::internal, "no answer");
}

// The user's name, "-" when no opinion, "401" when refused.
std::string name_of(const Result<UserRef>& outcome) {
  if (!outcome) return outcome.error().code == Code::unauthorized ? "401" : "error";
  return *outcome ? (*outcome)->name : "-";
}

// A certificate of the trusted authority is a user with groups; everything else is refused.
TEST(X509Authenticator, judges_certificates) {
  const KeyPair ca = make_ca(), foreign = make_ca("test-ca", 2);
  X509Authenticator authenticator(TrustStore({ca.certificate}));
  struct Case {
    const char* what;
    std::string certificate;
    WallTime now;
    const char* user;
  };
  const std::string jane = client_of(ca, "jane", {"dev"}).certificate.pem();
  const Case cases[] = {
      {"none", "", kNow, "-"},
      {"good", jane, kNow, "jane"},
      {"the same again, from the cache", jane, kNow, "jane"},
      {"expired since", jane, kNow + 31 * kDay, "401"},
      {"valid again for an earlier clock", jane, kNow, "jane"},
      {"foreign", client_of(foreign, "jane").certificate.pem(), kNow, "401"},
      {"server purpose", server_of(ca, {{"x"}, {}}).certificate.pem(), kNow, "401"},
      {"nameless", client_of(ca, "", {"dev"}).certificate.pem(), kNow, "401"},
      {"garbage", "-----BEGIN CERTIFICATE-----\nx\n", kNow, "401"},
      {"the authority itself", ca.certificate.pem(), kNow, "401"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(name_of(ask(authenticator, {c.certificate, {}, c.now})), c.user) << c.what;
  const UserRef user = *ask(authenticator, {jane, {}});
  EXPECT_EQ(user->groups, (std::vector<std::string>{"dev", "system:authenticated"}));
  authenticator.set_trust(TrustStore({foreign.certificate}));
  EXPECT_EQ(name_of(ask(authenticator, {jane, {}})), "401");
}

// Removing a node's registration revokes its certificate at once; other users are not asked about.
TEST(X509Authenticator, registration_revokes_nodes) {
  const KeyPair ca = make_ca();
  const KeyPair node = client_of(ca, "system:node:n1", {"system:nodes"});
  std::string registered = node.certificate.key_pin();
  X509Authenticator authenticator(TrustStore({ca.certificate}),
                                  [&](std::string_view name, std::string_view pin) {
                                    EXPECT_EQ(name, "n1");
                                    return pin == registered;
                                  });
  EXPECT_EQ(name_of(ask(authenticator, {node.certificate.pem(), {}})), "system:node:n1");
  registered = "sha256:other";
  EXPECT_EQ(name_of(ask(authenticator, {node.certificate.pem(), {}})), "401");
  EXPECT_EQ(name_of(ask(authenticator, {client_of(ca, "jane").certificate.pem(), {}})), "jane");
}

// The cache stays within its limit and gives the same answers when it starts over.
TEST(CertificateCache, is_bounded) {
  CertificateCache cache(4);
  int judged = 0;
  for (int i = 0; i < 100; ++i)
    cache.find_or(std::to_string(i), kNow, [&] {
      ++judged;
      return CertificateCache::Entry{around_now(), UserRef(), {}};
    });
  EXPECT_LE(cache.size(), 4u);
  EXPECT_EQ(judged, 100);
}

TokenTable one_token() {
  TokenTable table;
  table.add("good", std::make_shared<const User>(User{"jane", {}, {"system:authenticated"}, {}}));
  return table;
}

// Known tokens are users, unknown ones are refused, other schemes are someone else's business.
TEST(TokenAuthenticator, judges_tokens) {
  const std::string key(43, 'k');
  TokenAuthenticator authenticator(one_token(), key);
  const auto with = [](std::string value, WallTime now = kNow) {
    return Asked("", {{"Accept", "*/*"}, {"authorization", std::move(value)}}, now);
  };
  const std::string node = "Bearer " + make_node_token(key, "n1", kNow + kDay);
  EXPECT_EQ(name_of(ask(authenticator, with("Bearer good"))), "jane");
  EXPECT_EQ(name_of(ask(authenticator, with("Bearer bad"))), "401");
  EXPECT_EQ(name_of(ask(authenticator, with("Basic good"))), "-");
  EXPECT_EQ(name_of(ask(authenticator, with(node))), "system:node:n1");
  EXPECT_EQ(name_of(ask(authenticator, with(node, kNow + kDay))), "401");
  EXPECT_EQ(name_of(ask(authenticator, with(node + "x"))), "401");
  EXPECT_EQ(name_of(ask(authenticator, {"", {}})), "-");
  for (const char* second : {"Bearer good", "Bearer bad", "Basic good"})
    EXPECT_EQ(name_of(ask(authenticator,
                          {"", {{"Authorization", "Bearer good"}, {"authorization", second}}})),
              "401");
  authenticator.set_last(false);
  EXPECT_EQ(name_of(ask(authenticator, with("Bearer bad"))), "-");
}

const Fields kJaneByProxy = {{"x-remote-user", "jane"},
                             {"X-Remote-Group", "dev"},
                             {"X-Remote-Group", "ops"},
                             {"X-Remote-Uid", "u1"},
                             {"X-Remote-Extra-Acme.org%2Fscope", "a"},
                             {"x-remote-extra-acme.org%2fscope", "b"}};

// Identity headers count only from a peer that the request-header authority vouches for.
TEST(RequestHeaderAuthenticator, believes_only_the_proxy) {
  const KeyPair proxy_ca = make_ca("proxy-ca", 3), client_ca = make_ca();
  RequestHeaderOptions options;
  options.trust = TrustStore({proxy_ca.certificate});
  options.allowed_names = {"front-proxy"};
  RequestHeaderAuthenticator authenticator(options);
  struct Case {
    const char* what;
    std::string certificate;
    WallTime now;
    const char* user;
  };
  const std::string proxy = client_of(proxy_ca, "front-proxy").certificate.pem();
  const Case cases[] = {
      {"no certificate", "", kNow, "-"},
      {"proxy", proxy, kNow, "jane"},
      {"proxy, expired", proxy, kNow + 31 * kDay, "-"},
      {"an ordinary client", client_of(client_ca, "front-proxy").certificate.pem(), kNow, "-"},
      {"the right authority, another name", client_of(proxy_ca, "someone").certificate.pem(), kNow,
       "-"},
      {"server purpose", server_of(proxy_ca, {{"x"}, {}}).certificate.pem(), kNow, "-"},
      {"garbage", "x", kNow, "-"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(name_of(ask(authenticator, {c.certificate, kJaneByProxy, c.now})), c.user) << c.what;

  const UserRef jane = *ask(authenticator, {proxy, kJaneByProxy});
  EXPECT_EQ(
      *jane,
      (User{
          "jane", "u1", {"dev", "ops", "system:authenticated"}, {{"acme.org/scope", {"a", "b"}}}}));
  EXPECT_EQ(name_of(ask(authenticator, {proxy, {{"X-Remote-Group", "system:masters"}}})), "-");
  const UserRef stranger =
      *ask(authenticator,
           {proxy,
            {{"X-Remote-User", "system:anonymous"}, {"X-Remote-Group", "system:unauthenticated"}}});
  EXPECT_FALSE(stranger->in_group(kAuthenticatedGroup));
  EXPECT_TRUE(authenticator.looks_at("x-remote-USER"));
  EXPECT_TRUE(authenticator.looks_at("X-Remote-Extra-anything"));
  EXPECT_FALSE(authenticator.looks_at("X-Remote"));
}

// The aggregator's ConfigMap, as kube-apiserver publishes it.
TEST(RequestHeaderAuthenticator, reads_the_config_map) {
  const KeyPair ca = make_ca();
  JsonObject data;
  data["client-ca-file"] = ca.certificate.pem();
  data["requestheader-client-ca-file"] = ca.certificate.pem();
  data["requestheader-allowed-names"] = R"(["front-proxy-client"])";
  data["requestheader-username-headers"] = R"(["X-Remote-User","X-Other"])";
  const auto read = must(decode_aggregator_authentication(data));
  EXPECT_EQ(read.request_header.allowed_names, (std::vector<std::string>{"front-proxy-client"}));
  EXPECT_EQ(read.request_header.username_headers.size(), 2u);
  EXPECT_EQ(read.request_header.group_headers, (std::vector<std::string>{"X-Remote-Group"}));
  EXPECT_FALSE(read.request_header.trust.empty());
  EXPECT_EQ(read.client_ca, ca.certificate.pem());
  // An aggregator that names no uid header does not remove one that its client sent.
  EXPECT_TRUE(read.request_header.uid_headers.empty());
  data["requestheader-uid-headers"] = R"(["X-Remote-Uid"])";
  const auto with_uid = must(decode_aggregator_authentication(data));
  EXPECT_EQ(with_uid.request_header.uid_headers, (std::vector<std::string>{"X-Remote-Uid"}));
  for (const char* bad : {"x", "{}", "[1]"}) {
    data["requestheader-allowed-names"] = bad;
    EXPECT_FALSE(decode_aggregator_authentication(data)) << bad;
  }
}

// The first proof wins; wrong credentials are refused even where anonymous is welcome.
TEST(UnionAuthenticator, order_and_refusal) {
  const KeyPair ca = make_ca(), proxy_ca = make_ca("proxy-ca", 3), foreign = make_ca("f", 4);
  RequestHeaderOptions options;
  options.trust = TrustStore({proxy_ca.certificate});
  const std::vector<std::shared_ptr<Authenticator>> members = {
      std::make_shared<RequestHeaderAuthenticator>(options),
      std::make_shared<X509Authenticator>(TrustStore({ca.certificate})),
      std::make_shared<TokenAuthenticator>(one_token())};
  UnionAuthenticator open(members, true), closed(members, false);
  const std::string joe = client_of(ca, "joe").certificate.pem();
  const std::string proxy = client_of(proxy_ca, "front").certificate.pem();
  const std::string wrong = client_of(foreign, "joe").certificate.pem();
  const Fields good = {{"Authorization", "Bearer good"}}, bad = {{"Authorization", "Bearer bad"}};
  struct Case {
    const char* what;
    Asked asked;
    const char* open;
    const char* closed;
  };
  const Case cases[] = {
      {"nothing", {"", {}}, "system:anonymous", "401"},
      {"token", {"", good}, "jane", "jane"},
      {"wrong token", {"", bad}, "401", "401"},
      {"certificate before token", {joe, good}, "joe", "joe"},
      {"certificate saves a wrong token", {joe, bad}, "joe", "joe"},
      {"token saves a wrong certificate", {wrong, good}, "jane", "jane"},
      {"wrong certificate", {wrong, {}}, "401", "401"},
      {"headers of the proxy", {proxy, kJaneByProxy}, "jane", "jane"},
      {"headers without the proxy", {"", kJaneByProxy}, "system:anonymous", "401"},
      {"headers of an ordinary client", {joe, kJaneByProxy}, "joe", "joe"},
      {"proxy without headers is no user", {proxy, {}}, "401", "401"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(name_of(ask(open, c.asked)), c.open) << c.what;
    EXPECT_EQ(name_of(ask(closed, c.asked)), c.closed) << c.what;
  }
}

// An authenticator that must ask someone else makes the fast path step aside, but only when
// reached.
TEST(UnionAuthenticator, fast_path_steps_aside) {
  class Asking final : public Authenticator {
   public:
    std::optional<Result<UserRef>> authenticate_now(const AuthRequest&) override {
      return std::nullopt;
    }
    Task<Result<UserRef>> authenticate(const AuthRequest&) override {
      co_return std::make_shared<const User>(User{"reviewed", {}, {}, {}});
    }
  };
  auto tokens = std::make_shared<TokenAuthenticator>(one_token());
  tokens->set_last(false);
  UnionAuthenticator both({tokens, std::make_shared<Asking>()}, true);
  const Asked known("", {{"Authorization", "Bearer good"}});
  const Asked unknown("", {{"Authorization", "Bearer other"}});
  EXPECT_EQ(name_of(ask(both, known)), "jane");
  const AuthRequest request{&unknown.peer, unknown.headers, kNow};
  EXPECT_FALSE(both.authenticate_now(request).has_value());

  // Nothing here suspends, so the task runs to its end when resumed once.
  Task<Result<UserRef>> task = both.authenticate(request);
  task.handle().resume();
  EXPECT_EQ(name_of(task.handle().promise().take()), "reviewed");
}

}  // namespace
}  // namespace fairlead::identity
