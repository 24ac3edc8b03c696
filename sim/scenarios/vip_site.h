// VipSite: machines that hold virtual IPs, in the virtual world. On each there are, as on a real
// host, an agent that starts guards, a guard that carries out the product's GuardPlan, and engines:
// one after the other, or, when a guard has died, a new one that waits for the old one's end. The
// kernel's fence outlives them all.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "features/vip/engine/engine.h"
#include "features/vip/guard/guard_note.h"
#include "features/vip/guard/guard_plan.h"
#include "foundation/runtime/scope.h"
#include "sim/models/sim_fence.h"
#include "sim/world/random.h"
#include "sim/world/world.h"

namespace fairlead::sim {

// What befalls the processes of one machine, while its kernel goes on.
enum class Strike {
  kill_engine,
  kill_guard,  // the kernel asks the engine to end in order; the agent starts another guard
  stop_agent,  // in order, and started again
  lose_disk,   // with all that runs; what the election kept is gone
};

class VipSite {
 public:
  // Where engines among peers keep what they must not forget.
  static constexpr const char* kElectionFile = "/election.json";

  using OpenEngine = std::function<Result<std::unique_ptr<vip::Engine>>(Machine&, SimFence&)>;

  VipSite(World& world, Duration margin, OpenEngine open);

  // A machine whose clock is wrong by at most half the drift that is allowed for.
  Machine& add(const std::string& name, Random& random);
  void start_all();

  const std::vector<std::string>& names() const { return names_; }
  static std::vector<Ip> addresses() { return {*Ip::parse("10.9.0.75"), *Ip::parse("fd09::75")}; }

  FenceJudge& judge() { return judge_; }
  SimFence& kernel(const std::string& name) { return *nodes_.at(name).kernel; }
  void strike(const std::string& name, Strike what);
  // SIGSTOP of everything on the machine that answers for the first VIP, for so long.
  void stop_holder(Duration length);
  // Asks the engine of a machine, if one runs there.
  void ask(const std::string& name, vip::Wish wish);

  // The machines that answer for the VIP now.
  std::vector<std::string> holders_of(const Ip& vip) const;
  // As many members as an engine counts, at most.
  std::size_t most_members() const;
  // What the engines believe, a line each.
  std::string beliefs() const;
  // Fails with what went wrong so far, and unless each VIP has exactly one holder, or comes to have
  // one within a second: VIPs are still being spread.
  Result<> at_rest();

  std::size_t farewells = 0;  // that guards sent
  std::size_t granted = 0;    // wishes

 private:
  struct Process {  // an engine's
    bool asked_to_end = false, ended = false;
    runtime::Signal asked;
    vip::NoteReader notes;                 // the guard's end of the pipe
    vip::Engine* engine = nullptr;         // while it runs
    runtime::Scope* fibers = nullptr;      // of it
    std::unique_ptr<runtime::Scope> life;  // destroyed by a kill
  };
  using Processes = std::list<std::unique_ptr<Process>>;
  class Registration;
  struct Node {
    std::unique_ptr<SimFence> kernel;
    std::deque<Strike> strikes;
    runtime::Signal struck, child_ended;
    Processes* engines = nullptr;   // while the agent runs
    const Process* lock = nullptr;  // engine.lock
  };

  Task<void> agent(Machine& machine);
  Task<void> guard(Machine& machine, Node& node, const bool& stopping, bool& ended);
  Task<void> run_engine(Machine& machine, Node& node, Process& process);
  static Task<void> leave_notes(Process& process);
  Task<void> say_farewell(Machine& machine, const vip::GuardNote& note);
  static Task<void> wish(VipSite& site, vip::Engine& engine, vip::Wish wish);
  static void end(Node& node, Process& process);

  World& world_;
  FenceJudge judge_;
  Duration margin_;
  OpenEngine open_;
  std::vector<std::string> names_;
  std::map<std::string, Node> nodes_;
};

}  // namespace fairlead::sim
