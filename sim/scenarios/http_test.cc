// The product's HTTP server and client in the virtual world: TLS, HTTP/2, requests and a long
// stream, while the server is killed and cut off. What larger scenarios stand on.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/identity/certificate.h"
#include "foundation/http/client.h"
#include "foundation/http/server.h"
#include "foundation/runtime/runtime.h"
#include "sim/world/faults.h"
#include "sim/world/seeds.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using runtime::TlsCredentials;

class FixedSource final : public runtime::TlsSource {
 public:
  explicit FixedSource(TlsCredentials credentials)
      : credentials_(std::make_shared<const TlsCredentials>(std::move(credentials))) {}
  std::shared_ptr<const TlsCredentials> current() const override { return credentials_; }

 private:
  std::shared_ptr<const TlsCredentials> credentials_;
};

struct Identities {
  std::shared_ptr<const runtime::TlsSource> server;
  std::shared_ptr<const runtime::TlsSource> client;
};

// Made once for all runs: OpenSSL's generator has no seed.
const Identities& identities() {
  static const Identities made = [] {
    const WallTime now = WorldSettings().begins;
    const identity::Validity year{now - 1h, now + 24h * 365};
    const identity::Random random = [n = std::uint64_t{0}]() mutable { return ++n; };
    const identity::KeyPair ca = *identity::make_authority("ca", year, random);
    const identity::CertificateSpec spec{.subject = {.common_name = "server", .organizations = {}},
                                         .names = {.dns = {"server"}, .ips = {}},
                                         .purposes = {identity::Purpose::server},
                                         .validity = year};
    const identity::KeyPair pair = *identity::issue(ca, spec, random);
    TlsCredentials server;
    server.certificate_chain = pair.certificate.pem();
    server.private_key = *pair.key.pem();
    server.alpn = {"h2", "http/1.1"};
    TlsCredentials client;
    client.trusted_ca = ca.certificate.pem();
    client.alpn = {"h2", "http/1.1"};
    return Identities{std::make_shared<FixedSource>(server), std::make_shared<FixedSource>(client)};
  }();
  return made;
}

// /count streams growing numbers, one line each; everything else echoes its target.
class Counting final : public http::Handler {
 public:
  explicit Counting(runtime::Runtime& runtime) : runtime_(runtime) {}
  Task<void> serve(http::Exchange& exchange) override {
    if (exchange.request().target != "/count") {
      http::Response response;
      response.body = {Bytes(exchange.request().target)};
      (void)co_await exchange.respond(std::move(response));
      co_return;
    }
    http::ResponseHead head;
    Result<> sent = co_await exchange.start(std::move(head));
    for (unsigned i = 0; sent; ++i) {
      sent = co_await exchange.write(Bytes(std::to_string(i) + "\n"));
      if (sent) sent = co_await runtime::sleep(runtime_, 100ms);
    }
  }

 private:
  runtime::Runtime& runtime_;
};

Task<void> serve(Machine& machine) {
  Counting handler(machine);
  http::Server server(machine, handler);
  Result<std::unique_ptr<runtime::Listener>> listener =
      machine.listen({.host = "0.0.0.0", .port = 443}, identities().server);
  CHECK(listener.has_value());
  co_await server.serve(std::move(*listener));
}

struct Seen {
  unsigned answers = 0;
  unsigned failures = 0;
  unsigned lines = 0;
  unsigned streams = 0;
  std::string wrong;
};

http::ClientOptions client_options() {
  http::ClientOptions options;
  options.endpoints = {{.host = "server", .port = 443}};
  options.tls = identities().client;
  options.connect_time = 2s;
  options.ping_interval = 2s;
  options.ping_time = 2s;
  return options;
}

Task<Result<>> follow_count(http::Client& client, Seen& seen) {
  http::Request request;
  request.target = "/count";
  FL_CO_TRY(const std::unique_ptr<http::ClientStream> stream,
            co_await client.open(std::move(request)));
  FL_CO_CHECKED(co_await stream->head());
  ++seen.streams;
  std::string text;
  std::size_t at = 0;
  for (unsigned next = 0;;) {
    FL_CO_TRY(const std::optional<Bytes> piece, co_await stream->read());
    if (!piece) co_return Result<>{};
    text.append(piece->view());
    for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      if (text.substr(at, end - at) != std::to_string(next++)) seen.wrong = "a line out of order";
      ++seen.lines;
    }
  }
}

Task<void> follow(Machine& machine, http::Client& client, Seen& seen) {
  for (;;) {
    (void)co_await follow_count(client, seen);
    if (!co_await runtime::sleep(machine, 200ms)) co_return;
  }
}

Task<void> ask(Machine& machine, Seen& seen) {
  http::Client client(machine, client_options());
  runtime::Scope scope(machine);
  scope.spawn(follow(machine, client, seen));
  for (unsigned i = 0;; ++i) {
    http::Request request;
    request.target = "/" + std::to_string(i);
    const Result<http::Response> response =
        co_await runtime::with_timeout(machine, 5s, client.send(request));
    if (!response) {
      ++seen.failures;
    } else if (response->status == 200 && response->body_text() == request.target) {
      ++seen.answers;
    } else {
      seen.wrong = "an answer to another question";
    }
    if (!co_await runtime::sleep(machine, 50ms)) co_return;
  }
}

Result<> talk_through_faults(World& world) {
  Seen& seen = world.own<Seen>();
  world.add_machine("server").start(serve);
  world.add_machine("client").start([&seen](Machine& m) { return ask(m, seen); });
  FaultSettings faults;
  faults.machines = {"server", "client"};
  faults.begin = 2s;
  faults.end = 30s;
  faults.lasting = {.least = 50ms, .spread = 4s};
  world.own<Nemesis>(world, faults);
  world.run_for(45s);
  const Seen at_heal = seen;
  world.run_for(15s);
  if (!seen.wrong.empty()) return fail(Code::internal, seen.wrong);
  if (at_heal.lines == 0 || at_heal.answers < 50)
    return fail(Code::internal, "hardly anything was said");
  if (seen.answers < at_heal.answers + 200 || seen.lines < at_heal.lines + 100 ||
      seen.failures != at_heal.failures)
    return fail(Code::internal, "not well again after the faults");
  return {};
}

// Answers belong to their questions, streams keep their order, and after the faults all is well.
TEST(HttpInTheWorld, SurvivesFaults) {
  EXPECT_TRUE(run_seeds({.count = 15, .cost = 10}, talk_through_faults));
}

}  // namespace
}  // namespace fairlead::sim
