#include "api/store/etcd/epoch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/store/restored_revision.h"

namespace fairlead::store {
namespace {

using std::chrono::sys_days;
using std::chrono::year;
using testing::HasSubstr;

constexpr WallTime kNow = sys_days(year{2026} / 11 / 17);
constexpr std::uint64_t kCluster = 15118495548433857066U;

// A cluster of 1,000 revisions, seven of whose entries of the log were none.
EtcdSighting healthy() {
  return {.cluster = kCluster,
          .revision = 1'000,
          .least_slack = 7,
          .most_slack = 9,
          .record = EpochRecord{.base = 0, .cluster = kCluster, .slack = 3}};
}

// A fresh etcd, and one from before there were epochs, begin with base 0: their revisions are what
// the API shows.
TEST(EtcdEpoch, TheFirstHasNoBase) {
  EtcdSighting fresh = healthy();
  fresh.record.reset();
  const EpochPlan plan = plan_epoch(fresh, {}, kNow);
  EXPECT_EQ(plan.begin, (EpochRecord{.base = 0, .cluster = kCluster, .slack = 7}));
  EXPECT_EQ(plan.restored, "");
}

// As long as nothing contradicts what is known, the epoch goes on: for a server that has just
// started, and for one that has lost its connection.
TEST(EtcdEpoch, GoesOn) {
  EXPECT_FALSE(plan_epoch(healthy(), {}, kNow).begin);
  const EtcdMemory memory{.record = healthy().record, .slack = 9, .seen = 1'000};
  EXPECT_FALSE(plan_epoch(healthy(), memory, kNow).begin);
}

// Whatever shows that etcd is not the one that was known: a new epoch, beyond all that was known.
TEST(EtcdEpoch, EveryContradictionBeginsANewOne) {
  struct Case {
    EtcdSighting sighting;
    EtcdMemory memory;
    std::string_view reason;
  };
  const EpochRecord record = *healthy().record;
  EtcdSighting snapshot = healthy();  // as measured on etcd 3.4: 34 entries before, 4 after
  snapshot.least_slack = snapshot.most_slack = 4 - 1'000;
  EtcdSighting other_cluster = healthy();
  other_cluster.cluster = 5;
  EtcdSighting wiped = healthy();
  wiped.record.reset();
  EtcdSighting rebased = healthy();
  rebased.record->base = 5'000'000;
  for (const auto& [sighting, memory, reason] :
       {Case{snapshot, {}, "raft log began anew"},
        Case{healthy(), {.record = record, .slack = 10, .seen = 0}, "raft log began anew"},
        Case{other_cluster, {}, "cluster's id"},
        Case{healthy(), {.record = {}, .slack = 0, .seen = 1'001}, "which was handed out"},
        Case{wiped, {.record = record, .slack = 7, .seen = 900}, "record of the epoch is gone"},
        Case{wiped, {.record = {}, .slack = 0, .seen = 1'001}, "which was handed out"},
        Case{healthy(), {.record = EpochRecord{.base = 8}, .slack = 0, .seen = 0}, "is back"},
        Case{rebased, {.record = {}, .slack = 0, .seen = 5'001'001}, "which was handed out"}}) {
    const EpochPlan plan = plan_epoch(sighting, memory, kNow);
    EXPECT_THAT(plan.restored, HasSubstr(reason));
    ASSERT_TRUE(plan.begin) << reason;
    EXPECT_GT(plan.begin->base, memory.seen);
    EXPECT_GT(plan.begin->base, sighting.revision);
    EXPECT_EQ(plan.begin->base, revision_of_time(kNow));
    EXPECT_EQ(plan.begin->slack, sighting.least_slack);
  }
}

// A clock that stands at the beginning of time does not bring old numbers back.
TEST(EtcdEpoch, DoesNotDependOnTheClockAlone) {
  EtcdSighting sighting = healthy();
  sighting.record->base = 70'000'000'000;
  sighting.most_slack = -990;
  const EpochPlan plan = plan_epoch(sighting, {}, WallTime());
  ASSERT_TRUE(plan.begin);
  EXPECT_EQ(plan.begin->base, 70'000'001'000 + kRestoreGap);
}

// Another server began the epoch that is found: that is no contradiction, and its slack counts.
TEST(EtcdEpoch, AnEpochBegunByAnotherIsAdopted) {
  EtcdSighting sighting = healthy();
  sighting.record = EpochRecord{.base = 5'000'000, .cluster = kCluster, .slack = -995};
  sighting.least_slack = sighting.most_slack = -990;
  const EtcdMemory memory{.record = healthy().record, .slack = 9, .seen = 1'100};
  EXPECT_FALSE(plan_epoch(sighting, memory, kNow).begin);
}

// Of two restores the later continues beyond the earlier, although neither knows of the other; and
// a resourceVersion stays a signed number of 64 bits.
TEST(EtcdEpoch, RestoresFollowEachOther) {
  const Revision first = restored_revision(100, kNow);
  const Revision second = restored_revision(100, kNow + 1min);
  EXPECT_GE(second, first + 60'000'000);
  // Also of a backup that was made soon after a restore.
  const Revision soon = revision_of_time(kNow - 10s);
  EXPECT_GE(restored_revision(soon, kNow + 1s), restored_revision(soon, kNow) + 1'000'000);
  // A clock that was set back.
  EXPECT_GT(restored_revision(first, kNow - 1h), first);
  const WallTime late = sys_days(year{2260} / 1 / 1);
  EXPECT_LT(Place::end_of(restored_revision(0, late)).number(), std::uint64_t{1} << 63);
}

TEST(EtcdEpoch, RecordsAreText) {
  const EpochRecord record{.base = 217'069'638'330'403, .cluster = kCluster, .slack = -990};
  const std::string text = encode_epoch_record(record);
  EXPECT_EQ(text,
            "fairlead epoch 1\nbase 217069638330403\ncluster 15118495548433857066\nslack -990\n");
  EXPECT_EQ(parse_epoch_record(text), record);
  for (const std::string_view wrong :
       {"", "fairlead epoch 2\nbase 1\ncluster 1\nslack 1\n",
        "fairlead epoch 1\nbase 1\ncluster 1\nslack 1", "fairlead epoch 1\nbase 1\nslack 1\n",
        "fairlead epoch 1\nbase -1\ncluster 1\nslack 1\n",
        "fairlead epoch 1\nbase 1\ncluster 1\nslack 1\nmore\n"})
    EXPECT_EQ(parse_epoch_record(wrong).error().code, Code::corrupt) << wrong;
}

}  // namespace
}  // namespace fairlead::store
