#include "api/identity/authority.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/identity/test_support.h"
#include "api/identity/token.h"
#include "api/identity/user.h"

namespace fairlead::identity {
namespace {

using namespace testing;

AuthorityOptions options() {
  AuthorityOptions result;
  result.folder = "pki";
  result.server_names = {{"api.example"}, {must(Ip::parse("10.0.0.1"))}};
  return result;
}

std::unique_ptr<Authority> opened(MemoryFiles& files, WallTime now = kNow, std::uint64_t seed = 1) {
  return must(Authority::open(files, options(), now, seeded(seed)));
}

std::string served(const Authority& authority) {
  return authority.tls()->current()->certificate_chain;
}

bool names(const Certificate& certificate, std::string_view host) {
  const Names& names = certificate.names();
  if (const Result<Ip> ip = Ip::parse(host))
    return std::ranges::find(names.ips, *ip) != names.ips.end();
  return std::ranges::find(names.dns, host) != names.dns.end();
}

// The first start makes everything, with secrets readable by their owner only.
TEST(Authority, first_start) {
  MemoryFiles files;
  const auto authority = opened(files);
  for (const char* name : {"pki/ca.key", "pki/server.key", "pki/token.key"})
    EXPECT_EQ(files.files.at(name).mode, 0600) << name;
  for (const char* name : {"pki/ca.crt", "pki/server.crt"}) {
    EXPECT_EQ(files.files.at(name).mode, 0644) << name;
    EXPECT_EQ(files.files.at(name).bytes.find("PRIVATE"), std::string::npos);
  }
  const Certificate& server = authority->server_certificate();
  EXPECT_TRUE(TrustStore({authority->ca().certificate}).verify(server, Purpose::server, kNow));
  for (const char* host : {"api.example", "10.0.0.1", "127.0.0.1", "::1", "localhost"})
    EXPECT_TRUE(names(server, host)) << host;
  EXPECT_EQ(served(*authority), server.pem());
  EXPECT_EQ(authority->tls()->current()->alpn, (std::vector<std::string>{"h2", "http/1.1"}));
}

// Later starts change nothing.
TEST(Authority, restart_keeps_everything) {
  MemoryFiles files;
  opened(files);
  const auto before = files.files;
  opened(files, kNow + kDay, 2);
  for (const auto& [name, file] : before) EXPECT_EQ(files.files.at(name).bytes, file.bytes) << name;
}

// A start cut short at any write is completed by the next one.
TEST(Authority, survives_a_cut_first_start) {
  for (int writes = 0; writes < 5; ++writes) {
    MemoryFiles files;
    files.writes_left = writes;
    EXPECT_FALSE(Authority::open(files, options(), kNow, seeded(1))) << writes;
    files.writes_left = 1000;
    const auto authority = opened(files, kNow, 2);
    EXPECT_TRUE(authority->ca().key.matches(authority->ca().certificate));
    EXPECT_TRUE(TrustStore({authority->ca().certificate})
                    .verify(authority->server_certificate(), Purpose::server, kNow));
  }
}

// What cannot be used is named and left alone: an authority is never silently replaced.
TEST(Authority, refuses_damage) {
  struct Case {
    const char* what;
    std::function<void(MemoryFiles&)> damage;
    WallTime now;
  };
  const Case cases[] = {
      {"key lost", [](MemoryFiles& f) { f.files.erase("pki/ca.key"); }, kNow},
      {"key malformed", [](MemoryFiles& f) { f.files["pki/ca.key"].bytes = "x"; }, kNow},
      {"certificate malformed", [](MemoryFiles& f) { f.files["pki/ca.crt"].bytes = "x"; }, kNow},
      {"another key",
       [](MemoryFiles& f) { f.files["pki/ca.key"].bytes = must(make_ca("x").key.pem()); }, kNow},
      {"not an authority",
       [](MemoryFiles& f) {
         f.files["pki/ca.crt"].bytes = f.files["pki/server.crt"].bytes;
         f.files["pki/ca.key"].bytes = f.files["pki/server.key"].bytes;
       },
       kNow},
      {"expired", [](MemoryFiles&) {}, kNow + 3700 * kDay},
      {"short token key", [](MemoryFiles& f) { f.files["pki/token.key"].bytes = "abc\n"; }, kNow},
  };
  for (const Case& c : cases) {
    MemoryFiles files;
    opened(files);
    c.damage(files);
    const auto before = files.files;
    const auto authority = Authority::open(files, options(), c.now, seeded(2));
    ASSERT_FALSE(authority) << c.what;
    EXPECT_NE(authority.error().message.find("pki/"), std::string::npos) << c.what;
    for (const auto& [name, file] : before) EXPECT_EQ(files.files.at(name).bytes, file.bytes);
  }
}

// A lost authority certificate is made again from its key, so that issued certificates stay good.
TEST(Authority, remakes_the_certificate_from_the_key) {
  MemoryFiles files;
  const auto before = opened(files);
  const KeyPair jane = client_of(before->ca(), "jane");
  files.files.erase("pki/ca.crt");
  const auto after = opened(files, kNow, 3);
  EXPECT_EQ(after->ca().certificate.key_pin(), before->ca().certificate.key_pin());
  EXPECT_TRUE(
      TrustStore({after->ca().certificate}).verify(jane.certificate, Purpose::client, kNow));
}

// The server's certificate renews itself in use, at two thirds of its life.
TEST(Authority, renews_the_server_certificate_live) {
  MemoryFiles files;
  const auto authority = opened(files);
  const std::shared_ptr<const runtime::TlsSource> tls = authority->tls();
  const std::string first = tls->current()->certificate_chain;
  EXPECT_FALSE(must(authority->maintain(kNow + 200 * kDay)).server_renewed);
  EXPECT_EQ(tls->current()->certificate_chain, first);
  EXPECT_TRUE(must(authority->maintain(kNow + 250 * kDay)).server_renewed);
  EXPECT_NE(tls->current()->certificate_chain, first);
  EXPECT_EQ(files.files.at("pki/server.crt").bytes, tls->current()->certificate_chain);
  EXPECT_FALSE(must(authority->maintain(kNow + 250 * kDay)).server_renewed);
}

// A new address of the server asks for a new certificate; fewer names do not.
TEST(Authority, reissues_for_new_names) {
  MemoryFiles files;
  const std::string first = served(*opened(files));
  AuthorityOptions more = options();
  more.server_names.ips.push_back(must(Ip::parse("10.0.0.2")));
  const auto authority = must(Authority::open(files, more, kNow, seeded(2)));
  const std::string second = served(*authority);
  EXPECT_NE(second, first);
  EXPECT_TRUE(names(authority->server_certificate(), "10.0.0.2"));
  EXPECT_EQ(served(*opened(files)), second);
}

// A pair that the operator puts there is used, also from another authority, and not overwritten.
TEST(Authority, takes_over_replaced_files) {
  MemoryFiles files;
  const auto authority = opened(files);
  const KeyPair corporate = make_ca("corporate", 9);
  const KeyPair theirs = server_of(corporate, {{"api.example"}, {}}, around_now(kDay, 400 * kDay));
  files.files["pki/server.crt"].bytes = theirs.certificate.pem() + corporate.certificate.pem();
  // Half of the change: the old pair stays in use.
  const std::string before = served(*authority);
  EXPECT_FALSE(authority->maintain(kNow));
  EXPECT_EQ(served(*authority), before);
  files.files["pki/server.key"].bytes = must(theirs.key.pem());
  EXPECT_TRUE(must(authority->maintain(kNow)).server_reloaded);
  EXPECT_EQ(served(*authority), theirs.certificate.pem() + corporate.certificate.pem());
  const Authority::Maintained later = must(authority->maintain(kNow + 350 * kDay));
  EXPECT_FALSE(later.server_renewed || later.server_reloaded);
  EXPECT_EQ(served(*opened(files, kNow, 4)),
            theirs.certificate.pem() + corporate.certificate.pem());
}

// A server certificate of ours from an authority that was replaced is not kept.
TEST(Authority, replaces_a_certificate_of_a_former_authority) {
  MemoryFiles files;
  opened(files);
  files.files.erase("pki/ca.crt");
  files.files.erase("pki/ca.key");
  const auto authority = opened(files, kNow, 5);
  EXPECT_TRUE(TrustStore({authority->ca().certificate})
                  .verify(authority->server_certificate(), Purpose::server, kNow));
}

// Node certificates carry the node's identity whatever the request says, for a limited time.
TEST(Authority, signs_nodes) {
  MemoryFiles files;
  const auto authority = opened(files);
  const SigningRequest request = must(SigningRequest::make(
      must(PrivateKey::generate()), {"fairlead:admin", {"system:masters"}}, {}));
  const Certificate node = must(authority->sign_node(request, "n1", kNow));
  EXPECT_EQ(node.subject(), (Subject{"system:node:n1", {"system:nodes"}}));
  EXPECT_EQ(node.validity().not_after, kNow + kNodeLife);
  EXPECT_FALSE(node.allows(Purpose::server));
  for (const char* bad : {"", "N1", "a b", "-a", "a/b", "a..b"})
    EXPECT_FALSE(authority->sign_node(request, bad, kNow)) << bad;
}

// Credentials in files follow the files, but only to a fitting pair.
TEST(FileTls, reloads) {
  MemoryFiles files;
  const KeyPair ca = make_ca(), first = client_of(ca, "a"), second = client_of(ca, "b");
  const auto put = [&files](const KeyPair& pair) {
    files.files["c"].bytes = pair.certificate.pem();
    files.files["k"].bytes = must(pair.key.pem());
  };
  EXPECT_FALSE(FileTls::open(files, {"c", "k", ""}, {}));
  put(first);
  files.files["ca"].bytes = ca.certificate.pem();
  runtime::TlsCredentials base;
  base.server_name = "api";
  const auto source = must(FileTls::open(files, {"c", "k", "ca"}, base));
  EXPECT_EQ(source->tls()->current()->server_name, "api");
  EXPECT_EQ(source->tls()->current()->trusted_ca, ca.certificate.pem());
  EXPECT_FALSE(must(source->reload()));
  files.files["c"].bytes = second.certificate.pem();
  EXPECT_FALSE(source->reload());
  EXPECT_EQ(source->tls()->current()->certificate_chain, first.certificate.pem());
  put(second);
  EXPECT_TRUE(must(source->reload()));
  EXPECT_EQ(source->tls()->current()->certificate_chain, second.certificate.pem());
}

}  // namespace
}  // namespace fairlead::identity
