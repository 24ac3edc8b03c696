#include "sim/world/disk.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fairlead::sim {
namespace {

std::string read_all(SimDisk& disk, const std::string& path) {
  auto file = disk.open(path, SimDisk::Open::existing);
  if (!file) return "<" + file.error().to_string() + ">";
  std::string bytes((*file)->size(), '\0');
  const auto n = (*file)->read(0, bytes);
  return n ? bytes.substr(0, *n) : "<" + n.error().to_string() + ">";
}

void make_synced(SimDisk& disk, const std::string& path, const std::string& bytes) {
  auto file = disk.open(path, SimDisk::Open::create);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write(0, bytes));
  ASSERT_TRUE((*file)->sync());
  ASSERT_TRUE(disk.sync_directory("."));
}

void lose_power(SimDisk& disk) {
  disk.lose_power();
  disk.power_on();
}

// What was synced is there after every power loss, whatever was written after it elsewhere.
TEST(SimDisk, SyncedBytesSurvive) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SimDisk disk{Random(seed)};
    make_synced(disk, "f", std::string(3'000, 'a'));
    auto file = disk.open("f", SimDisk::Open::existing);
    ASSERT_TRUE((*file)->write(3'000, std::string(2'000, 'b')));
    lose_power(disk);
    const std::string left = read_all(disk, "f");
    ASSERT_GE(left.size(), 3'000u);
    EXPECT_EQ(left.substr(0, 3'000), std::string(3'000, 'a'));
  }
}

// Unsynced sectors meet every fate: kept, dropped and garbled, each sector on its own.
TEST(SimDisk, UnsyncedSectorsAreKeptDroppedOrGarbled) {
  SimDisk disk{Random(7)};
  make_synced(disk, "f", std::string(512 * 400, 'a'));
  auto file = disk.open("f", SimDisk::Open::existing);
  ASSERT_TRUE((*file)->write(0, std::string(512 * 400, 'b')));
  const SimDisk::Loss loss = disk.lose_power();
  disk.power_on();
  EXPECT_GT(loss.kept, 100u);
  EXPECT_GT(loss.dropped, 100u);
  EXPECT_GT(loss.garbled, 10u);
  const std::string left = read_all(disk, "f");
  std::uint64_t kept = 0;
  for (std::size_t i = 0; i < left.size(); i += 512)
    kept += left.substr(i, 512) == std::string(512, 'b');
  EXPECT_EQ(kept, loss.kept);
}

// Without power-safe overwrite a garbled sector takes its unwritten bytes with it; with it, never.
TEST(SimDisk, PowerSafeOverwriteProtectsNeighbours) {
  for (const bool safe : {true, false}) {
    int damaged = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      SimDisk disk(Random(seed), {.power_safe_overwrite = safe});
      make_synced(disk, "f", std::string(512, 'a'));
      auto file = disk.open("f", SimDisk::Open::existing);
      ASSERT_TRUE((*file)->write(500, "b"));
      lose_power(disk);
      damaged += read_all(disk, "f").substr(0, 500) != std::string(500, 'a');
    }
    if (safe) {
      EXPECT_EQ(damaged, 0);
    } else {
      EXPECT_GT(damaged, 0);
    }
  }
}

// A rename is there for programs at once and for ever only after its directory was synced.
TEST(SimDisk, RenameIsDurableAfterDirectorySync) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const bool sync : {false, true}) {
      SimDisk disk{Random(seed)};
      make_synced(disk, "old", "1");
      make_synced(disk, "new", "2");
      ASSERT_TRUE(disk.rename("new", "old"));
      EXPECT_EQ(read_all(disk, "old"), "2");
      if (sync) {
        ASSERT_TRUE(disk.sync_directory("."));
      }
      lose_power(disk);
      if (sync) {
        EXPECT_EQ(read_all(disk, "old"), "2");
      } else {
        outcomes.insert(read_all(disk, "old"));
      }
    }
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"1", "2"}));
}

