#include "api/identity/certificate.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"

namespace fairlead::identity {
namespace {

using namespace testing;

// What a certificate was issued with is what is read back from its text.
TEST(Certificate, says_what_it_was_issued_with) {
  const KeyPair ca = make_ca();
  const Names names{{"api.example", "*.svc"},
                    {must(Ip::parse("10.0.0.1")), must(Ip::parse("fd00::1"))}};
  const KeyPair server = server_of(ca, names);
  const Certificate read = must(Certificate::parse_pem(server.certificate.pem()));
  EXPECT_EQ(read.names(), names);
  EXPECT_EQ(read.subject().common_name, "server");
  EXPECT_EQ(read.validity(), around_now());
  EXPECT_TRUE(read.allows(Purpose::server));
  EXPECT_FALSE(read.allows(Purpose::client));
  EXPECT_FALSE(read.is_authority());
  EXPECT_TRUE(ca.certificate.is_authority());
  EXPECT_EQ(read.fingerprint(), server.certificate.fingerprint());
  EXPECT_EQ(read.serial().size(), 32u);

  const KeyPair client = client_of(ca, "jane", {"ops", "dev"});
  EXPECT_EQ(client.certificate.subject(), (Subject{"jane", {"ops", "dev"}}));
}

// Serials come from the randomness passed in, and differ from call to call.
TEST(Certificate, serial_comes_from_the_given_randomness) {
  const KeyPair ca = make_ca();
  const CertificateSpec spec{{"a", {}}, {}, {Purpose::client}, around_now()};
  Random random = seeded(5);
  const std::string first = must(issue(ca, spec, random)).certificate.serial();
  const std::string second = must(issue(ca, spec, random)).certificate.serial();
  EXPECT_NE(first, second);
  EXPECT_EQ(first, must(issue(ca, spec, seeded(5))).certificate.serial());
}

// Verification refuses every way in which a certificate can be wrong, and says which.
TEST(TrustStore, verifies_chain_time_and_purpose) {
  const KeyPair ca = make_ca(), foreign = make_ca("test-ca", 2);
  const TrustStore trust({ca.certificate});
  const Certificate good = client_of(ca, "jane").certificate;
  struct Case {
    const char* what;
    Certificate certificate;
    Purpose purpose;
    WallTime now;
    bool accepted;
  };
  const Case cases[] = {
      {"good", good, Purpose::client, kNow, true},
      {"first second", good, Purpose::client, kNow - kDay, true},
      {"not yet valid", good, Purpose::client, kNow - 2 * kDay, false},
      {"last second", good, Purpose::client, kNow + 30 * kDay - 1s, true},
      {"expired", good, Purpose::client, kNow + 30 * kDay, false},
      {"wrong purpose", good, Purpose::server, kNow, false},
      {"foreign authority of the same name", client_of(foreign, "jane").certificate,
       Purpose::client, kNow, false},
      {"server as client", server_of(ca, {{"x"}, {}}).certificate, Purpose::client, kNow, false},
      {"another authority itself", foreign.certificate, Purpose::client, kNow, false},
  };
  for (const Case& c : cases) {
    const Result<> verified = trust.verify(c.certificate, c.purpose, c.now);
    EXPECT_EQ(verified.has_value(), c.accepted) << c.what;
    if (!verified) EXPECT_EQ(verified.error().code, Code::unauthorized) << c.what;
  }
  EXPECT_FALSE(TrustStore().verify(good, Purpose::client, kNow));
}

// A client certificate cannot be used to sign further certificates.
TEST(TrustStore, refuses_a_leaf_as_authority) {
  const KeyPair ca = make_ca();
  const KeyPair leaf = client_of(ca, "jane");
  const KeyPair forged = client_of(leaf, "system:admin", {"system:masters"});
  const Certificate chain[] = {leaf.certificate};
  EXPECT_FALSE(
      TrustStore({ca.certificate}).verify(forged.certificate, Purpose::client, kNow, chain));
}

// A changed byte anywhere in the signed part breaks the signature.
TEST(TrustStore, refuses_a_tampered_certificate) {
  const KeyPair ca = make_ca();
  const TrustStore trust({ca.certificate});
  const std::string pem = client_of(ca, "jane").certificate.pem();
  int parsed = 0;
  for (std::size_t i = 60; i < pem.size() - 60; i += 7) {
    std::string changed = pem;
    if (changed[i] == '\n') continue;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const Result<Certificate> certificate = Certificate::parse_pem(changed);
    if (!certificate) continue;
    ++parsed;
    EXPECT_FALSE(trust.verify(*certificate, Purpose::client, kNow)) << i;
  }
  EXPECT_GT(parsed, 10);
}

// A leaf never outlives the authority that signed it.
TEST(Certificate, is_cut_to_the_life_of_its_authority) {
  const KeyPair ca = must(make_authority("short", around_now(kDay, 10 * kDay), seeded(1)));
  const KeyPair leaf = client_of(ca, "jane", {}, around_now(kDay, 300 * kDay));
  EXPECT_EQ(leaf.certificate.validity().not_after, kNow + 10 * kDay);
  const CertificateSpec later{
      {"a", {}}, {}, {Purpose::client}, {kNow + 20 * kDay, kNow + 30 * kDay}};
  EXPECT_FALSE(issue(ca, later, seeded(1)));
}

// A signing request contributes its key and nothing else.
TEST(SigningRequest, only_its_key_enters_the_certificate) {
  const KeyPair ca = make_ca();
  const PrivateKey key = must(PrivateKey::generate());
  const SigningRequest request =
      must(SigningRequest::make(key, {"system:admin", {"system:masters"}}, {{"evil"}, {}}));
  const SigningRequest read = must(SigningRequest::parse_pem(request.pem()));
  EXPECT_EQ(read.subject().common_name, "system:admin");
  const Certificate certificate =
      must(sign(ca, read, {{"jane", {"dev"}}, {}, {Purpose::client}, around_now()}, seeded(3)));
  EXPECT_EQ(certificate.subject(), (Subject{"jane", {"dev"}}));
  EXPECT_TRUE(certificate.names().dns.empty());
  EXPECT_TRUE(key.matches(certificate));
  EXPECT_EQ(certificate.key_pin(), read.key_pin());
}

// A request whose signature was not made with its key proves nothing and is refused.
TEST(SigningRequest, refuses_a_wrong_signature) {
  const SigningRequest request =
      must(SigningRequest::make(must(PrivateKey::generate()), {"n", {}}, {}));
  std::string pem = request.pem();
  const std::size_t end = pem.find("-----END");
  pem[end - 20] = pem[end - 20] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(SigningRequest::parse_pem(pem));
}

// Keys survive their text form, and the pin follows the key, not the certificate.
TEST(PrivateKey, survives_text_and_decides_the_pin) {
  const KeyPair ca = make_ca();
  const PrivateKey read = must(PrivateKey::parse_pem(must(ca.key.pem())));
  EXPECT_TRUE(read.matches(ca.certificate));
  EXPECT_FALSE(must(PrivateKey::generate()).matches(ca.certificate));
  const KeyPair again = must(make_authority("other", around_now(), read, seeded(9)));
  EXPECT_EQ(again.certificate.key_pin(), ca.certificate.key_pin());
  EXPECT_NE(again.certificate.fingerprint(), ca.certificate.fingerprint());
}

// An authority whose certificate was made anew from its key still vouches for what it signed
// before.
TEST(TrustStore, renewed_authority_vouches_for_old_leaves) {
  const KeyPair ca = make_ca("cluster-ca");
  const KeyPair leaf = client_of(ca, "jane");
  const KeyPair renewed = must(make_authority("cluster-ca", around_now(), ca.key, seeded(4)));
  EXPECT_TRUE(TrustStore({renewed.certificate}).verify(leaf.certificate, Purpose::client, kNow));
}

// Bundles are read whole; a malformed member or an empty text is an error.
TEST(Certificate, reads_bundles) {
  const KeyPair a = make_ca("a", 1), b = make_ca("b", 2);
  const std::string bundle = "# comment\n" + a.certificate.pem() + "\n" + b.certificate.pem();
  EXPECT_EQ(must(Certificate::parse_bundle(bundle)).size(), 2u);
  EXPECT_FALSE(Certificate::parse_bundle(""));
  EXPECT_FALSE(Certificate::parse_bundle(bundle + "-----BEGIN CERTIFICATE-----\nAAAA\n"
                                                  "-----END CERTIFICATE-----\n"));
  EXPECT_FALSE(Certificate::parse_pem("garbage"));
  EXPECT_FALSE(PrivateKey::parse_pem("garbage"));
}

// Renewal is due at two thirds of the life, also for lives as long as time itself.
TEST(Certificate, renews_at_two_thirds) {
  const Validity life{kNow, kNow + 30 * kDay};
  EXPECT_FALSE(needs_renewal(life, kNow));
  EXPECT_FALSE(needs_renewal(life, kNow + 20 * kDay - 1s));
  EXPECT_TRUE(needs_renewal(life, kNow + 20 * kDay));
  EXPECT_TRUE(needs_renewal(life, kNow + 40 * kDay));
  EXPECT_FALSE(needs_renewal({kNow, WallTime::max()}, kNow));
}

}  // namespace
}  // namespace fairlead::identity
