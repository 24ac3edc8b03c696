#include "sim/world/world.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::sim {

class World::Action final : public runtime::Timer {
 public:
  Action(World& world, std::function<void()> action) : world_(world), action_(std::move(action)) {}
  std::list<std::unique_ptr<Action>>::iterator place;
  void fire() override {
    const std::unique_ptr<Action> self = std::move(*place);
    world_.actions_.erase(place);
    action_();
  }

 private:
  World& world_;
  std::function<void()> action_;
};

World::World(std::uint64_t seed, WorldSettings settings)
    : seed_(seed),
      settings_(std::move(settings)),
      random_(seed),
      network_(std::make_unique<Network>(*this, settings_.link)) {}

// Machines first: their frames hold sockets of the network and timers of the world. The later ones
// before the earlier ones, because scenarios build clients on servers.
World::~World() {
  while (!machines_.empty()) machines_.pop_back();
  network_.reset();
  actions_.clear();
  while (!owned_.empty()) owned_.pop_front();
}

Machine& World::add_machine(std::string name, MachineSettings settings) {
  for (const auto& machine : machines_) CHECK(machine->name() != name);
  if (settings.address.empty()) {
    const std::size_t number = machines_.size() + 1;
    settings.address = fmt::format("10.0.{}.{}", number / 250, number % 250 + 1);
  }
  const ActorId id = trace_.name(name);
  machines_.push_back(std::make_unique<Machine>(*this, std::move(name), id, std::move(settings)));
  network_->machine_added(*machines_.back());
  return *machines_.back();
}

Machine& World::machine(std::string_view name) {
  for (const auto& machine : machines_)
    if (machine->name() == name) return *machine;
  std::fprintf(stderr, "no machine named %.*s\n", static_cast<int>(name.size()), name.data());
  CHECK(!"machine exists");
  std::unreachable();
}

void World::run_for(Duration duration) { run_until(now_ + duration); }

void World::run_until(Moment moment) {
  for (const auto& machine : machines_) machine->follow_timers();
  while (step(moment)) {
  }
  now_ = std::max(now_, moment);
}

bool World::run_until(const std::function<bool()>& done, Duration limit) {
  const Moment end = now_ + limit;
  for (const auto& machine : machines_) machine->follow_timers();
  while (!done())
    if (!step(end)) {
      now_ = std::max(now_, end);
      return done();
    }
  return true;
}

bool World::run_until_idle(Duration limit) {
  const Moment end = now_ + limit;
  for (const auto& machine : machines_) machine->follow_timers();
  while (step(end)) {
  }
  return runnable_.empty() && !events_.next_deadline();
}

void World::after(Duration delay, std::function<void()> action) {
  actions_.push_back(std::make_unique<Action>(*this, std::move(action)));
  Action& added = *actions_.back();
  added.place = std::prev(actions_.end());
  schedule(added, now_ + delay);
}

void World::note(std::string text) {
  trace_.add({.at = now_, .what = Happening::note, .text = std::move(text)});
}

void World::schedule(runtime::Timer& event, Moment at) {
  events_.add(event, Instant(std::max(at, now_).time_since_epoch()));
}

void World::make_runnable(Machine& machine) {
  if (std::exchange(machine.runnable_queued, true)) return;
  runnable_.push_back(&machine);
}

void World::count_run() {
  ++events_count_;
  if (++runs_at_moment_ <= settings_.runs_per_moment) return;
  std::fprintf(stderr, "virtual time stands still, seed %llu:\n%s",
               static_cast<unsigned long long>(seed_), trace_.tail(50).c_str());
  CHECK(!"a machine lets time move on");
}

void World::record(Happening what, ActorId subject, ActorId object, std::uint64_t a,
                   std::uint64_t b, std::uint64_t content) {
  trace_.add(
      {.at = now_, .what = what, .subject = subject, .object = object, .a = a, .b = b, .text = {}},
      content);
}

bool World::step(Moment limit) {
  CHECK(!running_);
  running_ = true;
  bool stepped = true;
  if (!runnable_.empty()) {
    Machine& machine = *runnable_.front();
    runnable_.pop_front();
    machine.runnable_queued = false;
    machine.turn();
  } else if (const auto next = events_.next_deadline();
             next && Moment(next->time_since_epoch()) <= limit) {
    const Moment at(next->time_since_epoch());
    if (at != now_) runs_at_moment_ = 0;
    now_ = at;
    count_run();
    events_.pop_due(*next)->fire();
  } else {
    stepped = false;
  }
  running_ = false;
  return stepped;
}

}  // namespace fairlead::sim
