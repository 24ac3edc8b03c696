#include "tools/bench/attachment_figures.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

Instant at(int milliseconds) { return Instant(std::chrono::milliseconds(milliseconds)); }

// Three attachments, two of them from the warm-up; the last is still without an interface.
AttachmentFigures figures() {
  AttachmentFigures figures(3);
  figures.warm_up = 2;
  figures.created = 3;
  figures.ready = 2;
  for (int i = 0; i < 3; ++i) {
    Life& life = figures.lives[static_cast<std::size_t>(i)];
    life.due = at(1'000);
    life.created = at(1'010);
    life.addressed = at(1'020);
    if (i < 2) life.ready = at(1'050 + i * 50);
  }
  figures.phases = {{.name = "warm-up", .created = 2, .took = 1s},
                    {.name = "cruise", .created = 1, .took = 2s}};
  return figures;
}

double number(const Json& json, std::string_view path) {
  const Json* value = wire::find(json, path);
  return value && value->is_number() ? value->to_number<double>() : -1;
}

// Each part's stages are counted by themselves; a stage that nobody reached is left out.
TEST(AttachmentFigures, StagesOfBothParts) {
  const Json json = figures().json();
  EXPECT_NEAR(number(json, "milliseconds.warmUp.createToReady.p99"), 100, 1);
  EXPECT_NEAR(number(json, "milliseconds.warmUp.addressedToReady.p50"), 30, 1);
  EXPECT_NEAR(number(json, "milliseconds.cruise.createToAddressed.p50"), 20, 1);
  EXPECT_EQ(wire::find(json, "milliseconds.cruise.createToReady"), nullptr);
  EXPECT_EQ(wire::find(json, "milliseconds.warmUp.createToSeen"), nullptr);
}

// What went wrong is told, not hidden among the figures.
TEST(AttachmentFigures, Errors) {
  AttachmentFigures wrong = figures();
  wrong.lives[0].tested = at(1'200);
  wrong.lives[0].test_status = 3;
  wrong.failed_tests.add("b-0: exit status 3: nobody answered");
  wrong.failed_tests.add("b-1: exit status 2: no interface");
  wrong.duplicates.add("10.0.0.2 of b-1 is also that of b-0");
  wrong.removed = 2;
  wrong.gone = 1;
  wrong.lives[1].wants_test = true;
  wrong.phases[1].stations = 4;
  wrong.phases[1].stations_expected = 6;
  const std::string text = wrong.text();
  for (const char* line :
       {"2 tests failed, the first: b-0: exit status 3: nobody answered",
        "1 addresses were given twice, the first: 10.0.0.2 of b-1",
        "1 deletions were answered and never seen", "1 never got ready",
        "1 tests were never reported", "after the cruise agents carried 4 stations instead of 6"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " is missing in\n" << text;
}

// A watch that broke is what is wrong, not everything that was therefore never seen.
TEST(AttachmentFigures, WithoutAWatchNothingElseIsJudged) {
  AttachmentFigures cut = figures();
  cut.watch_failure = "the server ended the watch";
  EXPECT_EQ(cut.errors(), std::vector<std::string>{"watch: the server ended the watch"});
  EXPECT_EQ(figures().errors(), std::vector<std::string>{"1 never got ready"});
}

// A test without a peer shows only that the guest is there.
TEST(AttachmentFigures, Tests) {
  AttachmentFigures tested = figures();
  tested.lives[0].tested = tested.lives[1].tested = at(1'300);
  tested.lives[1].peer = 0;
  const Json json = tested.json();
  EXPECT_EQ(number(json, "tests.full"), 1);
  EXPECT_EQ(number(json, "tests.half"), 1);
  EXPECT_EQ(number(json, "tests.failed"), 0);
}

}  // namespace
}  // namespace fairlead::bench
