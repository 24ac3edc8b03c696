#include "features/vip/peers/sessions.h"

#include <gtest/gtest.h>

#include <memory>

namespace fairlead::vip {
namespace {

struct End {
  End(const std::string& name, std::uint64_t incarnation, std::optional<std::string> secret = "s")
      : sessions({.self = {name, incarnation}, .secret = std::move(secret)}) {
    sessions.set_peers({"a", "b"});
  }
  Sessions sessions;
  std::vector<Message> got;
  std::string refused;
};

// Carries a datagram and everything that it leads to.
void carry(End& from, End& to, std::string datagram) {
  End *sender = &from, *receiver = &to;
  for (int i = 0; i < 10; ++i) {
    Sessions::Outcome outcome = receiver->sessions.receive(datagram);
    if (!outcome.refused.empty()) receiver->refused = outcome.refused;
    if (outcome.received) receiver->got.push_back(outcome.received->message);
    if (!outcome.reply) return;
    datagram = outcome.reply->second;
    std::swap(sender, receiver);
  }
  FAIL() << "they never stop greeting";
}

Message beat(std::uint64_t number) {
  return {.incarnation = 1,
          .beat = Beat{.sequence = number, .members = {}, .lease = 1s, .claims = {}}};
}
std::uint64_t last(const End& end) {
  return end.got.empty() || !end.got.back().beat ? 0 : end.got.back().beat->sequence;
}

TEST(Sessions, GreetThenSeal) {
  End a("a", 1), b("b", 2);
  carry(a, b, a.sessions.send("b", beat(1)));  // the greeting instead
  EXPECT_EQ(last(b), 0u);
  EXPECT_TRUE(b.sessions.has_session("a"));
  carry(a, b, a.sessions.send("b", beat(2)));
  EXPECT_EQ(last(b), 2u);
  carry(b, a, b.sessions.send("a", beat(3)));
  EXPECT_EQ(last(a), 3u);
  EXPECT_TRUE(a.sessions.has_session("b"));
}

TEST(Sessions, AnEngineThatStartsAnewGetsANewSession) {
  End a("a", 1), b("b", 2);
  carry(a, b, a.sessions.send("b", {}));
  carry(a, b, a.sessions.send("b", beat(1)));
  const std::string old = a.sessions.send("b", beat(2));
  End again("a", 9);
  carry(again, b, again.sessions.send("b", {}));
  carry(again, b, again.sessions.send("b", beat(3)));
  EXPECT_EQ(last(b), 3u);
  carry(a, b, old);
  EXPECT_EQ(last(b), 3u);
  EXPECT_EQ(b.refused, "a datagram of no session");
  carry(b, again, b.sessions.send("a", beat(4)));
  EXPECT_EQ(last(again), 4u);
}

TEST(Sessions, RecordedGreetingsDisturbNothing) {
  std::vector<std::string> recorded;
  End b("b", 2);
  for (std::uint64_t incarnation = 10; incarnation < 20; ++incarnation) {
    End a("a", incarnation);
    recorded.push_back(a.sessions.send("b", {}));
    carry(a, b, recorded.back());
    carry(a, b, a.sessions.send("b", beat(incarnation)));
    EXPECT_EQ(last(b), incarnation);
    for (const std::string& greeting : recorded) (void)b.sessions.receive(greeting);
    carry(a, b, a.sessions.send("b", beat(incarnation + 100)));
    EXPECT_EQ(last(b), incarnation + 100);
    carry(b, a, b.sessions.send("a", beat(7)));
    EXPECT_EQ(last(a), 7u);
  }
}

TEST(Sessions, StrangersAreRefused) {
  End a("a", 1), b("b", 2);
  End wrong("a", 3, "other secret");
  carry(wrong, b, wrong.sessions.send("b", {}));
  EXPECT_EQ(b.refused, "a greeting that is not signed with this election's secret");
  End stranger("x", 3);
  carry(stranger, b, stranger.sessions.send("b", {}));
  EXPECT_EQ(b.refused, "a greeting of x, which is no member");
  End plain("a", 4, std::nullopt);
  carry(plain, b, plain.sessions.send("b", beat(1)));
  EXPECT_EQ(b.refused, "a datagram without a seal, but this node has a secret");
  carry(a, plain, a.sessions.send("b", beat(1)));
  EXPECT_EQ(plain.refused, "a sealed datagram, but this node has no secret");
  for (const char* garbage : {"", "\x01", "\x02", "\x03", "GET / HTTP/1.1\r\n\r\n"}) {
    b.refused.clear();
    carry(a, b, garbage);
    EXPECT_FALSE(b.refused.empty());
  }
  EXPECT_TRUE(b.got.empty());
}

TEST(Sessions, AFarewellIsTheLastWord) {
  End a("a", 1), b("b", 2);
  EXPECT_FALSE(a.sessions.farewell("b", {.incarnation = 1, .released_all = true}));
  carry(a, b, a.sessions.send("b", {}));
  carry(a, b, a.sessions.send("b", beat(1)));
  carry(b, a, b.sessions.send("a", beat(1)));
  const auto farewell = a.sessions.farewell("b", {.incarnation = 1, .released_all = true});
  ASSERT_TRUE(farewell);
  carry(a, b, a.sessions.send("b", beat(2)));  // made beforehand, sent later
  EXPECT_EQ(last(b), 2u);
  carry(a, b, *farewell);
  EXPECT_TRUE(b.got.back().released_all);
  carry(a, b, a.sessions.send("b", beat(3)));
  EXPECT_TRUE(b.got.back().released_all);
}

TEST(Sessions, WithoutASecretMembersAreBelieved) {
  End a("a", 1, std::nullopt), b("b", 2, std::nullopt), x("x", 3, std::nullopt);
  carry(a, b, a.sessions.send("b", beat(5)));
  EXPECT_EQ(last(b), 5u);
  carry(x, b, x.sessions.send("b", beat(6)));
  EXPECT_EQ(last(b), 5u);
  EXPECT_FALSE(b.sessions.authenticated());
}

}  // namespace
}  // namespace fairlead::vip
