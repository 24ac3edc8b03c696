#include "sim/scenarios/vip_site.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/runtime/timed_wait.h"

namespace fairlead::sim {
namespace {

constexpr Duration kMarginWithoutNote = 100ms;  // as in guard/guard_process.cc
constexpr Duration kLockPoll = 50ms;            // as in guard/engine_process.cc
constexpr std::uint64_t kHalfDriftPpm = 500;

}  // namespace

VipSite::VipSite(World& world, Duration margin, OpenEngine open)
    : world_(world), judge_(world), margin_(margin), open_(std::move(open)) {}

Machine& VipSite::add(const std::string& name, Random& random) {
  const auto rate = static_cast<std::int64_t>(random.below(2 * kHalfDriftPpm + 1));
  Machine& machine =
      world_.add_machine(name, {.clock_rate_ppm = rate - static_cast<std::int64_t>(kHalfDriftPpm)});
  names_.push_back(name);
  nodes_[name].kernel = std::make_unique<SimFence>(machine, judge_, margin_);
  return machine;
}

void VipSite::start_all() {
  for (const std::string& name : names_)
    world_.machine(name).start([this](Machine& machine) { return agent(machine); });
}

void VipSite::strike(const std::string& name, Strike what) {
  Node& node = nodes_.at(name);
  node.strikes.push_back(what);
  node.struck.notify();
}

void VipSite::stop_holder(Duration length) {
  const std::string name = judge_.last[addresses().front()];
  if (name.empty() || world_.machine(name).state() != Machine::State::up) return;
  world_.machine(name).pause();
  world_.after(length, [this, name] {
    if (world_.machine(name).state() == Machine::State::paused) world_.machine(name).resume();
  });
}

void VipSite::ask(const std::string& name, vip::Wish what) {
  if (world_.machine(name).state() != Machine::State::up || !nodes_.at(name).engines) return;
  for (const std::unique_ptr<Process>& process : *nodes_.at(name).engines)
    if (process->engine && !process->asked_to_end)
      process->fibers->spawn(wish(*this, *process->engine, what));
}

Task<void> VipSite::wish(VipSite& site, vip::Engine& engine, vip::Wish what) {
  if (co_await engine.wish(std::move(what))) ++site.granted;
}

std::vector<std::string> VipSite::holders_of(const Ip& vip) const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_)
    if (node.kernel->answers(vip)) names.push_back(name);
  return names;
}

std::size_t VipSite::most_members() const {
  std::size_t most = 0;
  for (const auto& [name, node] : nodes_) {
    if (!node.engines) continue;
    for (const std::unique_ptr<Process>& process : *node.engines)
      if (process->engine)
        most = std::max(
            most, process->engine->election().participants(world_.machine(name).now()).size());
  }
  return most;
}

std::string VipSite::beliefs() const {
  std::string all;
  for (const auto& [name, node] : nodes_) {
    if (!node.engines) continue;
    for (const std::unique_ptr<Process>& process : *node.engines) {
      if (!process->engine) continue;
      const vip::Election& election = process->engine->election();
      const Instant now = world_.machine(name).now();
      all += fmt::format("\n{}: lease {} ms, assigner {} of term {}, hears {}:", name,
                         election.timing().lease / 1ms, election.assigner(), election.term(),
                         election.hears_majority(now) ? "a majority" : "too few");
      for (const vip::Participant& one : election.participants(now))
        all += fmt::format(" {}{}", one.name, one.alive ? "" : "(dead)");
      for (const auto& [vip, row] : election.table())
        all += fmt::format("; {} is {}'s, {:x}", vip.to_string(), row.node, row.epoch);
      for (const vip::Claim& claim : election.wanted())
        all += fmt::format("; wants {} {:x} until {}", claim.vip.to_string(), claim.epoch,
                           election.deadline(claim.vip) ? "granted" : "never");
    }
  }
  return all;
}

Result<> VipSite::at_rest() {
  Result<> outcome;
  for (int tries = 0; tries < 10; ++tries) {
    if (!judge_.violations.empty()) return fail(Code::internal, judge_.violations.front());
    outcome = {};
    for (const Ip& address : addresses())
      if (const auto holders = holders_of(address); holders.size() != 1)
        outcome = fail(Code::internal, fmt::format("{} has {} holders at the end{}",
                                                   address.to_string(), holders.size(), beliefs()));
    if (outcome) break;
    world_.run_for(100ms);
  }
  return outcome;
}

// ---- on a machine

// Nobody finds the processes of an agent that is gone.
class VipSite::Registration {
 public:
  Registration(Processes*& at, Processes& processes) : at_(at) { at = &processes; }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { at_ = nullptr; }

 private:
  Processes*& at_;
};

