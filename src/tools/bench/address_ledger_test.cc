#include "tools/bench/address_ledger.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

// Two attachments of one network with one address are found; in two networks they may have it.
TEST(AddressLedger, FindsAnAddressThatTwoHave) {
  AddressLedger ledger;
  EXPECT_EQ(ledger.take(1, 0, "10.0.0.2"), std::nullopt);
  EXPECT_EQ(ledger.take(1, 0, "10.0.0.2"), std::nullopt);  // told again
  EXPECT_EQ(ledger.take(2, 0, "10.0.0.3"), std::nullopt);
  EXPECT_EQ(ledger.take(3, 1, "10.0.0.2"), std::nullopt);
  EXPECT_EQ(ledger.take(4, 0, "10.0.0.2"), 1U);
}

// Once its holder is gone, an address is free; what the rival of a conflict does changes nothing.
TEST(AddressLedger, AddressesComeFree) {
  AddressLedger ledger;
  (void)ledger.take(1, 0, "10.0.0.2");
  EXPECT_EQ(ledger.take(2, 0, "10.0.0.2"), 1U);
  ledger.release(2);
  EXPECT_EQ(ledger.take(3, 0, "10.0.0.2"), 1U);
  ledger.release(1);
  ledger.release(1);
  EXPECT_EQ(ledger.take(4, 0, "10.0.0.2"), std::nullopt);
}

TEST(AddressLedger, AnAttachmentMayChangeItsAddress) {
  AddressLedger ledger;
  (void)ledger.take(1, 0, "10.0.0.2");
  EXPECT_EQ(ledger.take(1, 0, "10.0.0.9"), std::nullopt);
  EXPECT_EQ(ledger.take(2, 0, "10.0.0.2"), std::nullopt);
  EXPECT_EQ(ledger.take(3, 0, "10.0.0.9"), 1U);
}

}  // namespace
}  // namespace fairlead::bench
