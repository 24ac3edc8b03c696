// World: a seeded virtual-time universe in which the product's own component code runs.
//
//   World world(seed);
//   Machine& server = world.add_machine("server");
//   server.start([](Machine& machine) { return serve(machine); });
//   world.network().cut("server", "client");
//   world.run_for(30s);
//
// Everything that can differ between two runs (time, chance, the network, disks, the order of
// events) comes from here and from the seed. The same seed gives the same digest; sim/world/seeds.h
// checks it.
//
// Invariants
//   1. One global order: events happen by moment, then by the order in which they were scheduled.
//      Machines that can run do so, first come first served, before time moves on.
//   2. Time stands still while code runs. A machine that never stops running at one moment is a bug
//      in it, and ends the process with the trace.
//   3. Nothing here is touched by more than one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/runtime/timer_heap.h"
#include "sim/world/machine.h"
#include "sim/world/moment.h"
#include "sim/world/network.h"
#include "sim/world/random.h"
#include "sim/world/trace.h"

namespace fairlead::sim {

struct WorldSettings {
  // Civil time when the world begins; machines see it plus their own error.
  WallTime begins = WallTime(std::chrono::seconds(1'767'225'600));  // 2026-01-01T00:00:00Z
  LinkSettings link;  // of every pair of machines, until changed
  std::uint64_t runs_per_moment = 5'000'000;
};

class World {
 public:
  explicit World(std::uint64_t seed, WorldSettings settings = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  std::uint64_t seed() const { return seed_; }
  const WorldSettings& settings() const { return settings_; }

  // The machine is up and idle. Names are unique and resolve like host names.
  Machine& add_machine(std::string name, MachineSettings settings = {});
  Machine& machine(std::string_view name);  // CHECKs that it exists
  const std::vector<std::unique_ptr<Machine>>& machines() const { return machines_; }
  Network& network() { return *network_; }

  Moment now() const { return now_; }
  WallTime wall_now() const { return settings_.begins + now_.time_since_epoch(); }

  // Run the world; never from inside a fiber.
  void run_for(Duration duration);
  void run_until(Moment moment);
  // Until `done` holds, looked at after every event. False when `limit` passed first.
  bool run_until(const std::function<bool()>& done, Duration limit);
  // Until nothing is left to happen. False when `limit` passed first (some timer goes on for ever).
  bool run_until_idle(Duration limit);

  // Something from outside the machines: a fault, a look at the state. Runs between turns.
  void after(Duration delay, std::function<void()> action);

  // State that the scenario's programs refer to: lives until after every fiber is gone. (What a
  // test declares itself must come before its World.)
  template <class T, class... Arguments>
  T& own(Arguments&&... arguments) {
    auto state = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    owned_.push_front(state);
    return *state;
  }

  // A random stream of its own, by name.
  Random random_stream(std::string_view name) const { return random_.derive(name); }

  Trace& trace() { return trace_; }
  const Trace& trace() const { return trace_; }
  // A line of the scenario's own in the trace and the digest.
  void note(std::string text);
  std::uint64_t digest() const { return trace_.digest(); }
  // Fibers resumed, timers fired, messages delivered.
  std::uint64_t events() const { return events_count_; }

  // For machines and the network only.
  void schedule(runtime::Timer& event, Moment at);
  void unschedule(runtime::Timer& event) { events_.remove(event); }
  void make_runnable(Machine& machine);
  void count_run();
  void record(Happening what, ActorId subject, ActorId object = 0, std::uint64_t a = 0,
              std::uint64_t b = 0, std::uint64_t content = 0);

 private:
  class Action;
  bool step(Moment limit);

  std::uint64_t seed_;
  WorldSettings settings_;
  Random random_;
  Moment now_{};
  runtime::TimerHeap events_;
  Trace trace_;
  std::uint64_t events_count_ = 0;
  std::uint64_t runs_at_moment_ = 0;
  bool running_ = false;
  std::list<std::shared_ptr<void>> owned_;
  std::list<std::unique_ptr<Action>> actions_;
  std::deque<Machine*> runnable_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace fairlead::sim
