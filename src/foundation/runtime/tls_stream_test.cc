#include "foundation/runtime/tls_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/stream_scenarios.h"
#include "foundation/runtime/test_certificates.h"

namespace fairlead::runtime {
namespace {

// One CA, a server named localhost at 127.0.0.1, and clients good and bad, made once.
struct World {
  TestIdentity ca = make_test_ca("test ca");
  TestIdentity foreign_ca = make_test_ca("foreign ca");
  TestIdentity server = make_test_identity(ca, "server", "DNS:localhost,IP:127.0.0.1");
  TestIdentity client = make_test_identity(ca, "client", "");
  TestIdentity expired = make_test_identity(ca, "expired", "", -10);
  TestIdentity stranger = make_test_identity(foreign_ca, "stranger", "");

  TlsCredentials server_side(const TestIdentity& identity) const {
    return {.certificate_chain = identity.certificate,
            .private_key = identity.private_key,
            .trusted_ca = ca.certificate,
            .server_name = "",
            .alpn = {"h2", "http/1.1"},
            .skip_verify = false};
  }
  TlsCredentials client_side() const {
    TlsCredentials credentials;
    credentials.trusted_ca = ca.certificate;
    return credentials;
  }
  std::shared_ptr<FixedTls> source() const {
    return std::make_shared<FixedTls>(server_side(server));
  }
};

const World& world() {
  static const World made;
  return made;
}

std::shared_ptr<const TlsCredentials> shared(TlsCredentials credentials) {
  return std::make_shared<const TlsCredentials>(std::move(credentials));
}

std::shared_ptr<const TlsCredentials> as_client(const TestIdentity& identity) {
  TlsCredentials credentials = world().client_side();
  credentials.certificate_chain = identity.certificate;
  credentials.private_key = identity.private_key;
  return shared(std::move(credentials));
}

Result<StreamPair> pair_of(EpollRuntime& runtime, std::shared_ptr<const TlsSource> server,
                           std::shared_ptr<const TlsCredentials> client) {
  return runtime.run_until_complete(make_pair(runtime, any_port(), server, client));
}

// Both sides learn who the other is; the protocol is the server's first choice among the client's.
TEST(TlsStream, HandshakeTellsWhoIsThere) {
  EpollRuntime runtime;
  TlsCredentials credentials = *as_client(world().client);
  credentials.alpn = {"http/1.1", "h2"};
  const Result<StreamPair> pair = pair_of(runtime, world().source(), shared(credentials));
  ASSERT_TRUE(pair.has_value()) << outcome(pair);
  EXPECT_TRUE(pair->client->peer().tls);
  EXPECT_EQ(pair->client->peer().alpn, "h2");
  EXPECT_EQ(pair->client->peer().certificate, world().server.certificate);
  EXPECT_TRUE(pair->client->peer().certificate_trusted);
  EXPECT_EQ(pair->server->peer().alpn, "h2");
  EXPECT_EQ(pair->server->peer().certificate, world().client.certificate);
  EXPECT_TRUE(pair->server->peer().certificate_trusted);
  EXPECT_TRUE(pair->server->peer().address.starts_with("127.0.0.1:"));
}

// A client whose certificate is foreign or expired is let in and marked; one without is not marked.
TEST(TlsStream, UntrustedClientsAreToldApart) {
  EpollRuntime runtime;
  for (const TestIdentity* identity : {&world().expired, &world().stranger}) {
    const Result<StreamPair> pair = pair_of(runtime, world().source(), as_client(*identity));
    ASSERT_TRUE(pair.has_value()) << outcome(pair);
    EXPECT_EQ(pair->server->peer().certificate, identity->certificate);
    EXPECT_FALSE(pair->server->peer().certificate_trusted);
  }
  const Result<StreamPair> anonymous =
      pair_of(runtime, world().source(), shared(world().client_side()));
  ASSERT_TRUE(anonymous.has_value()) << outcome(anonymous);
  EXPECT_EQ(anonymous->server->peer().certificate, "");
  EXPECT_FALSE(anonymous->server->peer().certificate_trusted);
}

// The bytes that the texts of certificates stand for.
std::size_t der_bytes(std::string_view pem) {
  std::size_t bytes = 0;
  std::size_t characters = 0;
  while (!pem.empty()) {
    const std::string_view line = pem.substr(0, pem.find('\n'));
    pem.remove_prefix(std::min(pem.size(), line.size() + 1));
    if (line.starts_with("-----BEGIN")) {
      characters = 0;
    } else if (line.starts_with("-----END")) {
      bytes += characters * 3 / 4;
    } else {
      characters += std::min(line.size(), line.find('='));
    }
  }
  return bytes;
}

// Everything that a client shows is counted, whether it is of use or not.
TEST(TlsStream, TheWholeChainIsCounted) {
  EpollRuntime runtime;
  TestIdentity chain = world().stranger;
  chain.certificate += world().foreign_ca.certificate + world().ca.certificate;
  for (const TestIdentity& identity : {world().client, world().stranger, chain}) {
    const Result<StreamPair> pair = pair_of(runtime, world().source(), as_client(identity));
    ASSERT_TRUE(pair.has_value()) << outcome(pair);
    const std::size_t expected = der_bytes(identity.certificate);
    EXPECT_GT(expected, 300u);
    EXPECT_EQ(pair->server->peer().certificate_bytes, expected);
  }
  const Result<StreamPair> anonymous =
      pair_of(runtime, world().source(), shared(world().client_side()));
  EXPECT_EQ(anonymous->server->peer().certificate_bytes, 0u);
}

// Without a CA of its own a server asks for no certificate.
TEST(TlsStream, ServerWithoutCaAsksForNone) {
  EpollRuntime runtime;
  TlsCredentials credentials = world().server_side(world().server);
  credentials.trusted_ca.clear();
  const Result<StreamPair> pair =
      pair_of(runtime, std::make_shared<FixedTls>(credentials), as_client(world().client));
  ASSERT_TRUE(pair.has_value()) << outcome(pair);
  EXPECT_EQ(pair->server->peer().certificate, "");
}

Task<void> accept_for_ever(Runtime& runtime, Listener& listener) {
  Scope scope(runtime);
  for (;;) {
    Result<std::unique_ptr<Stream>> stream = co_await listener.accept();
    if (!stream) co_return;
    (void)co_await (*stream)->handshake();
  }
}

Task<std::string> connect_outcome(Runtime& runtime, std::shared_ptr<const TlsSource> server,
                                  TlsCredentials client, std::string host) {
  const Result<std::unique_ptr<Listener>> listener = runtime.listen(any_port(), server);
  if (!listener) co_return outcome(listener);
  Scope scope(runtime);
  scope.spawn(accept_for_ever(runtime, **listener));
  Endpoint to = (*listener)->local();
  to.host = host;
  const Result<std::unique_ptr<Stream>> stream = co_await runtime.connect(to, shared(client));
  std::string text = outcome(stream);
  // The port differs from run to run.
  const std::string port = ":" + std::to_string(to.port);
  if (const std::size_t at = text.find(port); at != std::string::npos) text.erase(at, port.size());
  (*listener)->close();
  co_await scope.close();
  co_return text;
}

// A client insists on chain, validity and name, and says which of them failed.
TEST(TlsStream, ClientVerifies) {
  EpollRuntime runtime;
  const auto attempt = [&](const TestIdentity& server, TlsCredentials client,
                           const std::string& host) {
    auto source = std::make_shared<FixedTls>(world().server_side(server));
    return runtime.run_until_complete(connect_outcome(runtime, source, std::move(client), host));
  };
  const TlsCredentials plain = world().client_side();
  EXPECT_EQ(attempt(world().server, plain, "127.0.0.1"), "ok");
  EXPECT_EQ(attempt(world().server, plain, "localhost"), "ok");

  TlsCredentials other_name = plain;
  other_name.server_name = "elsewhere.example";
  EXPECT_EQ(attempt(world().server, other_name, "127.0.0.1"),
            "unavailable: TLS handshake with 127.0.0.1: certificate verify failed: "
            "hostname mismatch");
  TlsCredentials other_address = plain;
  other_address.server_name = "127.0.0.2";
  EXPECT_EQ(attempt(world().server, other_address, "127.0.0.1"),
            "unavailable: TLS handshake with 127.0.0.1: certificate verify failed: "
            "IP address mismatch");
  const TestIdentity nameless = make_test_identity(world().ca, "localhost", "");
  EXPECT_EQ(attempt(nameless, plain, "localhost"),
            "unavailable: TLS handshake with 127.0.0.1: certificate verify failed: "
            "hostname mismatch");  // the subject's common name is no name to go by
  TlsCredentials foreign = plain;
  foreign.trusted_ca = world().foreign_ca.certificate;
  EXPECT_EQ(attempt(world().server, foreign, "127.0.0.1"),
            "unavailable: TLS handshake with 127.0.0.1: certificate verify failed: "
            "unable to get local issuer certificate");
  const TestIdentity expired = make_test_identity(world().ca, "server", "IP:127.0.0.1", -10);
  EXPECT_EQ(attempt(expired, plain, "127.0.0.1"),
            "unavailable: TLS handshake with 127.0.0.1: certificate verify failed: "
            "certificate has expired");
  TlsCredentials careless;
  careless.skip_verify = true;
  EXPECT_EQ(attempt(expired, careless, "127.0.0.1"), "ok");
}

// No common application protocol is a failed handshake, not a guess.
TEST(TlsStream, NoCommonProtocol) {
  EpollRuntime runtime;
  TlsCredentials client = world().client_side();
  client.alpn = {"gopher"};
  EXPECT_EQ(
      runtime.run_until_complete(connect_outcome(runtime, world().source(), client, "127.0.0.1")),
      "unavailable: TLS handshake with 127.0.0.1: tlsv1 alert no application protocol");
}

// Credentials that cannot work are refused when listening, with the reason.
TEST(TlsStream, BadCredentialsFailAtStart) {
  EpollRuntime runtime;
  const auto listen_outcome = [&](TlsCredentials credentials) {
    std::string text =
        outcome(runtime.listen(any_port(), std::make_shared<FixedTls>(std::move(credentials))));
    const std::size_t at = text.find("127.0.0.1:");
    return at == std::string::npos ? text : text.substr(text.find(": ", at) + 2);
  };
  TlsCredentials credentials = world().server_side(world().server);
  EXPECT_EQ(listen_outcome({}), "a TLS server needs a certificate");
  credentials.private_key = world().client.private_key;
  EXPECT_EQ(listen_outcome(credentials), "private key: key values mismatch");
  credentials.private_key = "nonsense";
  EXPECT_TRUE(listen_outcome(credentials).starts_with("private key: "));
  credentials = world().server_side(world().server);
  credentials.trusted_ca = credentials.trusted_ca.substr(0, 100);
  EXPECT_TRUE(listen_outcome(credentials).starts_with("trusted CA: "));
  credentials.trusted_ca = world().ca.certificate + world().ca.certificate.substr(0, 200);
  EXPECT_TRUE(listen_outcome(credentials).starts_with("trusted CA: "));
  credentials = world().server_side(world().server);
  credentials.certificate_chain = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(listen_outcome(credentials).starts_with("certificate: "));
}

Task<Result<std::string>> reload(Runtime& runtime, std::shared_ptr<FixedTls> source,
                                 TestIdentity second) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), source));
  Scope scope(runtime);
  scope.spawn(accept_for_ever(runtime, *listener));
  std::string log;
  const auto client = shared(world().client_side());
  for (const std::string step : {"first", "second", "broken"}) {
    if (step == "second") source->replace(world().server_side(second));
    if (step == "broken") source->replace({});
    FL_CO_TRY(const std::unique_ptr<Stream> stream,
              co_await runtime.connect(listener->local(), client));
    const std::string& shown = stream->peer().certificate;
    log += shown == world().server.certificate ? "1" : shown == second.certificate ? "2" : "?";
  }
  listener->close();
  co_await scope.close();
  co_return log;
}

