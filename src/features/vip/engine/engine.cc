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
  const std::map<Ip, VipConfig> offered_before = std::exchange(vips_, {});
  for (VipConfig& vip : vips) {
    const Ip address = vip.address;
    if (!offered_before.contains(address)) unused_.insert(address);
    ever_offered_.insert(address);
    vips_[address] = std::move(vip);
  }
  std::erase_if(fenced_, [&](const auto& one) { return !vips_.contains(one.first); });
  offer_what_is_usable();
}

// A VIP is fenced before anything else; that may have to wait for its interface.
Result<> Engine::make_usable(const VipConfig& vip) {
  std::string& fenced = fenced_[vip.address];
  if (fenced != vip.interface) {
    FL_CHECKED(parts_.fence.watch(vip.address, vip.interface));
    fenced = vip.interface;
  }
  return parts_.interfaces.usable(vip.address, vip.interface);
}

void Engine::offer_what_is_usable() {
  std::vector<Offer> offers;
  std::map<Ip, std::string> problems;
  for (const auto& [address, vip] : vips_) {
    const Result<> usable = make_usable(vip);
    problems[address] = usable ? "" : usable.error().message;
    const auto before = problems_.find(address);
    if ((before == problems_.end() ? "" : before->second) != problems[address])
      log::write(usable ? log::Level::info : log::Level::warning,
                 usable ? "virtual IP can be held here" : "virtual IP cannot be held here",
                 {{"vip", address.to_string()}, {"reason", problems[address]}});
    if (fenced_[address] != vip.interface) continue;
    offers.push_back({.vip = address,
                      .healthy = usable && vip.healthy,
                      .priority = vip.priority,
                      .options = vip.options});
  }
  std::erase_if(problems, [](const auto& one) { return one.second.empty(); });
  problems_ = std::move(problems);
  if (offers == offered_) return;
  offered_ = offers;
  elector_->offer(parts_.runtime.now(), std::move(offers));
  settle();
}

std::string Engine::problem(const Ip& vip) const {
  if (const auto rival = strangers_.find(vip); rival != strangers_.end())
    return vip.to_string() + " is in use by another machine: " + rival->second.to_string();
  const auto found = problems_.find(vip);
  return found == problems_.end() ? "" : found->second;
}

void Engine::note_what_is_used() {
  std::erase_if(unused_, [this](const Ip& vip) {
    const auto row = elector_->table().find(vip);
    return row != elector_->table().end() && !row->second.node.empty() &&
           row->second.node != options_.node;
  });
}

bool Engine::is_strangers(const Ip& vip) {
  const std::optional<Mac> rival =
      unused_.contains(vip) ? parts_.interfaces.rival(vip) : std::nullopt;
  if (!rival) {
    strangers_.erase(vip);
    return false;
  }
  if (strangers_.insert_or_assign(vip, *rival).second)
    log::warning("virtual IP is in use by another machine: it is not held",
                 {{"vip", vip.to_string()}, {"mac", rival->to_string()}});
  return true;
}

// VIPs of an earlier process. One whose address is here stays fenced, and so does one that this
// process had: a program with an IPv6 socket that is bound to it may go on sending from it.
void Engine::forget_what_is_left_over() {
  const Result<std::vector<FencedVip>> fenced = parts_.fence.list();
  if (!fenced || ever_offered_.empty()) return;
  for (const FencedVip& one : *fenced) {
    const bool in_use = ever_offered_.contains(one.vip) || held_.contains(one.vip) ||
                        open_until_.contains(one.vip) || !parts_.interfaces.absent(one.vip);
    if (in_use) continue;
    if (parts_.fence.forget(one.vip))
      log::info("virtual IP no longer fenced", {{"vip", one.vip.to_string()}});
  }
}

