#include "features/vip/gates/health_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::vip {
namespace {

// The states after each answer: + good, - bad; U unknown, W well, S sick.
std::string states(int rise, int fall, const std::string& answers) {
  HealthGate gate(rise, fall);
  std::string text;
  for (const char answer : answers) {
    const HealthGate::State before = gate.state();
    const bool changed = gate.answered(answer == '+');
    EXPECT_EQ(changed, gate.state() != before);
    text += "UWS"[static_cast<int>(gate.state())];
  }
  return text;
}

TEST(HealthGate, CountsAnswersInARow) {
  struct Row {
    int rise, fall;
    const char* answers;
    const char* states;
  };
  const std::vector<Row> rows{
      {2, 3, "", ""},         {2, 3, "+", "W"},            // the first answer decides alone
      {2, 3, "-", "S"},       {2, 3, "+--+--", "WWWWWW"},  // a good answer begins the count anew
      {2, 3, "+---", "WWWS"}, {2, 3, "+---+-+-++", "WWWSSSSSSW"},  // so does a bad one
      {1, 1, "+-+-", "WSWS"}, {3, 1, "-++-+++", "SSSSSSW"},
  };
  for (const Row& row : rows) EXPECT_EQ(states(row.rise, row.fall, row.answers), row.states);
}

// Around the interval, never far from it, and not always the same.
TEST(HealthGate, Jitter) {
  EXPECT_EQ(jittered(1s, 0), 900ms);
  EXPECT_EQ(jittered(1s, 200'000'000), 1100ms);
  EXPECT_EQ(jittered(1s, 200'000'001), 900ms);
  EXPECT_EQ(jittered(Duration(5), 7), Duration(5));
}

}  // namespace
}  // namespace fairlead::vip