// Each handshake uses the credentials of that moment; ones that do not load leave the former in
// use.
TEST(TlsStream, CredentialsCanBeReplaced) {
  EpollRuntime runtime;
  const TestIdentity second = make_test_identity(world().ca, "second", "IP:127.0.0.1");
  EXPECT_EQ(runtime.run_until_complete(reload(runtime, world().source(), second)), "122");
}

// Contexts are made once per value, however often the value is copied.
TEST(TlsContexts, AreSharedByValue) {
  TlsContexts contexts;
  const auto first = contexts.server(shared(world().server_side(world().server)));
  const auto again = contexts.server(shared(world().server_side(world().server)));
  ASSERT_TRUE(first.has_value() && again.has_value());
  EXPECT_EQ(*first, *again);
  TlsCredentials changed = world().server_side(world().server);
  changed.alpn = {"h2"};
  EXPECT_NE(*contexts.server(shared(changed)), *first);
  EXPECT_NE(*contexts.client(shared(world().server_side(world().server))), *first);
  for (int i = 0; i < 20; ++i) {
    changed.alpn = {"p" + std::to_string(i)};
    ASSERT_TRUE(contexts.server(shared(changed)).has_value());
  }
  EXPECT_NE(*contexts.server(shared(world().server_side(world().server))), *first);  // aged out
}

