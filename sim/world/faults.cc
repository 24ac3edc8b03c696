#include "sim/world/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using Kind = Fault::Kind;

bool makes_victim(Kind kind) {
  return kind == Kind::isolate || kind == Kind::pause || kind == Kind::kill ||
         kind == Kind::power_loss || kind == Kind::power_loss_in_write;
}

bool is_cut(Kind kind) { return kind == Kind::cut_one_way || kind == Kind::cut_both_ways; }

std::vector<Kind> usual_kinds() {
  return {Kind::cut_one_way, Kind::cut_both_ways, Kind::isolate,
          Kind::slow,        Kind::lossy,         Kind::pause,
          Kind::kill,        Kind::power_loss,    Kind::power_loss_in_write,
          Kind::clock_rate,  Kind::wall_step};
}

std::int64_t draw_amount(Random& random, Kind kind, const FaultSettings& settings) {
  const auto within = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random.below(2 * static_cast<std::uint64_t>(most) + 1)) - most;
  };
  if (kind == Kind::clock_rate) return within(settings.clock_rate_ppm);
  if (kind == Kind::wall_step) return within(settings.wall_step.count());
  if (kind == Kind::power_loss_in_write) return static_cast<std::int64_t>(1 + random.below(40));
  return 0;
}

// Machines that are victims of some fault at a given time.
std::size_t victims_during(const std::vector<Fault>& plan, Moment from, Moment until,
                           const std::string& subject, bool& subject_is_one) {
  std::vector<std::string> victims;
  for (const Fault& fault : plan) {
    if (!makes_victim(fault.kind) || fault.at > until || fault.at + fault.lasts < from) continue;
    if (fault.subject == subject) subject_is_one = true;
    if (std::ranges::find(victims, fault.subject) == victims.end())
      victims.push_back(fault.subject);
  }
  return victims.size();
}

}  // namespace

std::string_view fault_name(Kind kind) {
  switch (kind) {
    case Kind::cut_one_way:
      return "cut one way";
    case Kind::cut_both_ways:
      return "cut both ways";
    case Kind::isolate:
      return "isolate";
    case Kind::slow:
      return "slow";
    case Kind::lossy:
      return "lossy";
    case Kind::pause:
      return "pause";
    case Kind::kill:
      return "kill";
    case Kind::power_loss:
      return "power loss";
    case Kind::power_loss_in_write:
      return "power loss in write";
    case Kind::clock_rate:
      return "clock rate";
    case Kind::wall_step:
      return "wall step";
    case Kind::disk_full:
      return "disk full";
    case Kind::disk_errors:
      return "disk errors";
  }
  return "?";
}

std::string Fault::to_string() const {
  std::string text = fmt::format("{} {}", fault_name(kind), subject);
  if (!object.empty()) text += " to " + object;
  if (amount != 0) text += fmt::format(" by {}", amount);
  return text + fmt::format(" for {} ms",
                            std::chrono::duration_cast<std::chrono::milliseconds>(lasts).count());
}

std::vector<Fault> plan_faults(Random random, const FaultSettings& settings) {
  CHECK(!settings.machines.empty());
  const std::vector<Kind> kinds = settings.kinds.empty() ? usual_kinds() : settings.kinds;
  const Moment end(settings.end);
  std::vector<Fault> plan;
  Moment at(settings.begin);
  for (;;) {
    at += settings.pause_between.draw(random);
    if (at >= end) return plan;
    Fault fault;
    fault.at = at;
    fault.lasts = std::min(settings.lasting.draw(random), end - at);
    fault.kind = kinds[random.below(kinds.size())];
    fault.subject = settings.machines[random.below(settings.machines.size())];
    fault.amount = draw_amount(random, fault.kind, settings);
    if (is_cut(fault.kind)) {
      fault.object = settings.machines[random.below(settings.machines.size())];
      if (fault.object == fault.subject) continue;
    }
    bool already = false;
    const std::size_t victims =
        victims_during(plan, fault.at, fault.at + fault.lasts, fault.subject, already);
    // One trouble of that kind at a time for one machine: overlapping restarts mean nothing.
    if (makes_victim(fault.kind) && (already || victims >= settings.victims_at_most)) continue;
    plan.push_back(std::move(fault));
  }
}

