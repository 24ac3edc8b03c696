#include "features/vip/peers/sessions.h"

#include <gtest/gtest.h>

#include <memory>

namespace fairlead::vip {
namespace {

struct End {
  End(const std::string& name, std::uint64_t incarnation, std::optional<std::string> secret = "s",
      bool keyed = false)
      : sessions({.self = {name, incarnation}, .secret = std::move(secret), .keyed = keyed}) {
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

// Whoever recorded an engine's greeting and datagrams can send both again when it has ended.
TEST(Sessions, AnEngineThatHasEndedNeverSpeaksAgain) {
  End b("b", 2);
  std::vector<std::string> recorded;
  {
    End a("a", 1);
    recorded.push_back(a.sessions.send("b", {}));
    carry(a, b, recorded.back());
    for (std::uint64_t i = 1; i < 5; ++i) {
      recorded.push_back(a.sessions.send("b", beat(i)));
      carry(a, b, recorded.back());
    }
  }
  End again("a", 9);
  carry(again, b, again.sessions.send("b", {}));
  carry(again, b, again.sessions.send("b", beat(50)));
  EXPECT_EQ(last(b), 50u);
  for (const std::string& datagram : recorded) {
    const Sessions::Outcome outcome = b.sessions.receive(datagram);
    EXPECT_FALSE(outcome.received) << "a recorded datagram was opened";
    EXPECT_FALSE(outcome.refused.empty());
  }
  carry(again, b, again.sessions.send("b", beat(51)));
  EXPECT_EQ(last(b), 51u);
  // Nor after it was no member for a while.
  b.sessions.set_peers({"b"});
  b.sessions.set_peers({"a", "b"});
  for (const std::string& datagram : recorded) EXPECT_FALSE(b.sessions.receive(datagram).received);
  carry(again, b, again.sessions.send("b", beat(52)));
  EXPECT_EQ(last(b), 52u);
}

// Ends that have a key of their own instead of the election's secret.
struct KeyedEnd : End {
  KeyedEnd(const std::string& name, std::uint64_t incarnation)
      : End(name, incarnation, std::nullopt, true) {}
  void key(const std::string& peer, const std::string& secret) {
    sessions.set_keys({{peer, secret}});
  }
};
void greet(End& a, End& b) {
  carry(a, b, a.sessions.send("b", {}));
  carry(a, b, a.sessions.send("b", beat(1)));
  carry(b, a, b.sessions.send("a", beat(1)));
}

TEST(Sessions, WithoutAKeyAPeerIsNeitherHeardNorSpokenTo) {
  KeyedEnd a("a", 1), b("b", 2);
  EXPECT_TRUE(a.sessions.authenticated());
  EXPECT_EQ(a.sessions.send("b", beat(1)), "");
  a.key("b", "k1");
  carry(a, b, a.sessions.send("b", beat(1)));
  EXPECT_EQ(b.refused, "a greeting of a, with which there is no key");
  b.key("a", "other");
  carry(a, b, a.sessions.send("b", beat(1)));
  EXPECT_EQ(b.refused, "a greeting that is not signed with the key of a");
  b.key("a", "k1");
  greet(a, b);
  EXPECT_EQ(last(b), 1u);
  a.sessions.set_keys({});
  EXPECT_FALSE(a.sessions.has_session("b"));
  carry(b, a, b.sessions.send("a", beat(2)));
  EXPECT_EQ(last(a), 1u);
}

// A new key while they talk: no datagram is lost, whoever has it first, and both end up with it.
TEST(Sessions, ANewKeyIsTakenIntoUseWhileTheyTalk) {
  for (const bool a_first : {true, false}) {
    KeyedEnd a("a", 1), b("b", 2);
    a.key("b", "k1");
    b.key("a", "k1");
    greet(a, b);
    (a_first ? a : b).key(a_first ? "b" : "a", "k2");
    std::uint64_t number = 10;
    const auto talk = [&] {
      const std::string late = a.sessions.send("b", beat(++number));
      for (End* end : {static_cast<End*>(&a), static_cast<End*>(&b)}) {
        End& other = end == &a ? static_cast<End&>(b) : a;
        const std::string to = end == &a ? "b" : "a";
        if (const auto probe = end->sessions.probe(to)) carry(*end, other, *probe);
        carry(*end, other, end->sessions.send(to, beat(++number)));
        EXPECT_EQ(last(other), number);
      }
      carry(a, b, late);  // overtaken, and perhaps sealed under the older key
      EXPECT_EQ(last(b), number - 2);
    };
    talk();
    EXPECT_TRUE((a_first ? a : b).sessions.probe(a_first ? "b" : "a"));
    (a_first ? b : a).key(a_first ? "a" : "b", "k2");
    talk();
    talk();
    EXPECT_FALSE(a.sessions.probe("b"));
    EXPECT_FALSE(b.sessions.probe("a"));
    const auto farewell = a.sessions.farewell("b", {.incarnation = 1, .released_all = true});
    ASSERT_TRUE(farewell);
    carry(a, b, *farewell);
    EXPECT_TRUE(b.got.back().released_all);
  }
}

// The key outlives the engine: the next one greets with it, as with a secret.
TEST(Sessions, AnEngineThatStartsAnewUsesTheSameKey) {
  KeyedEnd a("a", 1), b("b", 2);
  a.key("b", "k1");
  b.key("a", "k1");
  greet(a, b);
  KeyedEnd again("a", 3);
  again.key("b", "k1");
  greet(again, b);
  carry(again, b, again.sessions.send("b", beat(7)));
  EXPECT_EQ(last(b), 7u);
}

TEST(Sessions, StrangersAreRefused) {
  End a("a", 1), b("b", 2);
  End wrong("a", 3, "other secret");
  carry(wrong, b, wrong.sessions.send("b", {}));
  EXPECT_EQ(b.refused, "a greeting that is not signed with this election's secret");
  End stranger("x", 3);
  carry(stranger, b, stranger.sessions.send("b", {}));
  EXPECT_EQ(b.refused, "of one that is no member");
  EXPECT_EQ(b.sessions.receive(stranger.sessions.send("b", {})).knock, "x")
      << "it could become one";
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
