#include "sim/world/world.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::sim {
namespace {

using runtime::sleep;

Task<void> tick(Machine& machine, Duration every, std::vector<Moment>& at) {
  for (;;) {
    if (!co_await sleep(machine, every)) co_return;
    at.push_back(machine.world().now());
  }
}

// Virtual time passes only through events, and a sleeping machine wakes exactly when asked.
TEST(World, SleepsTakeVirtualTimeOnly) {
  std::vector<Moment> at;
  World world(1);
  world.add_machine("a").start([&at](Machine& machine) { return tick(machine, 10s, at); });
  world.run_for(35s);
  EXPECT_EQ(at, (std::vector{Moment(10s), Moment(20s), Moment(30s)}));
  EXPECT_EQ(world.now(), Moment(35s));
}

// A clock that runs 10 % fast sees ten of its seconds in fewer of the world's.
TEST(World, ClockRateStretchesTimers) {
  std::vector<Moment> at;
  World world(1);
  Machine& fast = world.add_machine("fast", {.clock_rate_ppm = 100'000});
  fast.start([&at](Machine& machine) { return tick(machine, 11s, at); });
  const Instant before = fast.now();
  world.run_for(15s);
  EXPECT_EQ(at, std::vector{Moment(10s)});
  EXPECT_EQ(fast.now() - before, 16'500ms);
}

// A change of rate moves the timers that are already set.
TEST(World, RateChangeMovesPendingTimers) {
  std::vector<Moment> at;
  World world(1);
  Machine& machine = world.add_machine("a");
  machine.start([&at](Machine& m) { return tick(m, 10s, at); });
  world.run_for(5s);
  machine.set_clock_rate(-500'000);
  world.run_for(11s);
  EXPECT_EQ(at, std::vector{Moment(15s)});
}

// Boot clocks of two machines say nothing about each other; wall clocks differ by their offsets.
TEST(World, ClocksStartApart) {
  World world(1);
  Machine& a = world.add_machine("a");
  Machine& b = world.add_machine("b", {.wall_offset = -3s});
  EXPECT_NE(a.now(), b.now());
  EXPECT_EQ(a.wall_now() - b.wall_now(), 3s);
}

struct Crumb {
  explicit Crumb(int& n) : left(n) { ++left; }
  ~Crumb() { --left; }
  int& left;
};

Task<void> child(Machine& machine, int& frames) {
  const Crumb crumb(frames);
  co_await sleep(machine, 1000s);
}

Task<void> family(Machine& machine, int& frames) {
  const Crumb crumb(frames);
  runtime::Scope scope(machine);
  scope.spawn(child(machine, frames));
  scope.spawn(child(machine, frames));
  co_await scope.join();
}

// A crash destroys every frame where it stands, nested ones too, and a restart runs the program
// anew.
TEST(Machine, CrashDestroysFramesAndRestartRunsAgain) {
  int frames = 0;
  World world(1);
  Machine& machine = world.add_machine("a");
  machine.start([&frames](Machine& m) { return family(m, frames); });
  world.run_for(1s);
  EXPECT_EQ(frames, 3);
  machine.crash();
  EXPECT_EQ(frames, 0);
  world.run_for(1s);
  machine.restart();
  world.run_for(1s);
  EXPECT_EQ(frames, 3);
  EXPECT_EQ(machine.boot(), 2u);
}

Task<void> crash_oneself(Machine& machine, int& reached) {
  ++reached;
  machine.crash();
  co_await sleep(machine, 1s);
  ++reached;
}

// A machine may ask for its own crash: it happens once the running fiber has yielded.
TEST(Machine, CanCrashItself) {
  int reached = 0;
  World world(1);
  Machine& machine = world.add_machine("a");
  machine.start([&reached](Machine& m) { return crash_oneself(m, reached); });
  world.run_for(5s);
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(machine.state(), Machine::State::down);
}

// A paused machine runs nothing; what came due meanwhile happens at once when it resumes.
TEST(Machine, PauseFreezesTimers) {
  std::vector<Moment> at;
  World world(1);
  Machine& machine = world.add_machine("a");
  machine.start([&at](Machine& m) { return tick(m, 10s, at); });
  world.run_for(5s);
  machine.pause();
  world.run_for(30s);
  EXPECT_TRUE(at.empty());
  machine.resume();
  world.run_for(1s);
  EXPECT_EQ(at, std::vector{Moment(35s)});
}

Task<void> work_once(Machine& machine, int& worked, int& returned) {
  const auto work = [&worked] { return ++worked; };
  co_await runtime::blocking(machine, work);
  ++returned;
}

// Blocking work takes drawn time, and a crash between work and return leaves work nobody heard of.
TEST(Machine, BlockingWorkCanOutliveItsCaller) {
  int worked_unheard = 0;
  int never_worked = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    int worked = 0;
    int returned = 0;
    World world(seed);
    Machine& machine = world.add_machine("a");
    machine.start([&](Machine& m) { return work_once(m, worked, returned); });
    world.after(world.random_stream("when").between(0us, 200us), [&] { machine.crash(); });
    world.run_for(1s);
    worked_unheard += worked == 1 && returned == 0;
    never_worked += worked == 0;
    EXPECT_LE(returned, worked);
  }
  EXPECT_GT(worked_unheard, 0);
  EXPECT_GT(never_worked, 0);
}

Task<void> write_file(Machine& machine, Result<>& outcome) {
  outcome = machine.files().write_atomically("state", "kept", 0600);
  co_await sleep(machine, 1s);
}

// What write_atomically acknowledged is there after a power loss; a loss inside it leaves old or
// new.
TEST(Machine, AtomicFilesSurvivePowerLoss) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Result<> outcome = fail(Code::unavailable, "not reached");
    World world(seed);
    Machine& machine = world.add_machine("a");
    ASSERT_TRUE(machine.files().write_atomically("state", "old", 0600));
    machine.lose_power_at_disk_operation(1 + world.random_stream("n").below(7));
    machine.start([&outcome](Machine& m) { return write_file(m, outcome); });
    world.run_for(100ms);
    machine.crash();
    machine.restart([](Machine& m) -> Task<void> { co_await sleep(m, 1s); });
    const Result<std::string> read = machine.files().read("state");
    ASSERT_TRUE(read) << read.error().to_string();
    if (outcome) EXPECT_EQ(*read, "kept");
    EXPECT_TRUE(*read == "kept" || *read == "old") << *read;
  }
}

// Digests tell runs apart: same seed same digest, other seed other digest, one more note too.
TEST(World, DigestFollowsSeedAndEvents) {
  const auto run = [](std::uint64_t seed, bool note) {
    std::vector<Moment> at;
    World world(seed);
    Machine& machine = world.add_machine("a", {.timer_lateness = {.least = 0us, .spread = 1ms}});
    machine.start([&at](Machine& m) { return tick(m, 1s, at); });
    world.run_for(10s);
    if (note) world.note("something");
    return world.digest();
  };
  EXPECT_EQ(run(7, false), run(7, false));
  EXPECT_NE(run(7, false), run(8, false));
  EXPECT_NE(run(7, false), run(7, true));
}

// run_until_idle says whether something is still to come.
TEST(World, KnowsWhenNothingIsLeft) {
  World world(1);
  world.after(3s, [] {});
  EXPECT_TRUE(world.run_until_idle(10s));
  world.after(30s, [] {});
  EXPECT_FALSE(world.run_until_idle(10s));
}

}  // namespace
}  // namespace fairlead::sim
