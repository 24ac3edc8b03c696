#include "sim/world/machine.h"

#include <utility>

#include "foundation/base/check.h"
#include "sim/world/network.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

Instant first_reading(Random& random, const MachineSettings& settings) {
  const Duration uptime =
      settings.uptime ? *settings.uptime : random.between(1s, std::chrono::hours(24 * 30));
  return Instant(uptime);
}

}  // namespace

class Machine::Entered {
 public:
  explicit Entered(Machine& machine) : machine_(machine) { ++machine_.entered_; }
  Entered(const Entered&) = delete;
  ~Entered() {
    if (--machine_.entered_ == 0 && machine_.crash_asked_)
      machine_.die(*std::exchange(machine_.crash_asked_, std::nullopt));
  }

 private:
  Machine& machine_;
};

// A blocking job: waits for a thread, does its work, and waits for the loop.
class Machine::Job final : public runtime::Timer, public runtime::Ready {
 public:
  Job(Machine& machine, runtime::BlockingJob job) : machine_(machine), job_(std::move(job)) {}
  std::list<std::unique_ptr<Job>>::iterator place;

  void schedule_next() {
    const Delay& delay =
        worked_ ? machine_.settings_.blocking_end : machine_.settings_.blocking_start;
    machine_.world_.schedule(*this, machine_.world_.now() + delay.draw(machine_.random_));
    held_ = false;
  }
  bool held() const { return held_; }

  void fire() override {
    if (machine_.state_ == State::paused) {
      held_ = true;
      return;
    }
    if (worked_) return machine_.post(*this);
    const Entered entered(machine_);
    machine_.world_.record(Happening::work, machine_.id_);
    job_.work();
    worked_ = true;
    if (!machine_.crash_asked_) schedule_next();
  }

  void run() override {
    const std::unique_ptr<Job> self = std::move(*place);
    machine_.jobs_.erase(place);
    if (job_.done) job_.done();
  }

 private:
  Machine& machine_;
  runtime::BlockingJob job_;
  bool worked_ = false;
  bool held_ = false;
};

void Machine::Wake::fire() {
  machine_.wake_for_.reset();
  machine_.world_.make_runnable(machine_);
}

Machine::Machine(World& world, std::string name, ActorId id, MachineSettings settings)
    : world_(world),
      name_(std::move(name)),
      id_(id),
      settings_(std::move(settings)),
      random_(world.random_stream("machine/" + name_)),
      clock_(world.now(), first_reading(random_, settings_), settings_.clock_rate_ppm),
      wall_offset_(settings_.wall_offset),
      disk_(world.random_stream("disk/" + name_), settings_.disk),
      files_(disk_) {
  disk_.set_observer([this](const DiskEvent& event) { trace_disk(event); });
}

Machine::~Machine() {
  state_ = State::down;
  disk_.set_observer({});
  disk_.detach();
  world_.network().machine_died(*this, false);
  destroy_fibers();
}

void Machine::start(Program program) {
  programs_.emplace_back(std::move(program));
  if (up()) launch(programs_.back());
}

void Machine::launch(Running& running) {
  running.scope = std::make_unique<runtime::Scope>(*this);
  running.scope->spawn(running.program(*this));
}

void Machine::crash(Crash how) {
  if (state_ == State::down) return;
  if (entered_ > 0) {
    crash_asked_ = how;
  } else {
    die(how);
  }
}

void Machine::die(Crash how) {
  world_.record(Happening::crash, id_, 0, how.power_loss ? 1 : 0,
                how.connections == Crash::Connections::reset ? 1 : 0);
  state_ = State::down;
  disk_.detach();  // before the frames go: a destructor must not tidy up on a dead machine's disk
  world_.network().machine_died(*this, how.connections == Crash::Connections::reset);
  destroy_fibers();
  if (!how.power_loss) return;
  ++power_losses_;
  disk_.lose_power();
  clock_ = DriftingClock(world_.now(), Instant(random_.between(1s, 90s)), clock_.rate_ppm());
}

void Machine::destroy_fibers() {
  jobs_.clear();  // what they work on belongs to the fibers
  for (auto running = programs_.rbegin(); running != programs_.rend(); ++running)
    running->scope.reset();
  while (ready_.pop()) {
  }
  world_.unschedule(wake_);
  wake_for_.reset();
}

void Machine::restart() {
  CHECK(state_ == State::down);
  world_.record(Happening::restart, id_);
  ++boot_;
  state_ = State::up;
  disk_.power_on();
  for (Running& running : programs_) launch(running);
}

void Machine::restart(Program program) {
  programs_.clear();
  programs_.emplace_back(std::move(program));
  restart();
}