Task<Result<std::string>> both_ways(Runtime& runtime, std::size_t size) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), world().source(),
                                                      shared(world().client_side())));
  const std::string bytes = pattern(size);
  std::string client_log, server_log;
  Scope scope(runtime);
  scope.spawn(write_and_end(*pair.client, bytes, client_log));
  scope.spawn(write_and_end(*pair.server, bytes, server_log));
  FL_CO_TRY(const std::string at_client, co_await read_all(*pair.client));
  FL_CO_TRY(const std::string at_server, co_await read_all(*pair.server, 1000));
  co_await scope.join();
  if (at_client != bytes || at_server != bytes) co_return fail(Code::corrupt, "bytes differ");
  co_return client_log + " " + server_log;
}

// Large transfers in both directions at once arrive whole and end cleanly.
TEST(TlsStream, LargeTransfersBothWays) {
  EpollRuntime runtime;
  for (const std::size_t size : {0UL, 1UL, 16384UL, 16385UL, 8UL << 20}) {
    const Result<std::string> done = runtime.run_until_complete(both_ways(runtime, size));
    ASSERT_TRUE(done.has_value()) << outcome(done);
    EXPECT_EQ(*done, "ok ok");
  }
}

Task<Result<std::string>> half_close(Runtime& runtime) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), world().source(),
                                                      shared(world().client_side())));
  FL_CO_CHECKED(co_await pair.client->write("question"));
  FL_CO_CHECKED(co_await pair.client->shutdown_write());
  FL_CO_TRY(const std::string question, co_await read_all(*pair.server));
  const std::string answer = pattern(4 << 20);
  std::string log;
  Scope scope(runtime);
  scope.spawn(write_and_end(*pair.server, answer, log));
  FL_CO_TRY(const std::string got, co_await read_all(*pair.client));
  co_await scope.join();
  co_return question + (got == answer ? " answered " : " garbled ") + log;
}

