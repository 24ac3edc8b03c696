#include "features/vip/election/message_codec.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

Message whole() {
  const Ip four = *Ip::parse("10.0.0.75"), six = *Ip::parse("fd00::75");
  Settings settings{.members = {{"a", "10.0.0.1:10000", 7}, {"b", "[fd00::2]:10000", 0}},
                    .timing = {.lease = 200ms, .renew = 20ms}};
  Message message;
  message.incarnation = ~0ull;
  message.raft = RaftMessage{.kind = RaftMessage::Kind::take_over,
                             .term = 9,
                             .last = {3, 4},
                             .yes = true,
                             .committed = 5,
                             .log = {{{3, 4}, settings}, {{3, 5}, settings}},
                             .floor = 1'000};
  message.beat =
      Beat{.sequence = 1, .members = {3, 4}, .lease = 300ms, .claims = {{four, 1}, {six, 2}}};
  message.answer = BeatAnswer{.sequence = 8,
                              .verdicts = {{},
                                           {.kind = Verdict::Kind::promised, .wait = 5ms},
                                           {.kind = Verdict::Kind::members, .epoch = 3}}};
  message.released = {{six, 4}};
  message.released_all = true;
  message.claim_again = true;
  message.assignments = {{four, "b", 5}, {six, "", 6}};
  message.assignments_seen = {{four, 5}};
  message.offers = {
      {.vip = four,
       .version = 3,
       .withdrawn = true,
       .healthy = false,
       .priority = -5,
       .options = {
           .group = "g", .apart = "x", .preferred = "a", .preempt = false, .preempt_delay = 3s}}};
  message.offers_seen = {{four, 3}};
  message.term = 12;
  message.wishes = {
      {7, {.kind = Wish::Kind::move, .vip = four, .node = "b", .address = {}}},
      {8, {.kind = Wish::Kind::add_member, .vip = {}, .node = "d", .address = "h:1"}}};
  message.wish_answers = {{6, "d does not answer"}, {5, ""}};
  return message;
}

TEST(MessageCodec, RoundTrip) {
  EXPECT_EQ(*decode_message(encode(whole())), whole());
  EXPECT_EQ(*decode_message(encode({})), Message{});
  using Kind = RaftMessage::Kind;
  for (Kind kind = Kind::ask_before_vote; kind <= Kind::take_over;
       kind = static_cast<Kind>(static_cast<int>(kind) + 1)) {
    const Message message{.raft = RaftMessage{.kind = kind}};
    EXPECT_EQ(*decode_message(encode(message)), message);
  }
}

TEST(MessageCodec, EveryCutIsRefusedOrAnotherMessage) {
  const std::string bytes = encode(whole());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<Message> read = decode_message(std::string_view(bytes).substr(0, size));
    if (read) EXPECT_NE(*read, whole());
  }
}

TEST(MessageCodec, WhatIsOutOfRangeIsRefused) {
  const auto refused = [](auto change) {
    Message message = whole();
    change(message);
    return !decode_message(encode(message));
  };
  EXPECT_FALSE(refused([](Message&) {}));
  EXPECT_TRUE(refused([](Message& m) { m.beat->lease = 2h; }));
  EXPECT_TRUE(refused([](Message& m) { m.beat->claims.resize(200); }));
  EXPECT_TRUE(refused([](Message& m) { m.raft->log.resize(17, m.raft->log[0]); }));
  EXPECT_TRUE(refused([](Message& m) { m.raft->log[0].settings.members.clear(); }));
  EXPECT_TRUE(refused([](Message& m) { m.raft->log[0].settings.timing.margin = 0ms; }));
  EXPECT_TRUE(refused([](Message& m) { m.raft->kind = static_cast<RaftMessage::Kind>(99); }));
  EXPECT_TRUE(refused([](Message& m) { m.assignments[0].node = std::string(254, 'x'); }));
}

TEST(MessageCodec, AHeartbeatOfAPageFitsADatagram) {
  Message message;
  message.beat = Beat{.sequence = ~0ull,
                      .members = {~0ull, ~0ull},
                      .lease = 60s,
                      .claims = {},
                      .more = true,
                      .offers = 500};
  for (std::uint32_t i = 0; i < 64; ++i)
    message.beat->claims.push_back({Ip::v4(0x0a000000 + i), make_epoch(1'000'000, i)});
  EXPECT_LE(encode(message).size(), 1'400u);
}

}  // namespace
}  // namespace fairlead::vip
