// Probes against real servers and programs on this machine.
#include "features/vip/gates/probe.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"
#include "foundation/http/server.h"
#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

// Answers with the status that the path names: /200, /503; /hang never; /host tells 200 to
// "api.example" only; /long has a body without end.
class StatusHandler final : public http::Handler {
 public:
  explicit StatusHandler(runtime::Runtime& runtime) : runtime_(runtime) {}
  Task<void> serve(http::Exchange& exchange) override {
    const std::string path = exchange.request().target;
    seen.push_back(exchange.request().method + " " + path + " " + exchange.request().authority);
    http::Response response;
    if (path == "/hang") {
      (void)co_await runtime::sleep(runtime_, 1h);
    } else if (path == "/long") {
      co_await endless(exchange);
      co_return;
    } else if (path == "/host") {
      response.status = exchange.request().authority == "api.example" ? 200 : 421;
    } else {
      response.status = std::atoi(path.c_str() + 1);
    }
    (void)co_await exchange.respond(std::move(response));
  }
  std::vector<std::string> seen;

 private:
  Task<void> endless(http::Exchange& exchange) {
    http::ResponseHead head{.status = 200, .headers = {}};
    Result<> going = co_await exchange.start(std::move(head));
    while (going) {
      Bytes piece(std::string(1000, 'x'));
      going = co_await exchange.write(std::move(piece));
      if (going) going = co_await runtime::sleep(runtime_, 1ms);
    }
  }
  runtime::Runtime& runtime_;
};

class OneTls final : public runtime::TlsSource {
 public:
  explicit OneTls(runtime::TlsCredentials credentials)
      : current_(std::make_shared<const runtime::TlsCredentials>(std::move(credentials))) {}
  std::shared_ptr<const runtime::TlsCredentials> current() const override { return current_; }

 private:
  std::shared_ptr<const runtime::TlsCredentials> current_;
};

class ProbeTest : public testing::Test {
 protected:
  // Listens on a free port of this machine.
  runtime::Endpoint serve(std::shared_ptr<const runtime::TlsSource> tls = nullptr) {
    auto listener = runtime_.listen({.host = "127.0.0.1", .port = 0}, std::move(tls));
    CHECK(listener.has_value());
    const runtime::Endpoint at = (*listener)->local();
    scope_.spawn(server_.serve(std::move(*listener)));
    return at;
  }
  // What the probe says: "well", or why not.
  std::string ask(GateConfig gate) {
    Probe probe(runtime_, &processes_, std::move(gate));
    const Result<> answer = runtime_.run_until_complete(probe.ask());
    return answer ? "well" : answer.error().message;
  }
  GateConfig web(const runtime::Endpoint& at, std::string path) {
    return {.kind = GateConfig::Kind::http, .endpoint = at, .path = std::move(path), .timeout = 5s};
  }

  runtime::EpollRuntime runtime_;
  runtime::EpollProcesses processes_{runtime_};
  StatusHandler handler_{runtime_};
  http::Server server_{runtime_, handler_};
  runtime::Scope scope_{runtime_};
};

// A port that accepts is well, also by its name; one that nobody listens on is not.
TEST_F(ProbeTest, Tcp) {
  const runtime::Endpoint at = serve();
  EXPECT_EQ(ask({.kind = GateConfig::Kind::tcp, .endpoint = at, .timeout = 5s}), "well");
  runtime::Endpoint nobody;
  {
    auto listener = runtime_.listen({.host = "127.0.0.1", .port = 0}, nullptr);
    nobody = (*listener)->local();
  }
  EXPECT_NE(ask({.kind = GateConfig::Kind::tcp, .endpoint = nobody, .timeout = 5s}).find("refused"),
            std::string::npos);
}

TEST_F(ProbeTest, HttpStatus) {
  const runtime::Endpoint at = serve();
  EXPECT_EQ(ask(web(at, "/200")), "well");
  EXPECT_EQ(ask(web(at, "/302")), "well");
  EXPECT_EQ(ask(web(at, "/404")), "HTTP status 404");
  EXPECT_EQ(ask(web(at, "/503")), "HTTP status 503");
  GateConfig only = web(at, "/401");
  only.status = {200, 401};
  EXPECT_EQ(ask(only), "well");
  only.path = "/204";
  EXPECT_EQ(ask(only), "HTTP status 204");
  EXPECT_EQ(handler_.seen[0], "GET /200 " + at.to_string());
}

