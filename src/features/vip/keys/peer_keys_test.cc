// Agents that agree on keys over real TLS on the loopback.
#include "features/vip/keys/peer_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "api/identity/certificate.h"
#include "features/vip/keys/peer_certificate.h"
#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::vip {
namespace {

// A CA and the certificates it gives.
class Authority {
 public:
  explicit Authority(runtime::Runtime& runtime) : runtime_(runtime), pair_(make()) {}
  std::string pem() const { return pair_.certificate.pem(); }
  identity::KeyPair issue(const std::string& name, Duration ends = 24h) const {
    const WallTime now = runtime_.wall_now();
    Result<identity::KeyPair> pair =
        identity::issue(pair_,
                        {.subject = {name, {}},
                         .names = {.dns = {name}, .ips = {}},
                         .purposes = {identity::Purpose::server, identity::Purpose::client},
                         .validity = {now - 48h, now + ends}},
                        [this] { return runtime_.random(); });
    CHECK(pair.has_value());
    return *pair;
  }

 private:
  identity::KeyPair make() const {
    const WallTime now = runtime_.wall_now();
    Result<identity::KeyPair> pair = identity::make_authority("ca", {now - 72h, now + 720h},
                                                              [this] { return runtime_.random(); });
    CHECK(pair.has_value());
    return *pair;
  }
  runtime::Runtime& runtime_;
  identity::KeyPair pair_;
};

class PeerKeysTest : public testing::Test {
 protected:
  struct Node {
    explicit Node(runtime::Runtime& runtime, runtime::Signal& news)
        : keys(runtime, registry, [&news] { news.notify(); }) {}
    metrics::Registry registry;
    PeerKeys keys;
  };

  PeerKeysTest() { std::filesystem::create_directory(folder_); }
  ~PeerKeysTest() override { std::filesystem::remove_all(folder_); }

