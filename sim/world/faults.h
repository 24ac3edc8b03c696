// Faults: a seeded schedule of everything that goes wrong, with an end after which all is healed.
//
// plan_faults is pure: settings and chance in, a list of faults out; a scenario can print it, thin
// it out or write one by hand. Nemesis carries a plan out in a world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/world/disk.h"
#include "sim/world/link.h"
#include "sim/world/moment.h"
#include "sim/world/random.h"

namespace fairlead::sim {

class World;
class Machine;

struct Fault {
  enum class Kind {
    cut_one_way,  // subject no longer reaches object
    cut_both_ways,
    isolate,  // subject reaches nobody and nobody it
    slow,     // everything from subject takes longer
    lossy,    // much of what subject sends is lost or doubled
    pause,
    kill,                 // the process dies; peers are reset
    power_loss,           // the machine dies; unsynced bytes are lost, peers hear nothing
    power_loss_in_write,  // … during a disk operation soon after
    clock_rate,           // subject's boot clock runs at another pace
    wall_step,            // subject's wall clock jumps
    disk_full,
    disk_errors,
  };
  static constexpr std::size_t kKinds = 13;

  Moment at;
  Duration lasts{0};  // when over it is healed; crashed machines are restarted
  Kind kind = Kind::pause;
  std::string subject;
  std::string object;       // cuts only
  std::int64_t amount = 0;  // clock_rate: ppm; wall_step: ns; power_loss_in_write: which operation

  std::string to_string() const;
};

std::string_view fault_name(Fault::Kind kind);

struct FaultSettings {
  std::vector<std::string> machines;  // who suffers
  Duration begin{5s};
  Duration end{60s};  // everything is healed by then
  Delay pause_between{.least = 500ms, .spread = 4s};
  Delay lasting{.least = 100ms, .spread = 6s, .spike_per_million = 100'000, .spike = 20s};
  // Machines down, paused or isolated at one time; a majority is usually kept.
  std::size_t victims_at_most = 1;
  std::vector<Fault::Kind> kinds;     // empty: all but disk_full and disk_errors
  std::int64_t clock_rate_ppm = 500;  // clocks run at most that fast or slow
  Duration wall_step{30s};
};

std::vector<Fault> plan_faults(Random random, const FaultSettings& settings);

class Nemesis {
 public:
  // Schedules the plan at once; nothing happens after `end`. It has to live as long as the world
  // runs: world.own<Nemesis>(world, settings).
  Nemesis(World& world, std::vector<Fault> plan, Duration end);
  Nemesis(World& world, const FaultSettings& settings);

  const std::vector<Fault>& plan() const { return plan_; }

 private:
  void schedule(Duration end);
  void inflict(const Fault& fault);
  void relieve(const Fault& fault);
  void heal_everything();

  World& world_;
  std::vector<Fault> plan_;
  LinkSettings healthy_;
};

}  // namespace fairlead::sim
