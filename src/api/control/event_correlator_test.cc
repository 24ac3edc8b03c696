#include "api/control/event_correlator.h"

#include <gtest/gtest.h>

#include <vector>

#include "foundation/base/time_text.h"

namespace fairlead::control {
namespace {

const Instant kStart{1h};
const WallTime kWall = *parse_rfc3339("2026-11-16T05:00:00Z");

// A correlator at a time of its own, and what it says to write.
class EventCorrelatorTest : public ::testing::Test {
 protected:
  static Happening happening(std::string name, std::string message,
                             Happening::Type type = Happening::Type::normal) {
    return {.api_version = "fairlead.dev/v1alpha1",
            .kind = "Mooring",
            .namespace_name = "ns",
            .name = name,
            .uid = "uid-" + name,
            .type = type,
            .reason = type == Happening::Type::warning ? "Failed" : "Done",
            .message = std::move(message)};
  }
  bool observe(const Happening& what, int times = 1) {
    bool sooner = false;
    for (int i = 0; i < times; ++i) sooner |= correlator.observe(what, now, kWall + (now - kStart));
    return sooner;
  }
  // "object: message ×count" of everything that may be written now.
  std::vector<std::string> writes() {
    std::vector<std::string> told;
    while (const auto write = correlator.next(now)) {
      told.push_back(std::string(wire::find_string(write->event, "involvedObject.name")) + ": " +
                     std::string(wire::find_string(write->event, "message")) + " ×" +
                     std::to_string(write->times));
      names.push_back(write->name());
    }
    correlator.due();  // as whoever writes asks how long to wait
    return told;
  }
  using Texts = std::vector<std::string>;

  Instant now = kStart;
  EventLimits limits{.normal = {.per_second = 1, .burst = 2},
                     .warning = {.per_second = 2, .burst = 3},
                     .repeat_interval = 10s,
                     .waiting = 4,
                     .similar = 3,
                     .similar_interval = 10min};
  EventCorrelator correlator{{.component = "tester", .host = "n1"}, limits};
  std::vector<std::string> names;
};

// The Event has everything that kubectl shows, and a name that fits.
TEST_F(EventCorrelatorTest, MakesAWholeEvent) {
  observe(happening(std::string(253, 'x'), "hello"));
  const auto write = correlator.next(now);
  ASSERT_TRUE(write);
  const Json& event = write->event;
  EXPECT_EQ(write->namespace_name(), "ns");
  EXPECT_EQ(write->name().size(), 253u);
  EXPECT_EQ(wire::find_string(event, "apiVersion"), "v1");
  EXPECT_EQ(wire::find_string(event, "kind"), "Event");
  EXPECT_EQ(wire::find_string(event, "involvedObject.kind"), "Mooring");
  EXPECT_EQ(wire::find_string(event, "involvedObject.namespace"), "ns");
  EXPECT_EQ(wire::find_string(event, "type"), "Normal");
  EXPECT_EQ(wire::find_string(event, "reason"), "Done");
  EXPECT_EQ(wire::find_string(event, "source.component"), "tester");
  EXPECT_EQ(wire::find_string(event, "source.host"), "n1");
  EXPECT_EQ(wire::find_string(event, "reportingComponent"), "tester");
  EXPECT_EQ(wire::find_string(event, "firstTimestamp"), "2026-11-16T05:00:00Z");
  EXPECT_EQ(wire::find(event, "count")->to_number<int>(), 1);
}

// What is about a cluster-wide object is told in the namespace default.
TEST_F(EventCorrelatorTest, ClusterWideObjects) {
  Happening about = happening("n1", "hello");
  about.namespace_name.clear();
  observe(about);
  const auto write = correlator.next(now);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->namespace_name(), "default");
  EXPECT_EQ(wire::find(write->event, "involvedObject.namespace"), nullptr);
}

// The same thing again is counted: while it waits, and later in the same Event, not too often.
TEST_F(EventCorrelatorTest, RepeatsAreCounted) {
  observe(happening("a", "same"), 3);
  EXPECT_EQ(writes(), Texts{"a: same ×3"});
  now += 5s;
  EXPECT_TRUE(observe(happening("a", "same"), 2));
  EXPECT_EQ(writes(), Texts{});
  EXPECT_EQ(correlator.due(), kStart + 10s);
  now = kStart + 10s;
  EXPECT_EQ(writes(), Texts{"a: same ×2"});
  EXPECT_EQ(names[0], names[1]);
  EXPECT_FALSE(correlator.due());
}

// Another object of the same name, another text, another source: other Events.
TEST_F(EventCorrelatorTest, NamesTellApart) {
  Happening reborn = happening("a", "one");
  reborn.uid = "another";
  observe(happening("a", "one"));
  observe(reborn);
  now += 1min;
  writes();
  now += 1min;
  observe(happening("a", "two"));
  writes();
  ASSERT_EQ(names.size(), 3u);
  EXPECT_NE(names[0], names[1]);
  EXPECT_NE(names[0], names[2]);
  EventCorrelator elsewhere({.component = "tester", .host = "n2"}, limits);
  elsewhere.observe(happening("a", "one"), now, kWall);
  EXPECT_NE(elsewhere.next(now)->name(), names[0]);
}

// Ordinary events have a burst, then a rate; of those that wait the newest stay.
TEST_F(EventCorrelatorTest, SuccessesAreSampled) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "a" + std::to_string(i);
    observe(happening(name, "made"));
  }
  EXPECT_EQ(correlator.waiting(), 4u);
  EXPECT_EQ(correlator.dropped(), 16u);
  EXPECT_EQ(writes(), (Texts{"a16: made ×1", "a17: made ×1"}));
  EXPECT_EQ(correlator.due(), kStart + 1s);
  now += 1s;
  EXPECT_EQ(writes(), Texts{"a18: made ×1"});
  now += 10s;
  EXPECT_EQ(writes(), Texts{"a19: made ×1"});
}

