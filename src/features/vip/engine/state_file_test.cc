#include "features/vip/engine/state_file.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

EngineState sample() {
  Settings settings{.members = {{"a", "10.0.0.1:10000", 7}, {"b", "10.0.0.2:10000", 0}},
                    .timing = {.lease = 200ms, .renew = 20ms}};
  return {.instance = ~0ull,
          .durable = {.reserved_term = 1'000, .log = {{{}, settings}, {{~0ull, 1}, settings}}}};
}

TEST(StateFile, RoundTrip) { EXPECT_EQ(*decode_state(encode(sample())), sample()); }

TEST(StateFile, SaysWhatIsWrong) {
  const auto wrong = [](std::string_view from, std::string_view to) {
    std::string text = encode(sample());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const Result<EngineState> read = decode_state(text);
    return read ? "read" : read.error().message;
  };
  EXPECT_EQ(wrong("\"version\": 1", "\"version\": 2"), "version: must be 1");
  EXPECT_EQ(wrong("\"1000\"", "\"x\""), "reservedTerm: must be a number, written as text");
  EXPECT_EQ(wrong("\"name\": \"a\"", "\"name\": \"\""), "members: one has no name");
  EXPECT_EQ(wrong("\"200000000\"", "\"20000000\""),
            "lease 20ms: must be at least 4 times renew (20ms), or one late heartbeat ends it");
  EXPECT_FALSE(decode_state(""));
  EXPECT_FALSE(decode_state("[]"));
}

}  // namespace
}  // namespace fairlead::vip
