#include "sim/world/tls.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "api/identity/certificate.h"
#include "foundation/runtime/runtime.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using identity::KeyPair;
using runtime::PeerInfo;
using runtime::Stream;
using runtime::TlsCredentials;

const WallTime kBegin = WorldSettings().begins;
const identity::Validity kYear{kBegin - 1h, kBegin + 24h * 365};

identity::Random counter() {
  return [n = std::uint64_t{0}]() mutable { return ++n; };
}

KeyPair authority(const std::string& name) {
  return *identity::make_authority(name, kYear, counter());
}

TlsCredentials credentials(const KeyPair& ca, const std::string& name, identity::Purpose purpose,
                           identity::Validity validity = kYear) {
  const identity::CertificateSpec spec{.subject = {.common_name = name, .organizations = {}},
                                       .names = {.dns = {name}, .ips = {}},
                                       .purposes = {purpose},
                                       .validity = validity};
  const KeyPair pair = *identity::issue(ca, spec, counter());
  TlsCredentials shown;
  shown.certificate_chain = pair.certificate.pem();
  shown.private_key = *pair.key.pem();
  shown.trusted_ca = ca.certificate.pem();
  shown.alpn = {"h2", "http/1.1"};
  return shown;
}

class FixedSource final : public runtime::TlsSource {
 public:
  explicit FixedSource(TlsCredentials credentials)
      : credentials_(std::make_shared<const TlsCredentials>(std::move(credentials))) {}
  std::shared_ptr<const TlsCredentials> current() const override { return credentials_; }

 private:
  std::shared_ptr<const TlsCredentials> credentials_;
};

struct Meeting {
  Result<> served = fail(Code::internal, "not reached");
  Result<> called = fail(Code::internal, "not reached");
  PeerInfo seen_by_server;
  PeerInfo seen_by_client;
  std::string received;
};

Task<void> serve_one(Machine& machine, std::shared_ptr<const runtime::TlsSource> source,
                     Meeting& meeting) {
  auto listener = machine.listen({.host = "0.0.0.0", .port = 443}, source);
  auto accepted = co_await (*listener)->accept();
  Stream& stream = **accepted;
  meeting.served = co_await stream.handshake();
  meeting.seen_by_server = stream.peer();
  if (!meeting.served) co_return;
  std::array<char, 100> buffer;
  const Result<std::size_t> n = co_await stream.read(buffer);
  if (n) meeting.received.assign(buffer.data(), *n);
  co_await runtime::sleep(machine, 1s);
}

Task<void> call_one(Machine& machine, std::shared_ptr<const TlsCredentials> credentials,
                    Meeting& meeting) {
  auto stream = co_await machine.connect({.host = "server", .port = 443}, credentials);
  meeting.called = stream ? Result<>{} : fail(stream.error());
  if (!stream) co_return;
  meeting.seen_by_client = (*stream)->peer();
  co_await (*stream)->write("hello");
  co_await runtime::sleep(machine, 1s);
}

Meeting meet(std::optional<TlsCredentials> server, std::optional<TlsCredentials> client,
             Duration client_wall_offset = Duration(0)) {
  Meeting meeting;
  World world(1);
  std::shared_ptr<const runtime::TlsSource> source;
  if (server) source = std::make_shared<FixedSource>(*server);
  std::shared_ptr<const TlsCredentials> caller;
  if (client) caller = std::make_shared<const TlsCredentials>(*client);
  world.add_machine("server").start(
      [&, source](Machine& m) { return serve_one(m, source, meeting); });
  world.run_for(1ms);
  world.add_machine("client", {.wall_offset = client_wall_offset}).start([&, caller](Machine& m) {
    return call_one(m, caller, meeting);
  });
  world.run_for(500ms);
  return meeting;
}

TlsCredentials plain_caller(const KeyPair& ca) {
  TlsCredentials caller;
  caller.trusted_ca = ca.certificate.pem();
  return caller;
}

// Both sides show certificates of one CA: each sees the other's, trusted, and the protocol agreed
// on.
TEST(Tls, MutualTrust) {
  const KeyPair ca = authority("ca");
  TlsCredentials client = credentials(ca, "client", identity::Purpose::client);
  client.alpn = {"http/1.1", "h2"};
  const Meeting meeting = meet(credentials(ca, "server", identity::Purpose::server), client);
  ASSERT_TRUE(meeting.called) << meeting.called.error().to_string();
  ASSERT_TRUE(meeting.served) << meeting.served.error().to_string();
  EXPECT_EQ(meeting.received, "hello");
  EXPECT_EQ(meeting.seen_by_server.alpn, "h2");
  EXPECT_EQ(meeting.seen_by_client.alpn, "h2");
  EXPECT_TRUE(meeting.seen_by_server.certificate_trusted);
  EXPECT_TRUE(meeting.seen_by_client.certificate_trusted);
  EXPECT_EQ(
      identity::Certificate::parse_pem(meeting.seen_by_server.certificate)->subject().common_name,
      "client");
}