TEST_F(ProbeTest, HttpHost) {
  GateConfig gate = web(serve(), "/host");
  EXPECT_EQ(ask(gate), "HTTP status 421");
  gate.host = "api.example";
  EXPECT_EQ(ask(gate), "well");
}

// The status counts, not the body.
TEST_F(ProbeTest, HttpBodyIsNotRead) { EXPECT_EQ(ask(web(serve(), "/long")), "well"); }

// Whoever accepts and says nothing is not well.
TEST_F(ProbeTest, Timeout) {
  GateConfig gate = web(serve(), "/hang");
  gate.timeout = 50ms;
  EXPECT_EQ(ask(gate), "no answer within 50ms");
}

// A certificate must be of the CA and of the name, unless any will do.
TEST_F(ProbeTest, Https) {
  using namespace identity::testing;
  const WallTime now = runtime_.wall_now();
  const identity::Validity validity{now - kDay, now + kDay};
  const identity::KeyPair ca = must(identity::make_authority("probe-ca", validity, seeded(1)));
  const identity::KeyPair other = must(identity::make_authority("other-ca", validity, seeded(2)));
  const identity::KeyPair server = server_of(ca, {.dns = {"api.example"}, .ips = {}}, validity);
  const std::string folder =
      testing::TempDir() + "/probe_test." + std::to_string(runtime_.random());
  ASSERT_TRUE(runtime_.files().make_directories(folder, 0700));
  ASSERT_TRUE(runtime_.files().write_atomically(folder + "/ca", ca.certificate.pem(), 0600));
  ASSERT_TRUE(runtime_.files().write_atomically(folder + "/other", other.certificate.pem(), 0600));
  GateConfig gate = web(serve(std::make_shared<OneTls>(
                            runtime::TlsCredentials{.certificate_chain = server.certificate.pem(),
                                                    .private_key = must(server.key.pem()),
                                                    .alpn = {"h2", "http/1.1"}})),
                        "/200");
  gate.tls = true;
  EXPECT_NE(ask(gate), "well");  // this host does not know the CA
  gate.ca_file = folder + "/ca";
  EXPECT_NE(ask(gate), "well");  // the certificate is not for 127.0.0.1
  gate.host = "api.example:1234";
  EXPECT_EQ(ask(gate), "well");
  gate.ca_file = folder + "/other";
  EXPECT_NE(ask(gate), "well");
  gate.ca_file = folder + "/nothing";
  EXPECT_NE(ask(gate).find("No such file"), std::string::npos);
  gate.ca_file = "";
  gate.host = "";
  gate.insecure = true;
  EXPECT_EQ(ask(gate), "well");
  for (const char* name : {"/ca", "/other"}) (void)runtime_.files().remove(folder + name);
}

TEST_F(ProbeTest, Command) {
  const auto shell = [](const std::string& script, Duration timeout = 10s) {
    return GateConfig{.kind = GateConfig::Kind::command,
                      .command = {"/bin/sh", "-c", script},
                      .timeout = timeout};
  };
  EXPECT_EQ(ask(shell("exit 0")), "well");
  EXPECT_EQ(ask(shell("echo fine; exit 0")), "well");
  EXPECT_EQ(ask(shell("echo out; echo no room >&2; exit 3")), "exit status 3: no room");
  EXPECT_EQ(ask(shell("kill -9 $$")), "signal 9");
  EXPECT_EQ(ask(shell("sleep 1000 & sleep 1000", 50ms)), "killed after 50ms");
  EXPECT_NE(ask({.kind = GateConfig::Kind::command, .command = {"/nonexistent"}}).find("No such"),
            std::string::npos);
}

// Whatever a program writes, the log stays text.
TEST(ShownOutput, IsText) {
  EXPECT_EQ(shown_output("one\ntwo\n\n", 100), "one\ntwo");
  EXPECT_EQ(shown_output("\xC3\xA9 \xff", 100), "?? ?");
  EXPECT_EQ(shown_output("\xC3\xA9", 100), "\xC3\xA9");
  EXPECT_EQ(shown_output("abcdef", 3), "abc");
}

}  // namespace
}  // namespace fairlead::vip
