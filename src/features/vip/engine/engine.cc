#include "features/vip/engine/engine.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr int kStateMode = 0600;
constexpr std::size_t kMostQueued = 1'024;  // datagrams; further ones are dropped, as networks do

Result<EngineState> read_state(runtime::Runtime& runtime, const EngineOptions& options) {
  const Result<std::string> text = runtime.files().read(options.state);
  if (text) {
    Result<EngineState> state = decode_state(*text);
    if (!state) return fail(std::move(state).error().context(options.state));
    return state;
  }
  if (text.error().code != Code::not_found) return fail(text.error());
  EngineState state{
      .instance = runtime.random() | 1,
      .durable = {.reserved_term = 0, .log = {{.version = {}, .settings = options.settings}}}};
  std::ranges::sort(state.durable.log.front().settings.members);
  FL_CHECKED(runtime.files().write_atomically(options.state, encode(state), kStateMode));
  return state;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(Parts parts, EngineOptions options) {
  FL_CHECKED(check(options.settings.timing));
  if (!options.settings.find(options.node))
    return fail(Code::invalid, "node " + options.node + " is none of the members");
  FL_TRY(EngineState state, read_state(parts.runtime, options));
  auto socket = parts.runtime.open_datagram(options.listen);
  if (!socket) return fail(std::move(socket).error().context("listen"));
  return std::unique_ptr<Engine>(
      new Engine(parts, std::move(options), std::move(state), std::move(*socket)));
}

Engine::Engine(Parts parts, EngineOptions options, EngineState state,
               std::unique_ptr<runtime::DatagramSocket> socket)
    : parts_(parts),
      options_(std::move(options)),
      instance_(state.instance),
      socket_(std::move(socket)),
      sessions_({.self = {options_.node, parts_.runtime.random() | 1}, .secret = options_.secret}) {
  elector_.emplace(ElectorOptions{.self = options_.node,
                                  .incarnation = sessions_.self().incarnation,
                                  .durable = std::move(state.durable)},
                   parts_.runtime.now(), [this] { return parts_.runtime.random(); });
  follow_members();
}

void Engine::follow_members() {
  const Entry& latest = elector_->raft().latest();
  members_ = latest.version;
  addresses_.clear();
  std::vector<std::string> names;
  for (const Member& member : latest.settings.members) {
    names.push_back(member.name);
    if (Result<runtime::Endpoint> at = runtime::Endpoint::parse(member.address))
      addresses_[member.name] = std::move(*at);
  }
  sessions_.set_peers(names);
}

void Engine::offer(std::vector<VipConfig> vips) {
  vips_.clear();
  problems_.clear();
  std::vector<Offer> offers;
  for (VipConfig& vip : vips) {
    if (Result<> watched = parts_.fence.watch(vip.address, vip.interface); !watched) {
      problems_[vip.address] = "it cannot be fenced: " + watched.error().message;
      log::error("virtual IP not fenced: it is not held here",
                 {{"vip", vip.address.to_string()}, {"error", watched.error().to_string()}});
      continue;
    }
    const Result<> usable = parts_.interfaces.usable(vip.address, vip.interface);
    if (!usable) problems_[vip.address] = usable.error().message;
    offers.push_back({.vip = vip.address,
                      .healthy = usable && vip.healthy,
                      .priority = vip.priority,
                      .options = vip.options});
    vips_[vip.address] = std::move(vip);
  }
  elector_->offer(parts_.runtime.now(), std::move(offers));
  settle();
}

Task<Result<>> Engine::wish(Wish wish) {
  const std::uint64_t number = elector_->wish(parts_.runtime.now(), std::move(wish));
  settle();
  for (;;) {
    if (std::optional<Result<>> answer = elector_->take_answer(number)) co_return *answer;
    FL_CO_CHECKED(co_await wish_answered_.wait());
  }
}

std::vector<Engine::Farewell> Engine::farewells() const {
  std::vector<Farewell> all;
  for (const auto& [name, at] : addresses_) {
    if (name == options_.node) continue;
    if (std::optional<std::string> bytes = sessions_.farewell(name, elector_->farewell()))
      all.push_back({at, std::move(*bytes)});
  }
  return all;
}

std::string Engine::problem(const Ip& vip) const {
  const auto at = problems_.find(vip);
  return at == problems_.end() ? std::string() : at->second;
}

bool Engine::holds(const Ip& vip) const {
  const auto until = open_until_.find(vip);
  return until != open_until_.end() && parts_.runtime.now() < until->second;
}

// Fences first: what is told to others must be true already.
void Engine::settle() {
  close_what_moved();
  note_what_expired();
  open_what_is_granted();
  send_messages();
  if (elector_->raft().latest().version != members_) follow_members();
  if (sessions_.changes() != sessions_seen_) {
    sessions_seen_ = sessions_.changes();
    farewells_changed_.notify();
  }
  if (elector_->has_answers()) wish_answered_.notify();
  time_changed_.notify();
  to_write_.notify();
}

void Engine::close_what_moved() {
  for (const Claim& claim : elector_->closing()) {
    const bool begun =
        std::ranges::any_of(closing_, [&](const Closing& one) { return one.claim == claim; });
    if (begun) continue;
    if (Result<> closed = parts_.fence.close(claim.vip); !closed) {
      // Not told to the peers: they wait until the lease has ended.
      log::error("fence not closed",
                 {{"vip", claim.vip.to_string()}, {"error", closed.error().to_string()}});
      continue;
    }
    open_until_.erase(claim.vip);
    if (const auto held = held_.find(claim.vip); held != held_.end()) {
      let_go(claim.vip, held->second);
      held_.erase(held);
    }
    claimed_.erase(claim.vip);
    log::info("virtual IP given up", {{"vip", claim.vip.to_string()}, {"epoch", claim.epoch}});
    if (parts_.events) parts_.events->given_up(claim);
    closing_.push_back({parts_.runtime.now() + timing().margin, claim});
  }
}

// An address that stays is fenced: nobody hears of it.
void Engine::let_go(const Ip& vip, const std::string& interface) {
  if (Result<> gone = parts_.interfaces.let_go(vip, interface); !gone)
    log::warning("address not removed",
                 {{"vip", vip.to_string()}, {"error", gone.error().to_string()}});
}

void Engine::note_what_expired() {
  const Instant now = parts_.runtime.now();
  for (const Claim& claim : elector_->wanted()) {
    const auto until = open_until_.find(claim.vip);
    if (until == open_until_.end() || now < until->second) continue;
    if (const std::optional<Instant> deadline = deadline_of(claim.vip, now);
        deadline && now < *deadline)
      continue;  // renewed in time, only this process was late
    open_until_.erase(until);
    log::warning("virtual IP lost: no majority of the peers has renewed it in time",
                 {{"vip", claim.vip.to_string()}, {"epoch", claim.epoch}});
    if (parts_.events) parts_.events->expired(claim);
  }
}

// By the majority's grant; without a majority, if so configured, by this node's own word.
std::optional<Instant> Engine::deadline_of(const Ip& vip, Instant now) const {
  std::optional<Instant> deadline = elector_->deadline(vip);
  if (!options_.keep_without_quorum || !open_until_.contains(vip) ||
      (deadline && now < *deadline) || elector_->hears_majority(now))
    return deadline;
  return now + timing().lease;
}

void Engine::open_what_is_granted() {
  if (retired_) return;
  const Instant asked = parts_.runtime.now();
  for (const Claim& claim : elector_->wanted()) {
    const auto vip = vips_.find(claim.vip);
    if (vip == vips_.end()) continue;
    const std::string& interface = vip->second.interface;
    Claimed& claimed = claimed_[claim.vip];
    if (claimed.epoch != claim.epoch) claimed = {.epoch = claim.epoch, .assigned = asked};
    if (!held_.contains(claim.vip)) {
      if (Result<> held = parts_.interfaces.hold(claim.vip, interface); !held) {
        log::warning("address not added",
                     {{"vip", claim.vip.to_string()}, {"error", held.error().to_string()}});
        continue;
      }
      held_[claim.vip] = interface;
    }
    const std::optional<Instant> deadline = deadline_of(claim.vip, asked);
    if (!deadline) continue;
    Instant& until = open_until_[claim.vip];
    if (until == *deadline) continue;
    const Instant now = parts_.runtime.now();
    const bool was_open = now < until;
    if (Result<> opened = parts_.fence.open_until(claim.vip, *deadline); !opened) {
      log::error("fence not opened",
                 {{"vip", claim.vip.to_string()}, {"error", opened.error().to_string()}});
      continue;
    }
    until = *deadline;
    if (was_open || now >= until) continue;
    parts_.interfaces.announce(claim.vip, interface);
    log::info("virtual IP held",
              {{"vip", claim.vip.to_string()}, {"interface", interface}, {"epoch", claim.epoch}});
    if (parts_.events)
      parts_.events->held({.claim = claim,
                           .interface = interface,
                           .assigned = claimed.assigned,
                           .granted = now,
                           .announced = parts_.runtime.now()});
  }
}

void Engine::send_messages() {
  for (const Elector::Envelope& envelope : elector_->take_messages())
    queue(envelope.to, sessions_.send(envelope.to, envelope.message));
}

void Engine::queue(const std::string& to, std::string bytes) {
  if (outgoing_.size() >= kMostQueued) return;
  outgoing_.push_back({to, std::move(bytes)});
  to_send_.notify();
}

Task<void> Engine::send() {
  for (;;) {
    while (!outgoing_.empty()) {
      const Outgoing one = std::move(outgoing_.front());
      outgoing_.pop_front();
      const auto at = addresses_.find(one.to);
      if (at == addresses_.end()) continue;
      const Result<> sent = co_await socket_->send(at->second, one.bytes);
      if (!sent && sent.error().code == Code::cancelled) co_return;
    }
    if (!co_await to_send_.wait()) co_return;
  }
}

Task<void> Engine::receive() {
  for (;;) {
    const Result<runtime::Datagram> datagram = co_await socket_->receive();
    if (!datagram) {
      if (datagram.error().code == Code::cancelled) co_return;
      if (!co_await runtime::sleep(parts_.runtime, 10ms)) co_return;
      continue;
    }
    Sessions::Outcome outcome = sessions_.receive(datagram->bytes);
    if (!outcome.refused.empty())
      log::debug("datagram refused",
                 {{"from", datagram->from.to_string()}, {"reason", outcome.refused}});
    if (outcome.reply) queue(outcome.reply->first, std::move(outcome.reply->second));
    if (outcome.received)
      elector_->receive(parts_.runtime.now(), outcome.received->from, outcome.received->message);
    settle();
  }
}

Task<void> Engine::keep_time() {
  for (;;) {
    const Instant now = parts_.runtime.now();
    std::vector<Claim> closed;
    std::erase_if(closing_, [&](const Closing& one) {
      if (one.due > now) return false;
      closed.push_back(one.claim);
      return true;
    });
    for (const Claim& claim : closed) elector_->closed(now, claim);
    if (now >= elector_->next_tick()) elector_->tick(now);
    settle();
    Instant due = elector_->next_tick();
    for (const Closing& one : closing_) due = std::min(due, one.due);
    runtime::TimedWait wait(parts_.runtime, time_changed_, due);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
  }
}

Task<void> Engine::keep_state() {
  for (;;) {
    if (std::optional<Raft::Write> write = elector_->take_write()) {
      std::string text =
          encode(EngineState{.instance = instance_, .durable = std::move(write->durable)});
      Result<> written = co_await runtime::blocking(parts_.runtime, [this, text = std::move(text)] {
        return parts_.runtime.files().write_atomically(options_.state, text, kStateMode);
      });
      if (!written) {
        log::error("election state not written",
                   {{"file", options_.state}, {"error", written.error().to_string()}});
        if (!co_await runtime::sleep(parts_.runtime, 1s)) co_return;
        elector_->write_failed();
        continue;
      }
      elector_->written(parts_.runtime.now(), write->number);
      settle();
      continue;
    }
    if (!co_await to_write_.wait()) co_return;
  }
}

Task<void> Engine::retire() {
  retired_ = true;
  parts_.fence.close_all();
  open_until_.clear();
  for (const auto& [vip, interface] : held_) let_go(vip, interface);
  held_.clear();
  if (!co_await runtime::sleep(parts_.runtime, timing().margin)) co_return;
  for (const Farewell& farewell : farewells())
    (void)co_await socket_->send(farewell.to, farewell.bytes);
}

Task<void> Engine::run() {
  runtime::Scope scope(parts_.runtime);
  scope.spawn(receive());
  scope.spawn(send());
  scope.spawn(keep_time());
  scope.spawn(keep_state());
  co_await scope.join();
}

}  // namespace fairlead::vip
