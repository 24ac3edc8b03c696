#include "features/networks/node/applied_versions.h"

#include <gtest/gtest.h>

namespace fairlead::networks {
namespace {

using Report = AppliedVersions::Report;
constexpr std::uint64_t kNow = ~std::uint64_t{0};
const Instant kStart{};

Report told(std::map<fabric::Vni, std::optional<std::uint64_t>> networks) {
  return {.own = {}, .networks = std::move(networks), .elsewhere = {}};
}

// A deletion is applied once the fabric has dropped what was deleted, and told once.
TEST(AppliedVersions, TellsWhatTheFabricDropped) {
  AppliedVersions applied;
  applied.changed(5, 10, {"a"});
  EXPECT_TRUE(applied.waits_for("a"));
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.settled("a", kNow);
  EXPECT_FALSE(applied.waits_for("a"));
  EXPECT_EQ(applied.report(kStart), (told({{5, 10}})));
  applied.reported(told({{5, 10}}), kStart);
  EXPECT_TRUE(applied.report(kStart + 1h).empty());
}

// One that the fabric cannot drop holds up the later ones of its network, and only those.
TEST(AppliedVersions, NothingIsOvertaken) {
  AppliedVersions applied;
  applied.changed(5, 10, {"stuck"});
  applied.changed(5, 12, {"b"});
  applied.changed(6, 11, {"c"});
  applied.settled("b", kNow);
  applied.settled("c", kNow);
  EXPECT_EQ(applied.report(kStart), (told({{6, 11}})));
  applied.settled("stuck", kNow);
  EXPECT_EQ(applied.report(kStart), (told({{5, 12}, {6, 11}})));
}

// The node's own attachments have a count of their own: their informer is not in step with others.
TEST(AppliedVersions, OwnAreCountedApart) {
  AppliedVersions applied;
  applied.changed(5, 10, {"stuck"});
  applied.changed(AppliedVersions::kOwn, 12, {"mine"});
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.settled("mine", 12);
  const Report report{.own = 12, .networks = {}, .elsewhere = {}};
  EXPECT_EQ(applied.report(kStart), report);
  applied.reported(report, kStart);
  EXPECT_TRUE(applied.report(kStart).empty());
  // Whoever lost the report hears it again.
  applied.start_over();
  EXPECT_EQ(applied.report(kStart), report);
}

// One event may change several things: one of them that the fabric never had does not apply the
// event.
TEST(AppliedVersions, AnEventCountsAsAWhole) {
  AppliedVersions applied;
  applied.changed(AppliedVersions::kOwn, 10, {});
  applied.changed(AppliedVersions::kOwn, 10, {"its network's"});
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.settled("its network's", kNow);
  EXPECT_EQ(applied.report(kStart).own, 10);
}

// What was never carried is applied at once.
TEST(AppliedVersions, NothingCarriedNothingToWaitFor) {
  AppliedVersions applied;
  applied.changed(5, 10, {});
  EXPECT_EQ(applied.report(kStart), (told({{5, 10}})));
}

// The fabric having an older state than the deletion does not count.
TEST(AppliedVersions, AnOlderStateDoesNotCount) {
  AppliedVersions applied;
  applied.changed(5, 10, {"a"});
  applied.settled("a", 9);
  EXPECT_TRUE(applied.report(kStart).empty());
  EXPECT_TRUE(applied.waits_for("a"));
  applied.settled("a", 10);
  EXPECT_EQ(applied.report(kStart), (told({{5, 10}})));
}

// The entry of a network that was left goes some time after its last version was told.
TEST(AppliedVersions, ForgetsNetworksThatWereLeft) {
  AppliedVersions applied;
  applied.changed(5, 10, {"a"});
  applied.left(5);
  EXPECT_FALSE(applied.due());
  applied.settled("a", kNow);
  applied.reported(applied.report(kStart), kStart);
  EXPECT_TRUE(applied.report(kStart + 59s).empty());
  ASSERT_EQ(applied.due(), kStart + 60s);
  const Report goodbye = applied.report(kStart + 60s);
  EXPECT_EQ(goodbye, (told({{5, std::nullopt}})));
  applied.reported(goodbye, kStart + 60s);
  EXPECT_TRUE(applied.report(kStart + 1h).empty());
  EXPECT_FALSE(applied.due());
}

// A network that is entered again keeps its entry, or gets a new one.
TEST(AppliedVersions, ComingBack) {
  AppliedVersions applied;
  applied.changed(5, 10, {});
  applied.left(5);
  applied.reported(applied.report(kStart), kStart);
  applied.entered(5);
  EXPECT_TRUE(applied.report(kStart + 1h).empty());
  applied.left(5);
  const Report goodbye = applied.report(kStart + 1h);
  EXPECT_EQ(goodbye, (told({{5, std::nullopt}})));
  applied.entered(5);  // while the report is under way
  applied.reported(goodbye, kStart + 1h);
  EXPECT_EQ(applied.report(kStart + 1h), (told({{5, 10}})));
}

// Once all that runs on the node is known, nothing is carried in networks that are not named; which
// is said only when every network that is followed has been named.
TEST(AppliedVersions, NetworksThatAreNotFollowed) {
  AppliedVersions applied;
  applied.entered(5);
  applied.surveyed(7);
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.changed(5, 8, {"a"});
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.settled("a", kNow);
  const Report first = applied.report(kStart);
  EXPECT_EQ(first, (Report{.networks = {{5, 8}}, .elsewhere = 7}));
  applied.reported(first, kStart);
  EXPECT_TRUE(applied.report(kStart).empty());
  // A list that is older than the one before says nothing; a newer one is told at once.
  applied.surveyed(6);
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.surveyed(9);
  EXPECT_EQ(applied.report(kStart), (Report{.networks = {}, .elsewhere = 9}));
}

// Who looks for an entry that was taken back finds something not older than it.
TEST(AppliedVersions, WhatIsKnownElsewhereIsToldWithTheEndOfAnEntry) {
  AppliedVersions applied;
  applied.surveyed(3);
  applied.entered(5);
  applied.changed(5, 10, {});
  applied.known(12);
  const Report first = applied.report(kStart);
  EXPECT_EQ(first, (Report{.networks = {{5, 10}}, .elsewhere = 3}));
  applied.reported(first, kStart);
  applied.left(5);
  EXPECT_TRUE(applied.report(kStart).empty());
  EXPECT_EQ(applied.report(kStart + 1h),
            (Report{.networks = {{5, std::nullopt}}, .elsewhere = 12}));
}

// While a network has no entry yet nothing is said about those without, and no entry ends.
TEST(AppliedVersions, NoEntryEndsWhileANetworkHasNone) {
  AppliedVersions applied;
  applied.entered(5);
  applied.changed(5, 10, {});
  applied.reported(applied.report(kStart), kStart);
  applied.left(5);
  EXPECT_TRUE(applied.due().has_value());
  applied.entered(6);
  EXPECT_TRUE(applied.report(kStart + 1h).empty());
  EXPECT_FALSE(applied.due().has_value());
}

// A report that was lost is made again as a whole.
TEST(AppliedVersions, StartsOver) {
  AppliedVersions applied;
  applied.surveyed(3);
  applied.entered(5);
  applied.changed(5, 10, {});
  applied.known(12);
  applied.reported(applied.report(kStart), kStart);
  EXPECT_TRUE(applied.report(kStart).empty());
  applied.start_over();
  EXPECT_EQ(applied.report(kStart), (Report{.networks = {{5, 10}}, .elsewhere = 12}));
}

}  // namespace
}  // namespace fairlead::networks