Task<void> Engine::follow_interfaces() {
  for (;;) {
    offer_what_is_usable();
    forget_what_is_left_over();
    if (!co_await parts_.interfaces.changed().wait()) co_return;
  }
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

bool Engine::holds(const Ip& vip) const {
  const auto until = open_until_.find(vip);
  return until != open_until_.end() && parts_.runtime.now() < until->second;
}

// Fences first: what is told to others must be true already.
void Engine::settle() {
  note_what_is_used();
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
    if (holds(claim.vip)) parts_.interfaces.leaving(claim.vip);
    if (Result<> closed = parts_.fence.close(claim.vip); !closed) {
      // Not told to the peers: they wait until the lease has ended.
      log::error("fence not closed",
                 {{"vip", claim.vip.to_string()}, {"error", closed.error().to_string()}});
      continue;
    }
    open_until_.erase(claim.vip);
    let_go(claim.vip);
    claimed_.erase(claim.vip);
    log::info("virtual IP given up", {{"vip", claim.vip.to_string()}, {"epoch", claim.epoch}});
    if (parts_.events) parts_.events->given_up(claim);
    closing_.push_back({parts_.runtime.now() + timing().margin, claim});
  }
}

// An address that stays for a while is fenced: nobody hears of it.
void Engine::let_go(const Ip& vip) {
  if (held_.erase(vip) > 0) parts_.interfaces.let_go(vip);
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
    claimed_[claim.vip].lost = true;
    let_go(claim.vip);
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
    if (vip == vips_.end() || fenced_[claim.vip] != vip->second.interface) continue;
    if (!held_.contains(claim.vip) && is_strangers(claim.vip)) continue;
    Claimed& claimed = claimed_[claim.vip];
    if (claimed.epoch != claim.epoch) claimed = {.epoch = claim.epoch, .assigned = asked};
    const std::optional<Instant> deadline = deadline_of(claim.vip, asked);
    const bool granted = deadline && asked < *deadline;
    if (claimed.lost && !granted) continue;
    claimed.lost = false;
    std::string& at = held_[claim.vip];
    if (at != vip->second.interface) {
      at = vip->second.interface;
      parts_.interfaces.hold(claim.vip, at);
      open_until_.erase(claim.vip);  // to be announced there
    }
    if (granted) open(claim, *deadline);
  }
}

void Engine::open(const Claim& claim, Instant deadline) {
  const Instant now = parts_.runtime.now();
  Instant& until = open_until_[claim.vip];
  if (until == deadline) return;
  const bool was_open = now < until;
  if (Result<> opened = parts_.fence.open_until(claim.vip, deadline); !opened) {
    log::error("fence not opened",
               {{"vip", claim.vip.to_string()}, {"error", opened.error().to_string()}});
    return;
  }
  until = deadline;
  unused_.erase(claim.vip);
  if (was_open) return;
  const std::string& at = held_.at(claim.vip);
  parts_.interfaces.announce(claim.vip);
  log::info("virtual IP held",
            {{"vip", claim.vip.to_string()}, {"interface", at}, {"epoch", claim.epoch}});
  if (parts_.events)
    parts_.events->held({.claim = claim,
                         .interface = at,
                         .assigned = claimed_[claim.vip].assigned,
                         .granted = now,
                         .announced = parts_.runtime.now()});
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
  const bool alone = addresses_.size() < 2;  // nobody will take over
  for (const auto& [vip, interface] : held_)
    if (holds(vip) && !alone) parts_.interfaces.leaving(vip);
  parts_.fence.close_all();
  open_until_.clear();
  while (!held_.empty()) let_go(Ip(held_.begin()->first));
  if (!co_await runtime::sleep(parts_.runtime, timing().margin)) co_return;
  for (const Farewell& farewell : farewells())
    (void)co_await socket_->send(farewell.to, farewell.bytes);
  co_await parts_.interfaces.settled();
}

Task<void> Engine::run() {
  runtime::Scope scope(parts_.runtime);
  scope.spawn(receive());
  scope.spawn(send());
  scope.spawn(keep_time());
  scope.spawn(keep_state());
  scope.spawn(follow_interfaces());
  co_await scope.join();
}

}  // namespace fairlead::vip
