// Machine: one computer of the virtual world, and the Runtime its components run on.
//
// It has a boot clock that drifts, a wall clock that is wrong, a disk that forgets what was not
// synced, and programs. A crash destroys every fiber where it stands; a restart runs the same
// programs again on what the disk kept. A pause freezes fibers and timers as SIGSTOP does, while
// the kernel goes on: bytes arrive, connections enter the backlog, clocks run.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"
#include "sim/world/clock.h"
#include "sim/world/disk.h"
#include "sim/world/files.h"
#include "sim/world/link.h"
#include "sim/world/random.h"
#include "sim/world/trace.h"

namespace fairlead::sim {

class World;
class Machine;

struct MachineSettings {
  std::string address{};             // empty: the next of 10.0.0.0/16
  std::int64_t clock_rate_ppm = 0;   // boot clock: millionths it runs fast
  Duration wall_offset{0};           // error of the wall clock
  std::optional<Duration> uptime{};  // boot clock's first reading; empty: drawn, up to 30 days
  DiskSettings disk{};
  // A blocking job waits this long for a thread, and its outcome this long for the loop.
  Delay blocking_start{.least = 5us, .spread = 45us};
  Delay blocking_end{.least = 5us, .spread = 200us};
  Delay timer_lateness{};  // how late timers fire; none unless asked for
};

struct Crash {
  enum class Connections {
    silent,  // peers hear nothing until they send something to the machine that came back
    reset,   // the kernel outlives the process and resets every connection at once
  };
  // Power loss: unsynced bytes are lost or torn, the boot clock begins anew. Otherwise the process
  // alone dies and the page cache stays.
  bool power_loss = true;
  Connections connections = Connections::silent;

  static Crash power() { return {}; }
  static Crash kill() { return {.power_loss = false, .connections = Connections::reset}; }
};

class Machine final : public runtime::Runtime {
 public:
  // What runs on the machine. Kept until replaced, so it may be a capturing lambda coroutine.
  using Program = std::function<Task<void>(Machine&)>;
  enum class State { up, paused, down };

  Machine(World& world, std::string name, ActorId id, MachineSettings settings);
  ~Machine() override;

  const std::string& name() const { return name_; }
  const std::string& address() const { return settings_.address; }
  ActorId id() const { return id_; }
  World& world() { return world_; }
  State state() const { return state_; }
  bool up() const { return state_ != State::down; }
  std::uint32_t boot() const { return boot_; }  // counts starts, from 1
  std::uint32_t power_losses() const { return power_losses_; }

  // Runs the program now and again after every restart, after those started before it.
  void start(Program program);
  // Takes effect at once, or, when the machine itself is running, as soon as it has yielded.
  void crash(Crash how = {});
  void restart();                 // the same programs. REQUIRES: down
  void restart(Program program);  // this program instead
  void pause();
  void resume();
  // The power fails during the nth disk operation from now: the way to die inside a commit.
  void lose_power_at_disk_operation(std::uint64_t nth);

  void set_clock_rate(std::int64_t rate_ppm);
  void set_wall_offset(Duration offset);
  const DriftingClock& clock() const { return clock_; }
  Duration wall_offset() const { return wall_offset_; }
  const MachineSettings& settings() const { return settings_; }  // as it was made

  SimDisk& disk() { return disk_; }
  void note(std::string text);  // into the trace, with this machine as its subject

  // runtime::Runtime
  void post(runtime::Ready& ready) override;
  Instant now() const override;
  WallTime wall_now() const override;
  std::uint64_t random() override { return random_.next(); }
  runtime::TimerHeap& timers() override { return timers_; }
  runtime::Files& files() override { return files_; }
  void start_blocking(runtime::BlockingJob job) override;
  Task<Result<std::unique_ptr<runtime::Stream>>> connect(
      runtime::Endpoint to, std::shared_ptr<const runtime::TlsCredentials> tls) override;
  Result<std::unique_ptr<runtime::Listener>> listen(
      const runtime::Endpoint& at, std::shared_ptr<const runtime::TlsSource> tls) override;
  Result<std::unique_ptr<runtime::DatagramSocket>> open_datagram(
      const runtime::Endpoint& at) override;
  Result<std::unique_ptr<runtime::PacketSocket>> open_packet(const std::string& interface,
                                                             std::uint16_t ethertype) override;

  // For the world: runs everything that is ready.
  void turn();
  bool runnable_queued = false;
  // Follows timers that were set from outside a turn.
  void follow_timers();

 private:
  class Job;
  class Wake final : public runtime::Timer {
   public:
    explicit Wake(Machine& machine) : machine_(machine) {}
    void fire() override;

   private:
    Machine& machine_;
  };
  struct Running {
    explicit Running(Program what) : program(std::move(what)) {}
    Program program;
    std::unique_ptr<runtime::Scope> scope;
  };
  class Entered;  // marks that code of this machine runs; carries out a crash asked for meanwhile

  void launch(Running& running);
  void die(Crash how);
  void destroy_fibers();
  void trace_disk(const DiskEvent& event);

  World& world_;
  std::string name_;
  ActorId id_;
  MachineSettings settings_;
  Random random_;
  DriftingClock clock_;
  Duration wall_offset_;
  SimDisk disk_;
  SimFiles files_;
  State state_ = State::up;
  std::uint32_t boot_ = 1;
  std::uint32_t power_losses_ = 0;
  int entered_ = 0;
  bool turning_ = false;
  std::optional<Crash> crash_asked_;

  runtime::ReadyQueue ready_;
  runtime::TimerHeap timers_;
  Wake wake_{*this};
  std::optional<Instant> wake_for_;  // the deadline wake_ is set for
  std::list<std::unique_ptr<Job>> jobs_;
  std::list<Running> programs_;
};

}  // namespace fairlead::sim