// One side ends its direction and still receives the answer.
TEST(TlsStream, HalfClose) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(half_close(runtime)), "question answered ok");
}

Task<Result<std::string>> many_small(Runtime& runtime, int rounds) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), world().source(),
                                                      shared(world().client_side())));
  for (int i = 0; i < rounds; ++i) {
    const std::string text = "message " + std::to_string(i);
    FL_CO_CHECKED(co_await pair.client->write(text));
    FL_CO_TRY(const std::string got, co_await read_exactly(*pair.server, text.size()));
    FL_CO_CHECKED(co_await pair.server->write(got));
    FL_CO_TRY(const std::string back, co_await read_exactly(*pair.client, text.size()));
    if (back != text) co_return fail(Code::corrupt, back);
  }
  // Several records that arrive together belong to one read.
  FL_CO_CHECKED(co_await pair.client->write("one "));
  FL_CO_CHECKED(co_await pair.client->write("two "));
  FL_CO_CHECKED(co_await pair.client->write("three"));
  FL_CO_CHECKED(co_await sleep(runtime, 2ms));
  std::string buffer(100, '\0');
  FL_CO_TRY(const std::size_t n, co_await pair.server->read(buffer));
  co_return buffer.substr(0, n);
}

// Lockstep exchanges never lose an edge, and a read takes what is there.
TEST(TlsStream, ManySmallMessages) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(many_small(runtime, 500)), "one two three");
}

