#include "features/vip/lease/record.h"

#include <gtest/gtest.h>

namespace fairlead::vip {
namespace {

const Ip kVip = *Ip::parse("10.0.0.75");
const Ip kVip6 = *Ip::parse("fd00::75");

NodeRecord node() {
  Offer offer{.vip = kVip, .healthy = false, .priority = -7, .options = {}};
  offer.options = {
      .group = "g", .apart = "x", .preferred = "n", .preempt = false, .preempt_delay = 90s};
  return {.instance = ~std::uint64_t{0},
          .incarnation = 2,
          .sequence = 3,
          .table = 4,
          .lease = 3s,
          .barred = make_epoch(7, 8),
          .gone = true,
          .claims = {{kVip6, 1}, {kVip, make_epoch(7, 9)}},
          .released = {{kVip, 2}},
          .offers = {{.vip = kVip6, .options = {}}, offer}};
}

TableRecord table() {
  return {.id = 1,
          .sequence = 2,
          .term = 3,
          .counter = 4,
          .assigner = "a",
          .incarnation = 5,
          .timing = {.lease = 3s, .renew = 750ms},
          .rows = {{kVip, {.node = "a", .epoch = 5}}, {kVip6, {"b", make_epoch(3, 4), true}}},
          .by_hand = {{kVip, "b"}}};
}

TEST(Records, AreReadAsTheyWereWritten) {
  EXPECT_EQ(*decode_node_record(encode(node())), node());
  EXPECT_EQ(*decode_node_record(encode(NodeRecord{})), NodeRecord{});
  EXPECT_EQ(*decode_table_record(encode(table())), table());
}

// Nothing in the store is trusted to be well-formed.
TEST(Records, BrokenOnesAreRefusedWithTheField) {
  const auto broken = [](std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const auto says = [](const auto& result, std::string_view field) {
    return !result && result.error().code == Code::invalid &&
           result.error().message.find(field) != std::string::npos;
  };
  const std::string n = encode(node()), t = encode(table());
  EXPECT_TRUE(says(decode_node_record(""), ""));
  EXPECT_TRUE(says(decode_node_record("[]"), "version"));
  EXPECT_TRUE(says(decode_node_record(broken(n, "\"version\":1", "\"version\":2")), "version"));
  EXPECT_TRUE(
      says(decode_node_record(broken(n, "\"sequence\":\"3\"", "\"sequence\":3")), "sequence"));
  EXPECT_TRUE(says(decode_node_record(broken(n, "\"3000000000\"", "\"-3\"")), "leaseNanoseconds"));
  EXPECT_TRUE(
      says(decode_node_record(broken(n, "\"3000000000\"", "\"99999999999999999\"")), "lease"));
  EXPECT_TRUE(says(decode_node_record(broken(n, "10.0.0.75", "10.0.0.275")), "claims: vip"));
  EXPECT_TRUE(says(decode_node_record(broken(n, "-7", "99999999999")), "offers: priority"));
  EXPECT_TRUE(says(decode_node_record(broken(n, "\"gone\":true", "\"gone\":1")), "gone"));
  EXPECT_TRUE(
      says(decode_table_record(broken(t, "\"term\":\"3\"", "\"term\":\"4294967296\"")), "term"));
  EXPECT_TRUE(says(decode_table_record(broken(t, "\"750000000\"", "\"1\"")), "renew"));
  EXPECT_TRUE(
      says(decode_table_record(broken(t, "\"epoch\":\"5\"", "\"epoch\":\"99999999999999\"")),
           "rows: epoch"));
  EXPECT_TRUE(says(decode_table_record(broken(t, "\"leaving\":true", "\"leaving\":0")), "leaving"));
}

}  // namespace
}  // namespace fairlead::vip