// One guard after the other. When all is killed, this frame ends, and every process with it.
Task<void> VipSite::agent(Machine& machine) {
  Node& node = nodes_.at(machine.name());
  Processes engines;
  const Registration registration(node.engines, engines);
  node.strikes.clear();
  node.lock = nullptr;
  for (;;) {
    bool stopping = false, ended = false;
    auto process = std::make_unique<runtime::Scope>(machine);
    process->spawn(guard(machine, node, stopping, ended));
    while (!ended) {
      if (node.strikes.empty()) {
        if (!co_await node.struck.wait()) co_return;
        continue;
      }
      const Strike strike = node.strikes.front();
      node.strikes.pop_front();
      machine.note(fmt::format("strike {}", static_cast<int>(strike)));
      if (strike == Strike::lose_disk) (void)machine.files().remove(kElectionFile);
      if (strike == Strike::kill_engine || strike == Strike::lose_disk) {
        for (const std::unique_ptr<Process>& engine : engines) end(node, *engine);
      } else if (strike == Strike::stop_agent) {
        stopping = true;
        node.child_ended.notify();
      } else {
        process.reset();
        for (const std::unique_ptr<Process>& engine : engines) {
          engine->asked_to_end = true;
          engine->asked.notify();
        }
        break;
      }
    }
    process.reset();
    if (!co_await runtime::sleep(machine, Duration(machine.random() % 200'000'000))) co_return;
  }
}

Task<void> VipSite::guard(Machine& machine, Node& node, const bool& stopping, bool& ended) {
  using Step = vip::GuardPlan::Step;
  vip::GuardPlan plan;
  Process* engine = nullptr;
  for (;;) {
    if (stopping) plan.stop(machine.now());
    if (engine && engine->ended) plan.ended(machine.now());
    switch (plan.next(machine.now())) {
      case Step::start:
        std::erase_if(*node.engines, [](const auto& one) { return one->ended; });
        engine = node.engines->emplace_back(std::make_unique<Process>()).get();
        engine->life = std::make_unique<runtime::Scope>(machine);
        engine->life->spawn(run_engine(machine, node, *engine));
        break;
      case Step::ask:
        engine->asked_to_end = true;
        engine->asked.notify();
        break;
      case Step::kill:
        end(node, *engine);
        break;
      case Step::close: {
        node.kernel->close_all();
        const bool told = engine && engine->notes.last();
        plan.closed(machine.now(), true, told ? engine->notes.last()->margin : kMarginWithoutNote);
        break;
      }
      case Step::farewell:
        if (engine && engine->notes.last()) co_await say_farewell(machine, *engine->notes.last());
        break;
      case Step::end:
        ended = true;
        node.struck.notify();
        co_return;
      case Step::nothing: {
        const std::optional<Instant> due = plan.due();
        runtime::TimedWait wait(machine, node.child_ended, due.value_or(machine.now() + 1h));
        const Result<> woken = co_await wait;
        if (!woken && woken.error().code == Code::cancelled) co_return;
      }
    }
  }
}

Task<void> VipSite::say_farewell(Machine& machine, const vip::GuardNote& note) {
  const vip::GuardNote sent = note;  // the engine may be replaced meanwhile
  auto socket = machine.open_datagram({.host = machine.address(), .port = 0});
  if (!socket) co_return;
  for (const vip::GuardNote::Farewell& one : sent.farewells) {
    for (int copy = 0; copy < vip::kFarewellCopies; ++copy)
      (void)co_await (*socket)->send(one.to, one.bytes);
    ++farewells;
  }
}

void VipSite::end(Node& node, Process& process) {
  process.life.reset();
  process.engine = nullptr;
  process.ended = true;
  if (node.lock == &process) node.lock = nullptr;
  node.child_ended.notify();
}

Task<void> VipSite::leave_notes(Process& process) {
  for (;;) {
    vip::GuardNote note{.margin = process.engine->margin(), .unfenced = false, .farewells = {}};
    for (const vip::Farewell& one : process.engine->farewells())
      note.farewells.push_back({one.to, one.bytes});
    process.notes.feed(vip::encode(note));
    if (!co_await process.engine->farewells_changed().wait()) co_return;
  }
}

Task<void> VipSite::run_engine(Machine& machine, Node& node, Process& process) {
  while (node.lock != nullptr)
    if (!co_await runtime::sleep(machine, kLockPoll)) co_return;
  node.lock = &process;
  if (auto opened = open_(machine, *node.kernel)) {
    const std::unique_ptr<vip::Engine> engine = std::move(*opened);
    runtime::Scope fibers(machine);
    process.engine = engine.get();
    process.fibers = &fibers;
    std::vector<vip::VipConfig> vips;
    for (const Ip& address : addresses())
      vips.push_back({.address = address, .interface = "eth0", .options = {}});
    engine->offer(std::move(vips));
    fibers.spawn(engine->run());
    fibers.spawn(leave_notes(process));
    while (!process.asked_to_end)
      if (!co_await process.asked.wait()) co_return;
    co_await engine->retire();
    process.engine = nullptr;
  }  // its fibers end where they stand
  process.ended = true;
  node.lock = nullptr;
  node.child_ended.notify();
}

}  // namespace fairlead::sim