Task<void> read_into_log(Stream& stream, std::string& log) {
  std::string buffer(100, '\0');
  const Result<std::size_t> n = co_await stream.read(buffer);
  log += n ? "read " + std::to_string(*n) : n.error().to_string();
}
Task<void> write_into_log(Stream& stream, std::string& log) {
  const std::string much(64 << 20, 'w');
  const Result<> written = co_await stream.write(much);
  log += outcome(written);
}

Task<Result<std::string>> close_under(Runtime& runtime) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), world().source(),
                                                      shared(world().client_side())));
  std::string reader, writer;
  Scope scope(runtime);
  scope.spawn(read_into_log(*pair.client, reader));
  scope.spawn(write_into_log(*pair.client, writer));
  FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  pair.client->close();
  pair.client->close();
  co_await scope.join();
  const Result<> after = co_await pair.client->write("x");
  co_return reader + " / " + writer + " / " + outcome(after);
}

// close() wakes the pending read and write with unavailable.
TEST(TlsStream, CloseWakesPendingOperations) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(close_under(runtime)),
            "unavailable: connection closed / unavailable: connection closed / "
            "unavailable: connection closed");
}

Task<Result<std::string>> closed_by_peer(Runtime& runtime) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), world().source(),
                                                      shared(world().client_side())));
  std::string log;
  Scope scope(runtime);
  scope.spawn(read_into_log(*pair.server, log));
  pair.client->close();
  co_await scope.join();
  co_return log;
}

// A closed stream says goodbye: its peer reads an end, not a cut.
TEST(TlsStream, CloseIsACleanEnd) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(closed_by_peer(runtime)), "read 0");
}

// Passes bytes between a client and a server until told to cut both, without any goodbye.
Task<void> relay(Stream& from, Stream& to) {
  std::string buffer(64 << 10, '\0');
  for (;;) {
    const Result<std::size_t> n = co_await from.read(buffer);
    if (!n || *n == 0) co_return;
    const Result<> written = co_await to.write(std::string_view(buffer).substr(0, *n));
    if (!written) co_return;
  }
}

Task<void> relay_one(Runtime& runtime, Listener& front, Endpoint back, Signal& cut) {
  const Result<std::unique_ptr<Stream>> client = co_await front.accept();
  const Result<std::unique_ptr<Stream>> server = co_await runtime.connect(back, nullptr);
  if (!client || !server) co_return;
  Scope scope(runtime);
  scope.spawn(relay(**client, **server));
  scope.spawn(relay(**server, **client));
  (void)co_await cut.wait();
  co_await scope.close();
}

Task<Result<std::string>> cut_in_the_middle(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> back, runtime.listen(any_port(), world().source()));
  FL_CO_TRY(const std::unique_ptr<Listener> front, runtime.listen(any_port(), nullptr));
  Signal cut;
  Scope scope(runtime);
  scope.spawn(relay_one(runtime, *front, back->local(), cut));
  Result<std::unique_ptr<Stream>> server = fail(Code::internal, "not accepted");
  Scope accepting(runtime);
  accepting.spawn(accept_into(*back, server));
  FL_CO_TRY(const std::unique_ptr<Stream> client,
            co_await runtime.connect(front->local(), shared(world().client_side())));
  co_await accepting.join();
  if (!server) co_return fail(server.error());
  FL_CO_CHECKED(co_await client->write("hello"));
  FL_CO_TRY(const std::string hello, co_await read_exactly(**server, 5));
  cut.notify();
  co_await scope.join();
  std::string log;
  co_await read_into_log(**server, log);
  const std::string address = (*server)->peer().address;
  if (const std::size_t at = log.find(address); at != std::string::npos)
    log.replace(at, address.size(), "peer");
  co_return log;
}