  TlsFiles files_of(const std::string& node) const {
    const std::string path = folder_ + "/" + node;
    return {.ca = path + ".ca", .certificate = path + ".crt", .key = path + ".key"};
  }
  void write_files(const std::string& node, const std::string& ca, const identity::KeyPair& pair) {
    const TlsFiles files = files_of(node);
    CHECK(runtime_.files().write_atomically(files.ca, ca, 0600).has_value());
    CHECK(runtime_.files().write_atomically(files.key, *pair.key.pem(), 0600).has_value());
    CHECK(runtime_.files()
              .write_atomically(files.certificate, pair.certificate.pem(), 0600)
              .has_value());
  }
  runtime::Endpoint free_port() {
    auto listener = runtime_.listen({.host = "127.0.0.1", .port = 0}, nullptr);
    CHECK(listener.has_value());
    return (*listener)->local();
  }
  // A node with the certificate of `pair`, which knows the others.
  Node& start(const std::string& name, const std::string& ca, const identity::KeyPair& pair,
              std::map<std::string, runtime::Endpoint> peers) {
    write_files(name, ca, pair);
    nodes_.push_back(std::make_unique<Node>(runtime_, news_));
    Node& node = *nodes_.back();
    const Result<> followed =
        node.keys.follow({.node = name, .listen = at_.at(name), .tls = files_of(name)});
    CHECK(followed.has_value());
    peers.erase(name);
    node.keys.set_peers(peers);
    scope_.spawn(node.keys.run());
    return node;
  }
  // Runs the loop until it is so, for at most some seconds.
  bool eventually(const std::function<bool()>& is_so) {
    for (int i = 0; i < 1'000 && !is_so(); ++i)
      (void)runtime_.run_until_complete(runtime::sleep(runtime_, 10ms));
    return is_so();
  }
  static std::string key(const Node& node, const std::string& peer) {
    const std::map<std::string, std::string> keys = node.keys.keys();
    const auto at = keys.find(peer);
    return at == keys.end() ? "" : at->second;
  }
  static std::string problem(const Node& node, const std::string& peer) {
    for (const PeerKeyReport& one : node.keys.reports())
      if (one.peer == peer) return one.problem;
    return "unknown";
  }
  bool eventually_says(const Node& node, const std::string& peer, const std::string& words) {
    const bool said =
        eventually([&] { return problem(node, peer).find(words) != std::string::npos; });
    EXPECT_TRUE(said) << problem(node, peer);
    return said;
  }

  runtime::EpollRuntime runtime_;
  std::string folder_ = testing::TempDir() + "peer-keys-" + std::to_string(::getpid());
  Authority ca_{runtime_}, foreign_{runtime_};
  runtime::Signal news_;
  std::map<std::string, runtime::Endpoint> at_{
      {"a", free_port()}, {"b", free_port()}, {"c", free_port()}};
  std::vector<std::unique_ptr<Node>> nodes_;
  runtime::Scope scope_{runtime_};
};

TEST_F(PeerKeysTest, EachPairHasAKeyOfItsOwn) {
  Node& a = start("a", ca_.pem(), ca_.issue("a"), at_);
  Node& b = start("b", ca_.pem(), ca_.issue("b"), at_);
  Node& c = start("c", ca_.pem(), ca_.issue("c"), at_);
  ASSERT_TRUE(eventually([&] {
    return a.keys.keys().size() == 2 && b.keys.keys().size() == 2 && c.keys.keys().size() == 2;
  }));
  EXPECT_EQ(key(a, "b"), key(b, "a"));
  EXPECT_EQ(key(a, "c"), key(c, "a"));
  EXPECT_EQ(key(b, "c"), key(c, "b"));
  EXPECT_NE(key(a, "b"), key(a, "c"));
  EXPECT_EQ(problem(a, "b"), "");
  EXPECT_NE(a.registry.expose().find("fairlead_vip_peer_tls_connected{peer=\"b\"} 1"),
            std::string::npos);
}

// A node that no one trusts gets no key, on either side, and both say why.
TEST_F(PeerKeysTest, CertificatesThatDoNotFitAreRefusedWithTheReason) {
  Node& b = start("b", ca_.pem(), ca_.issue("b"), at_);
  Node& a = start("a", ca_.pem(), foreign_.issue("a"), at_);
  eventually_says(b, "a", "refused a connection from 127.0.0.1: a: ");
  eventually_says(a, "b", "it refuses this node: a: ");
  // The dialer does not trust the other.
  Node& c = start("c", foreign_.pem(), foreign_.issue("c"), at_);
  eventually_says(b, "c", "certificate verify failed");
  EXPECT_TRUE(a.keys.keys().empty());
  EXPECT_TRUE(b.keys.keys().empty());
  EXPECT_TRUE(c.keys.keys().empty());
}

TEST_F(PeerKeysTest, AnExpiredCertificateIsRefused) {
  Node& b = start("b", ca_.pem(), ca_.issue("b"), at_);
  Node& a = start("a", ca_.pem(), ca_.issue("a", -1h), at_);
  eventually_says(b, "a", "expired");
  eventually_says(a, "b", "it refuses this node: a: ");
  Node& c = start("c", ca_.pem(), ca_.issue("c", -1h), at_);
  eventually_says(b, "c", "expired");
  EXPECT_TRUE(b.keys.keys().empty());
  EXPECT_TRUE(c.keys.keys().empty());
}

// The right CA is not enough: a member must not speak in another one's name.
TEST_F(PeerKeysTest, AnotherMembersCertificateIsRefused) {
  Node& b = start("b", ca_.pem(), ca_.issue("b"), at_);
  write_files("a", ca_.pem(), ca_.issue("c"));
  const Result<runtime::TlsCredentials> wrong = read_tls(runtime_.files(), files_of("a"), "a");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("must have this node's name, a, among its DNS names; it "
                                       "has c"),
            std::string::npos)
      << wrong.error().message;
  // One that does not look at its own certificate: node c's, in the name of a.
  const Result<runtime::TlsCredentials> as_c = read_tls(runtime_.files(), files_of("a"), "c");
  ASSERT_TRUE(as_c);
  auto credentials = std::make_shared<runtime::TlsCredentials>(*as_c);
  credentials->server_name = "b";
  const auto lie = [&]() -> Task<Result<KeyOffer>> {
    FL_CO_TRY(const std::unique_ptr<runtime::Stream> stream,
              co_await runtime_.connect(at_.at("b"), credentials));
    const KeyOffer offer{
        .from = "a", .to = "b", .part = std::string(kKeyPartBytes, 'x'), .refusal = {}};
    FL_CO_CHECKED(co_await stream->write(encode(offer)));
    std::string bytes(kMostOfferBytes, '\0');
    FL_CO_TRY(const std::size_t got, co_await stream->read(bytes));
    co_return decode_offer(std::string_view(bytes).substr(2, got - 2));
  };
  Result<KeyOffer> answer = fail(Code::unavailable, "not asked");
  ASSERT_TRUE(eventually([&] {  // it may not listen yet
    if (!answer) answer = runtime_.run_until_complete(lie());
    return answer.has_value();
  })) << answer.error().message;
  EXPECT_EQ(answer->refusal, "a: its certificate is not that of a: it has c");
  EXPECT_TRUE(answer->part.empty());
  EXPECT_TRUE(b.keys.keys().empty());
  // And the one that dials: b's place is taken by a node with another member's certificate.
  Node& c = start("c", ca_.pem(), ca_.issue("c"), at_);
  std::map<std::string, runtime::Endpoint> wrong_place{{"a", at_.at("c")}};
  Node stray(runtime_, news_);
  write_files("0", ca_.pem(), ca_.issue("0"));
  ASSERT_TRUE(stray.keys.follow({.node = "0", .listen = free_port(), .tls = files_of("0")}));
  stray.keys.set_peers(wrong_place);
  scope_.spawn(stray.keys.run());
  eventually_says(stray, "a", "mismatch");
  EXPECT_TRUE(stray.keys.keys().empty());
  EXPECT_FALSE(c.keys.keys().contains("0"));
  (void)runtime_.run_until_complete(scope_.close());
}

// New certificates bring new keys; the old ones hold until then.
TEST_F(PeerKeysTest, CertificatesAreReadAgain) {
  Node& a = start("a", ca_.pem(), ca_.issue("a"), at_);
  Node& b = start("b", ca_.pem(), ca_.issue("b"), at_);
  ASSERT_TRUE(eventually([&] { return !key(a, "b").empty() && key(a, "b") == key(b, "a"); }));
  for (const char* node : {"a", "b"}) {
    const std::string before = key(a, "b");
    write_files(node, ca_.pem(), ca_.issue(node));
    ASSERT_TRUE(eventually([&] {
      EXPECT_FALSE(key(a, "b").empty());
      return key(a, "b") != before && key(a, "b") == key(b, "a");
    })) << node;
  }
  // A file that is broken changes nothing, and is told.
  const std::string before = key(a, "b");
  ASSERT_TRUE(runtime_.files().write_atomically(files_of("a").certificate, "nothing", 0600));
  ASSERT_TRUE(eventually([&] {
    return problem(a, "b").find("election.tls.certificate " + files_of("a").certificate) !=
           std::string::npos;
  })) << problem(a, "b");
  EXPECT_EQ(key(a, "b"), before);
}

// A node that is started anew has no key; the other one, that dials, brings one at once.
TEST_F(PeerKeysTest, ANodeThatStartsAnewGetsANewKey) {
  Node& a = start("a", ca_.pem(), ca_.issue("a"), at_);
  std::string before;
  {
    Node b(runtime_, news_);
    write_files("b", ca_.pem(), ca_.issue("b"));
    ASSERT_TRUE(b.keys.follow({.node = "b", .listen = at_.at("b"), .tls = files_of("b")}));
    b.keys.set_peers({{"a", at_.at("a")}});
    runtime::Scope short_life(runtime_);
    short_life.spawn(b.keys.run());
    ASSERT_TRUE(eventually([&] { return !key(b, "a").empty(); }));
    before = key(b, "a");
    runtime_.run_until_complete(short_life.close());
  }
  ASSERT_TRUE(eventually([&] { return problem(a, "b") != ""; }));
  EXPECT_EQ(key(a, "b"), before) << "a lost connection alone ends nothing";
  Node& again = start("b", ca_.pem(), ca_.issue("b"), at_);
  ASSERT_TRUE(
      eventually([&] { return !key(again, "a").empty() && key(a, "b") == key(again, "a"); }));
  EXPECT_NE(key(a, "b"), before);
}

// Strangers that hold connections open, or send garbage, neither get in nor keep members out.
TEST_F(PeerKeysTest, StrangersTakeNoMembersPlace) {
  const std::map<std::string, runtime::Endpoint> elsewhere{
      {"a", {.host = "127.0.0.2", .port = at_.at("a").port}}};
  Node& b = start("b", ca_.pem(), ca_.issue("b"), elsewhere);
  const auto knock =
      [&](const std::string& bytes) -> Task<Result<std::unique_ptr<runtime::Stream>>> {
    FL_CO_TRY(std::unique_ptr<runtime::Stream> stream,
              co_await runtime_.connect(at_.at("b"), nullptr));
    FL_CO_CHECKED(co_await stream->write(bytes));
    co_return stream;
  };
  std::vector<std::unique_ptr<runtime::Stream>> held;
  ASSERT_TRUE(eventually([&] {
    auto one = runtime_.run_until_complete(knock("\x16"));
    if (one) held.push_back(std::move(*one));
    return held.size() >= 40;
  }));
  ASSERT_TRUE(runtime_.run_until_complete(knock("GET / HTTP/1.1\r\n\r\n")));
  // All but eight were turned away at once: reading from them ends.
  std::size_t open = 0;
  for (const auto& stream : held) {
    std::string byte(1, '\0');
    const auto end =
        runtime_.run_until_complete(runtime::with_timeout(runtime_, 50ms, stream->read(byte)));
    if (!end && end.error().code == Code::timeout) ++open;
  }
  EXPECT_LE(open, 8u);
  EXPECT_NE(b.registry.expose().find("fairlead_vip_peer_connections_refused_total"),
            std::string::npos);
  // A member, by its address, gets in beside them.
  b.keys.set_peers({{"a", at_.at("a")}});
  Node& a = start("a", ca_.pem(), ca_.issue("a"), at_);
  EXPECT_TRUE(eventually([&] { return !key(a, "b").empty() && key(a, "b") == key(b, "a"); }));
}

// Who is removed from the members has no key any more.
TEST_F(PeerKeysTest, WhoIsNoMemberHasNoKey) {
  Node& a = start("a", ca_.pem(), ca_.issue("a"), at_);
  Node& b = start("b", ca_.pem(), ca_.issue("b"), at_);
  ASSERT_TRUE(eventually([&] { return !key(a, "b").empty() && !key(b, "a").empty(); }));
  b.keys.set_peers({});
  EXPECT_TRUE(b.keys.keys().empty());
  eventually_says(a, "b", "it refuses this node: a is no member");
}

}  // namespace
}  // namespace fairlead::vip