Nemesis::Nemesis(World& world, std::vector<Fault> plan, Duration end)
    : world_(world), plan_(std::move(plan)), healthy_(world.settings().link) {
  schedule(end);
}

Nemesis::Nemesis(World& world, const FaultSettings& settings)
    : Nemesis(world, plan_faults(world.random_stream("nemesis"), settings), settings.end) {}

void Nemesis::schedule(Duration end) {
  const Moment now = world_.now();
  for (const Fault& fault : plan_) {
    world_.after(fault.at - now, [this, &fault] { inflict(fault); });
    world_.after(fault.at + fault.lasts - now, [this, &fault] { relieve(fault); });
  }
  world_.after(Moment(end) - now, [this] { heal_everything(); });
}

void Nemesis::inflict(const Fault& fault) {
  Machine& subject = world_.machine(fault.subject);
  Network& network = world_.network();
  world_.note(fault.to_string());
  switch (fault.kind) {
    case Kind::cut_one_way:
      return network.cut(subject, world_.machine(fault.object));
    case Kind::cut_both_ways:
      return network.cut_both(subject, world_.machine(fault.object));
    case Kind::isolate:
      return network.isolate(subject);
    case Kind::slow:
    case Kind::lossy:
      for (const auto& other : world_.machines()) {
        if (other.get() == &subject) continue;
        LinkSettings settings = healthy_;
        if (fault.kind == Kind::slow) settings.latency = {.least = 20ms, .spread = 400ms};
        if (fault.kind == Kind::lossy) {
          settings.loss_per_million = 250'000;
          settings.duplicate_per_million = 50'000;
        }
        network.link(subject, *other).set(settings);
      }
      return;
    case Kind::pause:
      return subject.pause();
    case Kind::kill:
      return subject.crash(Crash::kill());
    case Kind::power_loss:
      return subject.crash(Crash::power());
    case Kind::power_loss_in_write:
      if (!subject.up()) return;
      return subject.lose_power_at_disk_operation(static_cast<std::uint64_t>(fault.amount));
    case Kind::clock_rate:
      return subject.set_clock_rate(fault.amount);
    case Kind::wall_step:
      return subject.set_wall_offset(Duration(fault.amount));
    case Kind::disk_full:
      return subject.disk().set_capacity(subject.disk().used());
    case Kind::disk_errors:
      return subject.disk().set_faults(
          {.read_per_million = 1'000, .write_per_million = 20'000, .sync_per_million = 20'000});
  }
}

void Nemesis::relieve(const Fault& fault) {
  Machine& subject = world_.machine(fault.subject);
  Network& network = world_.network();
  switch (fault.kind) {
    case Kind::cut_one_way:
      return network.heal(subject, world_.machine(fault.object));
    case Kind::cut_both_ways:
      return network.heal_both(subject, world_.machine(fault.object));
    case Kind::isolate:
      for (const auto& other : world_.machines()) network.heal_both(subject, *other);
      return;
    case Kind::slow:
    case Kind::lossy:
      for (const auto& other : world_.machines())
        if (other.get() != &subject) network.link(subject, *other).set(healthy_);
      return;
    case Kind::pause:
      return subject.resume();
    case Kind::kill:
    case Kind::power_loss:
    case Kind::power_loss_in_write:
      if (fault.kind == Kind::power_loss_in_write) subject.crash(Crash::power());
      if (!subject.up()) subject.restart();
      return;
    case Kind::clock_rate:
      return subject.set_clock_rate(subject.settings().clock_rate_ppm);
    case Kind::wall_step:
      return subject.set_wall_offset(subject.settings().wall_offset);
    case Kind::disk_full:
      return subject.disk().set_capacity(subject.settings().disk.capacity);
    case Kind::disk_errors:
      return subject.disk().set_faults({});
  }
}

void Nemesis::heal_everything() {
  world_.note("all faults end");
  world_.network().heal_all();
  world_.network().set_all(healthy_);
  for (const auto& machine : world_.machines()) {
    if (!machine->up()) machine->restart();
    machine->resume();
    machine->disk().set_faults({});
    machine->disk().set_capacity(machine->settings().disk.capacity);
  }
}

}  // namespace fairlead::sim