// A connection cut without goodbye is an error, not an end: what came may not be all.
TEST(TlsStream, CutIsNotAnEnd) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(cut_in_the_middle(runtime)),
            "unavailable: read from peer: connection cut by the peer");
}

Task<void> handshake_into_log(Stream& stream, std::string& log) {
  const Result<> shaken = co_await stream.handshake();
  log += outcome(shaken);
}

Task<Result<std::string>> silent_client(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), world().source()));
  FL_CO_TRY(const std::unique_ptr<Stream> silent,
            co_await runtime.connect(listener->local(), nullptr));
  FL_CO_TRY(const std::unique_ptr<Stream> first, co_await listener->accept());
  // The handshake waits; another client is served meanwhile.
  std::string log;
  Scope scope(runtime);
  scope.spawn(handshake_into_log(*first, log));
  Result<std::unique_ptr<Stream>> second = fail(Code::internal, "not accepted");
  Scope accepting(runtime);
  accepting.spawn(accept_into(*listener, second));
  FL_CO_TRY(const std::unique_ptr<Stream> quick,
            co_await runtime.connect(listener->local(), shared(world().client_side())));
  co_await accepting.join();
  co_await scope.close();
  const Result<> limited = co_await with_timeout(runtime, 1ms, first->handshake());
  co_return log + " / " + outcome(second) + " / " + outcome(limited);
}

// A client that never speaks holds up nobody; its handshake can be cancelled and timed out.
TEST(TlsStream, SlowHandshake) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(silent_client(runtime)),
            "cancelled: cancelled / ok / timeout: timed out");
}

Task<Result<std::string>> silent_server(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), nullptr));
  const Result<std::unique_ptr<Stream>> stream = co_await with_timeout(
      runtime, 2ms, runtime.connect(listener->local(), shared(world().client_side())));
  co_return outcome(stream);
}

// Connecting to a server that never answers ends with its limit.
TEST(TlsStream, SilentServer) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(silent_server(runtime)), "timeout: timed out");
}

Task<Result<std::string>> speak_plainly(Runtime& runtime, std::string bytes) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), world().source()));
  FL_CO_TRY(const std::unique_ptr<Stream> plain,
            co_await runtime.connect(listener->local(), nullptr));
  FL_CO_CHECKED(co_await plain->write(bytes));
  FL_CO_CHECKED(co_await plain->shutdown_write());
  FL_CO_TRY(const std::unique_ptr<Stream> accepted, co_await listener->accept());
  const Result<> shaken = co_await accepted->handshake();
  co_return outcome(shaken);
}

// Bytes that are no TLS fail the handshake with unavailable.
TEST(TlsStream, GarbageInsteadOfHandshake) {
  EpollRuntime runtime;
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(10'000, '\xff'), std::string("\x16\x03"),
        std::string()}) {
    const Result<std::string> result = runtime.run_until_complete(speak_plainly(runtime, bytes));
    ASSERT_TRUE(result.has_value()) << outcome(result);
    EXPECT_TRUE(result->starts_with("unavailable: TLS handshake with 127.0.0.1:")) << *result;
  }
}

Task<void> connect_and_forget(Runtime& runtime, Endpoint to) {
  (void)co_await runtime.connect(to, shared(world().client_side()));
}

Task<Result<std::string>> destroyed_in_handshake(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), nullptr));
  {
    Scope scope(runtime);
    scope.spawn(connect_and_forget(runtime, listener->local()));
    FL_CO_CHECKED(co_await sleep(runtime, 2ms));
  }
  FL_CO_TRY(const std::unique_ptr<Stream> accepted, co_await listener->accept());
  FL_CO_TRY(const std::string hello, co_await read_all(*accepted));
  co_return hello.empty() ? "nothing" : "hello and end";
}

// The frames of a connect that waits for the server's hello are destroyed where they stand; the
// socket goes with them.
TEST(TlsStream, DestroyedInHandshake) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(destroyed_in_handshake(runtime)), "hello and end");
}

}  // namespace
}  // namespace fairlead::runtime