// A client of a foreign CA is let in and marked, so that it can be answered 401.
TEST(Tls, ForeignClientIsMarked) {
  const KeyPair ca = authority("ca");
  TlsCredentials client = credentials(authority("other"), "client", identity::Purpose::client);
  client.trusted_ca = ca.certificate.pem();
  const Meeting meeting = meet(credentials(ca, "server", identity::Purpose::server), client);
  ASSERT_TRUE(meeting.served);
  EXPECT_FALSE(meeting.seen_by_server.certificate.empty());
  EXPECT_FALSE(meeting.seen_by_server.certificate_trusted);
}

// A client without a certificate is a stranger, not an error.
TEST(Tls, ClientWithoutCertificate) {
  const KeyPair ca = authority("ca");
  const Meeting meeting =
      meet(credentials(ca, "server", identity::Purpose::server), plain_caller(ca));
  ASSERT_TRUE(meeting.served);
  EXPECT_EQ(meeting.seen_by_server.certificate, "");
  EXPECT_EQ(meeting.seen_by_server.alpn, "");
}

// The client refuses a server of a foreign CA, of another name, for another purpose, or out of date
// by the client's own clock; both sides fail.
TEST(Tls, ClientRefusesBadServers) {
  const KeyPair ca = authority("ca");
  const auto refused = [&ca](const TlsCredentials& server, Duration offset = Duration(0)) {
    const Meeting meeting = meet(server, plain_caller(ca), offset);
    EXPECT_FALSE(meeting.called);
    EXPECT_FALSE(meeting.served);
    return meeting.called ? Code::internal : meeting.called.error().code;
  };
  const TlsCredentials good = credentials(ca, "server", identity::Purpose::server);
  EXPECT_EQ(refused(credentials(authority("x"), "server", identity::Purpose::server)),
            Code::unavailable);
  EXPECT_EQ(refused(credentials(ca, "else", identity::Purpose::server)), Code::unavailable);
  EXPECT_EQ(refused(credentials(ca, "server", identity::Purpose::client)), Code::unavailable);
  EXPECT_EQ(refused(good, 24h * 400), Code::unavailable);
  EXPECT_EQ(refused(good, -24h), Code::unavailable);
}

// A server name in the credentials replaces the host, and skip_verify accepts anyone, untrusted.
TEST(Tls, ServerNameAndSkipVerify) {
  const KeyPair ca = authority("ca");
  TlsCredentials named = plain_caller(ca);
  named.server_name = "else";
  EXPECT_TRUE(meet(credentials(ca, "else", identity::Purpose::server), named).called);
  TlsCredentials blind;
  blind.skip_verify = true;
  const Meeting meeting = meet(credentials(ca, "else", identity::Purpose::server), blind);
  EXPECT_TRUE(meeting.called);
  EXPECT_FALSE(meeting.seen_by_client.certificate_trusted);
}

// No common protocol, or a key of another certificate: no connection.
TEST(Tls, BadOffers) {
  const KeyPair ca = authority("ca");
  const TlsCredentials server = credentials(ca, "server", identity::Purpose::server);
  TlsCredentials gopher = plain_caller(ca);
  gopher.alpn = {"gopher"};
  EXPECT_FALSE(meet(server, gopher).called);
  TlsCredentials mixed = server;
  mixed.private_key = credentials(ca, "server", identity::Purpose::server).private_key;
  EXPECT_FALSE(meet(mixed, plain_caller(ca)).called);
}

// Plain meets TLS: the TLS side fails, whichever side it is.
TEST(Tls, PlainMeetsTls) {
  const KeyPair ca = authority("ca");
  const Meeting plain_client =
      meet(credentials(ca, "server", identity::Purpose::server), std::nullopt);
  ASSERT_FALSE(plain_client.served);
  EXPECT_EQ(plain_client.served.error().code, Code::unavailable);
  const Meeting plain_server = meet(std::nullopt, plain_caller(ca));
  EXPECT_FALSE(plain_server.called);
}

}  // namespace
}  // namespace fairlead::sim