// A synced file whose name was not synced may be gone.
TEST(SimDisk, SyncedFileNeedsASyncedName) {
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimDisk disk{Random(seed)};
    auto file = disk.open("f", SimDisk::Open::create);
    ASSERT_TRUE((*file)->write(0, "x"));
    ASSERT_TRUE((*file)->sync());
    lose_power(disk);
    lost += !disk.exists("f");
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 50);
}

// A full disk refuses to grow files and still overwrites; room helps at once.
TEST(SimDisk, FullDiskRefusesGrowth) {
  SimDisk disk{Random(1)};
  make_synced(disk, "f", "abc");
  disk.set_capacity(disk.used());
  auto file = disk.open("f", SimDisk::Open::existing);
  const Result<> grown = (*file)->write(3, "d");
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().code, Code::exhausted);
  EXPECT_TRUE((*file)->write(0, "ABC"));
  disk.set_capacity(100);
  EXPECT_TRUE((*file)->write(3, "d"));
}

// A failed sync has lost its bytes for good: the next sync succeeds and does not bring them back.
TEST(SimDisk, FailedSyncIsNotRepairedByTheNext) {
  SimDisk disk{Random(1)};
  make_synced(disk, "f", "old");
  auto file = disk.open("f", SimDisk::Open::existing);
  ASSERT_TRUE((*file)->write(0, "new"));
  disk.set_faults({.sync_per_million = 1'000'000});
  EXPECT_FALSE((*file)->sync());
  disk.set_faults({});
  EXPECT_TRUE((*file)->sync());
  EXPECT_EQ(read_all(disk, "f"), "new");
  lose_power(disk);
  EXPECT_EQ(read_all(disk, "f"), "old");
}

// From the chosen operation on nothing works, the caller is told, and old handles stay dead.
TEST(SimDisk, PowerCutAtAnOperation) {
  SimDisk disk{Random(1)};
  make_synced(disk, "f", "1");
  auto file = disk.open("f", SimDisk::Open::existing);
  bool told = false;
  disk.cut_power_at_operation(2, [&told] { told = true; });
  EXPECT_TRUE((*file)->write(0, "2"));
  EXPECT_FALSE(told);
  EXPECT_FALSE((*file)->sync());
  EXPECT_TRUE(told);
  lose_power(disk);
  EXPECT_FALSE((*file)->write(0, "3"));
  const std::string left = read_all(disk, "f");
  EXPECT_NE(left, "3");
}

// A killed process loses its handles and nothing else.
TEST(SimDisk, DetachKeepsThePageCache) {
  SimDisk disk{Random(1)};
  auto file = disk.open("f", SimDisk::Open::create);
  ASSERT_TRUE((*file)->write(0, "unsynced"));
  disk.detach();
  disk.power_on();
  EXPECT_FALSE((*file)->sync());
  EXPECT_EQ(read_all(disk, "f"), "unsynced");
}

// Directories: made with their parents, listed by child, needed before a file can be made.
TEST(SimDisk, Directories) {
  SimDisk disk{Random(1)};
  EXPECT_EQ(disk.open("/a/b/f", SimDisk::Open::create).error().code, Code::not_found);
  ASSERT_TRUE(disk.make_directories("/a/b"));
  ASSERT_TRUE(disk.open("/a/b/f", SimDisk::Open::create));
  EXPECT_EQ(*disk.list("/a/b"), std::vector<std::string>{"f"});
  EXPECT_EQ(*disk.list("/a"), std::vector<std::string>{"b"});
  EXPECT_FALSE(disk.open("/a/b/f", SimDisk::Open::create_new));
  EXPECT_TRUE(disk.remove("/a/b/f"));
  EXPECT_EQ(disk.remove("/a/b/f").error().code, Code::not_found);
}

}  // namespace
}  // namespace fairlead::sim
