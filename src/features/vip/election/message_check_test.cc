#include "features/vip/election/message_check.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

const std::string kSelf = "a";

Settings settings() {
  return {.members = {{.name = "a", .address = "10.0.0.1:1", .instance = 11},
                      {.name = "b", .address = "10.0.0.2:1", .instance = 22},
                      {.name = "c", .address = "10.0.0.3:1", .instance = 0}},
          .timing = {}};
}
std::string problem(const std::string& from, const Message& message) {
  const Settings known = settings();
  return message_problem({.self = kSelf, .instance = 11, .settings = known, .term = 1'000}, from,
                         message);
}
Message of_disk(std::uint64_t instance) { return {.incarnation = 1, .instance = instance}; }

// The disk that is known, one that is not known yet, or a sender that tells none.
TEST(MessageCheck, TheKnownDiskIsBelieved) {
  EXPECT_EQ(problem("b", of_disk(22)), "");
  EXPECT_EQ(problem("b", of_disk(0)), "");
  EXPECT_EQ(problem("c", of_disk(33)), "");
  EXPECT_EQ(problem("x", of_disk(44)), "");
}

TEST(MessageCheck, ALostDiskIsNot) {
  EXPECT_EQ(problem("b", of_disk(23)),
            "b has another disk than the members know: it was lost, or another machine uses this "
            "name; `fairlead vip member remove b`, then `fairlead vip member add b 10.0.0.2:1`");
}

TEST(MessageCheck, ACopiedDiskIsNot) {
  EXPECT_EQ(problem("c", of_disk(22)),
            "c has a copy of the disk of b: delete the state folder on the machine that is the "
            "copy");
  EXPECT_EQ(problem("c", of_disk(11)),
            "c has a copy of the disk of a: delete the state folder on the machine that is the "
            "copy");
  const Settings unknown{.members = {{.name = "a", .address = "x"}}, .timing = {}};
  EXPECT_EQ(message_problem({.self = kSelf, .instance = 11, .settings = unknown, .term = 1}, "c",
                            of_disk(11)),
            "c has a copy of this node's disk: delete its state folder");
}

// Wherever in the message the term is.
TEST(MessageCheck, TermsFarAheadAreNot) {
  const std::uint64_t far = 1'000 + kMostTermsAhead + 1;
  const Ip vip = Ip::v4(1);
  const Epoch epoch = make_epoch(static_cast<std::uint32_t>(far), 1);
  const auto raft = [](RaftMessage message) { return Message{.raft = std::move(message)}; };
  const std::vector<Message> all = {
      raft({.term = far}),
      raft({.kind = RaftMessage::Kind::answer_before_vote, .floor = far}),
      raft({.last = {.term = far, .index = 1}}),
      raft({.log = {{.version = {.term = far, .index = 1}, .settings = settings()}}}),
      {.beat = Beat{.members = {.term = far, .index = 1}}},
      {.beat = Beat{.claims = {{vip, epoch}}}},
      {.assignments = {{vip, "b", epoch}}},
      {.assignments_seen = {{vip, epoch}}},
      {.term = far}};
  for (const Message& message : all)
    EXPECT_NE(problem("b", message)
                  .find("b speaks of term 268436457, too far ahead of this node's "
                        "1000: its state is damaged"),
              std::string::npos)
        << problem("b", message);
  EXPECT_EQ(problem("b", raft({.term = far - 1})), "");
  const Settings known = settings();
  const OwnView late{.self = kSelf, .instance = 11, .settings = known, .term = kLastTerm - 5};
  EXPECT_EQ(message_problem(late, "b", raft({.term = kLastTerm})), "");
  EXPECT_NE(message_problem(late, "b", raft({.term = kLastTerm + 1})), "");
}

TEST(MessageCheck, ANodeKnowsThatItIsNotBelieved) {
  const Settings known = settings();
  EXPECT_EQ(own_problem({.self = kSelf, .instance = 11, .settings = known, .term = 1}), "");
  EXPECT_NE(own_problem({.self = kSelf, .instance = 12, .settings = known, .term = 1})
                .find("the members know this node by another disk"),
            std::string::npos);
}

}  // namespace
}  // namespace fairlead::vip