void Machine::pause() {
  if (state_ != State::up) return;
  world_.record(Happening::pause, id_);
  state_ = State::paused;
  world_.unschedule(wake_);
  wake_for_.reset();
}

void Machine::resume() {
  if (state_ != State::paused) return;
  world_.record(Happening::resume, id_);
  state_ = State::up;
  for (const auto& job : jobs_)
    if (job->held()) job->schedule_next();
  world_.make_runnable(*this);
}

void Machine::lose_power_at_disk_operation(std::uint64_t nth) {
  disk_.cut_power_at_operation(nth, [this] { crash(Crash::power()); });
}

void Machine::set_clock_rate(std::int64_t rate_ppm) {
  clock_.set_rate(world_.now(), rate_ppm);
  world_.record(Happening::clock, id_, 0, static_cast<std::uint64_t>(rate_ppm),
                static_cast<std::uint64_t>(wall_offset_.count()));
  world_.unschedule(wake_);
  wake_for_.reset();
  follow_timers();
}

void Machine::set_wall_offset(Duration offset) {
  wall_offset_ = offset;
  world_.record(Happening::clock, id_, 0, static_cast<std::uint64_t>(clock_.rate_ppm()),
                static_cast<std::uint64_t>(offset.count()));
}

void Machine::note(std::string text) {
  world_.trace().add(
      {.at = world_.now(), .what = Happening::note, .subject = id_, .text = std::move(text)});
}

void Machine::trace_disk(const DiskEvent& event) {
  const Happening what = event.kind == DiskEvent::Kind::write   ? Happening::disk_write
                         : event.kind == DiskEvent::Kind::sync  ? Happening::disk_sync
                         : event.kind == DiskEvent::Kind::name  ? Happening::disk_name
                         : event.kind == DiskEvent::Kind::error ? Happening::disk_error
                                                                : Happening::power_cut;
  world_.trace().add({.at = world_.now(),
                      .what = what,
                      .subject = id_,
                      .a = event.offset,
                      .b = event.size,
                      .text = std::string(event.path)});
}

void Machine::post(runtime::Ready& ready) {
  ready_.push(ready);
  if (state_ == State::up && !turning_) world_.make_runnable(*this);
}

Instant Machine::now() const { return clock_.now(world_.now()); }
WallTime Machine::wall_now() const { return world_.wall_now() + wall_offset_; }

void Machine::start_blocking(runtime::BlockingJob job) {
  if (!up()) return;
  jobs_.push_back(std::make_unique<Job>(*this, std::move(job)));
  jobs_.back()->place = std::prev(jobs_.end());
  jobs_.back()->schedule_next();
}

Task<Result<std::unique_ptr<runtime::Stream>>> Machine::connect(
    runtime::Endpoint to, std::shared_ptr<const runtime::TlsCredentials> tls) {
  return world_.network().connect(*this, std::move(to), std::move(tls));
}
Result<std::unique_ptr<runtime::Listener>> Machine::listen(
    const runtime::Endpoint& at, std::shared_ptr<const runtime::TlsSource> tls) {
  return world_.network().listen(*this, at, std::move(tls));
}
Result<std::unique_ptr<runtime::DatagramSocket>> Machine::open_datagram(
    const runtime::Endpoint& at) {
  return world_.network().open_datagram(*this, at);
}
Result<std::unique_ptr<runtime::PacketSocket>> Machine::open_packet(const std::string& interface,
                                                                    std::uint16_t ethertype) {
  return world_.network().open_packet(*this, interface, ethertype);
}

void Machine::turn() {
  if (state_ != State::up) return;
  const Entered entered(*this);
  turning_ = true;
  std::uint64_t runs = 0;
  const auto goes_on = [this] { return state_ == State::up && !crash_asked_; };
  const Instant local = now();
  while (goes_on()) {
    runtime::Timer* due = timers_.pop_due(local);
    if (!due) break;
    world_.count_run();
    due->fire();
  }
  while (goes_on()) {
    runtime::Ready* ready = ready_.pop();
    if (!ready) break;
    world_.count_run();
    ++runs;
    ready->run();
  }
  turning_ = false;
  world_.record(Happening::turn, id_, 0, runs);
  follow_timers();
}

void Machine::follow_timers() {
  if (state_ != State::up) return;
  const std::optional<Instant> next = timers_.next_deadline();
  if (next == wake_for_) return;
  world_.unschedule(wake_);
  wake_for_ = next;
  if (!next) return;
  world_.schedule(wake_, clock_.when(*next) + settings_.timer_lateness.draw(random_));
}

}  // namespace fairlead::sim
