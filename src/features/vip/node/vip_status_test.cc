#include "features/vip/node/vip_status.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

ApiVip known(std::string_view status) {
  ApiVip vip{.name = "v", .uid = "u", .created = {}, .generation = 2};
  if (const auto parsed = wire::parse_json(status)) vip.status = parsed->value;
  return vip;
}

VipReport at(std::string holder, bool here) {
  return {.address = "10.0.0.75",
          .interface = "eth0",
          .holder = std::move(holder),
          .epoch = 7,
          .here = here,
          .since = "2030-01-01T00:00:00Z",
          .healthy = true};
}

std::string patch(std::string_view status, const StatusFacts& facts) {
  const std::optional<Json> planned = plan_status_patch(known(status), facts);
  return planned ? wire::encode_json(*wire::find(*planned, "status")) : "nothing";
}

constexpr const char* kTold =
    R"({"holder":"a","epoch":7,"since":"2030-01-01T00:00:00Z","health":"Healthy","fenced":true,)"
    R"("observedGeneration":2,"nodes":{"a":{"state":"Holding","observedGeneration":2}}})";

// A holder tells of itself and its tenure, once.
TEST(VipStatus, OfAHolder) {
  StatusFacts facts{.node = "a", .vip = at("a", true), .fenced = true};
  EXPECT_EQ(patch("null", facts), kTold);
  EXPECT_EQ(patch(kTold, facts), "nothing");
  facts.vip->epoch = 8;
  EXPECT_EQ(patch(kTold, facts), R"({"epoch":8})");
  facts.vip->epoch = 7;
  facts.vip->rival = "02:00:00:00:00:09";
  EXPECT_EQ(patch(kTold, facts), R"({"nodes":{"a":{"rival":"02:00:00:00:00:09"}}})");
  facts.vip->rival.clear();
  facts.fenced = false;
  EXPECT_EQ(patch(kTold, facts), R"({"fenced":false})");
}

// Who holds it is told by the holder; that nobody does, by the last one or by the assigner.
TEST(VipStatus, OfTheOthers) {
  const std::string_view standby =
      R"({"holder":"b","epoch":7,"nodes":{"a":{"state":"Standby","observedGeneration":2}}})";
  StatusFacts facts{.node = "a", .vip = at("b", false)};
  EXPECT_EQ(patch(standby, facts), "nothing");
  facts.vip->holder.clear();
  EXPECT_EQ(patch(standby, facts), "nothing");
  facts.assigns = true;
  EXPECT_EQ(patch(standby, facts), R"({"holder":null})");
  facts.assigns = false;
  const std::string own = patch(kTold, facts);
  EXPECT_EQ(own, R"({"holder":null,"since":null,"health":null,"fenced":null,)"
                 R"("nodes":{"a":{"state":"Standby"}}})");
  // Another one is to hold it, and will say so.
  facts.vip->holder = "b";
  EXPECT_EQ(patch(kTold, facts), R"({"nodes":{"a":{"state":"Standby"}}})");
}

// What a node says of itself, the weightiest reason first.
TEST(VipStatus, OwnWord) {
  StatusFacts facts{.node = "a", .vip = at("b", false)};
  const auto word = [&] {
    const VirtualIpNodeStatus own = own_word(facts, 2);
    return own.state + ": " + own.message;
  };
  EXPECT_EQ(word(), "Standby: ");
  facts.vip->healthy = false;
  facts.sick_gates = {"tcp 127.0.0.1:80: refused", "http x"};
  EXPECT_EQ(word(), "Unhealthy: tcp 127.0.0.1:80: refused; http x");
  facts.vip->problem = "eth0 is down";
  EXPECT_EQ(word(), "Unable: eth0 is down");
  facts.vip.reset();
  EXPECT_EQ(word(), "Unable: the engine has not taken it up yet");
  facts.engine_problem = "the engine does not answer";
  EXPECT_EQ(word(), "Unable: the engine does not answer");
  facts.refused = "its file has it";
  EXPECT_EQ(word(), "Refused: its file has it");
  facts.refused = std::string(5'000, 'x');
  EXPECT_EQ(own_word(facts, 2).message.size(), 1'000U);
}

}  // namespace
}  // namespace fairlead::vip