// Failures have room of their own and go first.
TEST_F(EventCorrelatorTest, FailuresFirst) {
  observe(happening("a", "made"));
  observe(happening("b", "made"));
  observe(happening("c", "made"));
  observe(happening("d", "broken", Happening::Type::warning));
  EXPECT_EQ(writes(), (Texts{"d: broken ×1", "a: made ×1", "b: made ×1"}));
  // While ordinary ones wait for their turn, a failure is news.
  EXPECT_EQ(correlator.due(), kStart + 1s);
  EXPECT_TRUE(observe(happening("e", "broken", Happening::Type::warning)));
  EXPECT_FALSE(observe(happening("f", "made")));
  EXPECT_EQ(writes(), Texts{"e: broken ×1"});
}

// Many texts for one reason about one object end in one Event that shows the latest.
TEST_F(EventCorrelatorTest, SimilarEventsAreCombined) {
  for (int i = 0; i < 6; ++i) {
    observe(happening("a", "try " + std::to_string(i), Happening::Type::warning));
    writes();
    now += 10s;
  }
  ASSERT_EQ(names.size(), 6u);
  EXPECT_EQ(names[3], names[4]);
  EXPECT_EQ(names[4], names[5]);
  EXPECT_NE(names[2], names[3]);
  observe(happening("a", "try 9", Happening::Type::warning));
  EXPECT_EQ(writes(), Texts{"a: (combined from similar events): try 9 ×1"});
  // Another reason, and the same one later, are told in their own words again.
  observe(happening("a", "made"));
  EXPECT_EQ(writes(), Texts{"a: made ×1"});
  now += 1h;
  observe(happening("z", "made"));
  writes();
  observe(happening("a", "try 10", Happening::Type::warning));
  EXPECT_EQ(writes(), Texts{"a: try 10 ×1"});
}

// A long message is cut between characters.
TEST_F(EventCorrelatorTest, LongMessages) {
  std::string text = "x";
  while (text.size() < 2000) text += "ü";
  observe(happening("a", text));
  const auto write = correlator.next(now);
  const std::string_view message = wire::find_string(write->event, "message");
  EXPECT_EQ(message.size(), 1023u);
  EXPECT_TRUE(message.ends_with("ü"));
}

}  // namespace
}  // namespace fairlead::control
