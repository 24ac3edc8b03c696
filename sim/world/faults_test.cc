#include "sim/world/faults.h"

#include <gtest/gtest.h>

#include <set>

#include "foundation/runtime/runtime.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

FaultSettings settings_for(std::vector<std::string> machines) {
  FaultSettings settings;
  settings.machines = std::move(machines);
  settings.end = 300s;
  return settings;
}

// A plan is a function of its seed; another seed is another plan.
TEST(Faults, PlansFollowTheSeed) {
  const FaultSettings settings = settings_for({"a", "b", "c"});
  const auto text = [&settings](std::uint64_t seed) {
    std::string all;
    for (const Fault& fault : plan_faults(Random(seed), settings)) all += fault.to_string() + "\n";
    return all;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
  EXPECT_NE(text(1), "");
}

// Never more victims at one time than allowed, nothing outlasts the end, and every kind occurs.
TEST(Faults, PlansKeepTheirLimits) {
  std::set<Fault::Kind> kinds;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<Fault> plan =
        plan_faults(Random(seed), settings_for({"a", "b", "c", "d", "e"}));
    for (const Fault& fault : plan) {
      kinds.insert(fault.kind);
      EXPECT_LE(fault.at + fault.lasts, Moment(300s));
      if (fault.kind != Fault::Kind::pause) continue;
      for (const Fault& other : plan) {
        if (&other == &fault || other.kind != Fault::Kind::power_loss) continue;
        const bool apart = other.at > fault.at + fault.lasts || fault.at > other.at + other.lasts;
        EXPECT_TRUE(apart) << fault.to_string() << " and " << other.to_string();
      }
    }
  }
  EXPECT_EQ(kinds.size(), Fault::kKinds - 2);
}

Task<void> live(Machine& machine) { co_await runtime::sleep(machine, 1'000'000s); }

// After the end everything is as healthy as before: machines up, links open, clocks and disks
// right.
TEST(Faults, EverythingIsHealedAtTheEnd) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    World world(seed);
    for (const char* name : {"a", "b", "c"}) world.add_machine(name).start(live);
    FaultSettings settings = settings_for({"a", "b", "c"});
    settings.kinds = {Fault::Kind::cut_one_way,
                      Fault::Kind::cut_both_ways,
                      Fault::Kind::isolate,
                      Fault::Kind::slow,
                      Fault::Kind::lossy,
                      Fault::Kind::pause,
                      Fault::Kind::kill,
                      Fault::Kind::power_loss,
                      Fault::Kind::clock_rate,
                      Fault::Kind::wall_step,
                      Fault::Kind::disk_full,
                      Fault::Kind::disk_errors,
                      Fault::Kind::power_loss_in_write};
    const Nemesis& nemesis = world.own<Nemesis>(world, settings);
    EXPECT_GT(nemesis.plan().size(), 10u);
    world.run_for(301s);
    for (const auto& machine : world.machines()) {
      EXPECT_EQ(machine->state(), Machine::State::up);
      EXPECT_EQ(machine->clock().rate_ppm(), 0);
      EXPECT_EQ(machine->wall_offset(), Duration(0));
      EXPECT_EQ(machine->disk().faults().write_per_million, 0u);
      for (const auto& other : world.machines()) {
        EXPECT_TRUE(world.network().link(*machine, *other).passes());
        EXPECT_EQ(world.network().link(*machine, *other).settings().loss_per_million, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::sim
