#include "features/vip/engine/engine.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {

Result<std::unique_ptr<Engine>> Engine::open(Parts parts, EngineOptions options) {
  const bool keep = options.keep_without_quorum;
  FL_TRY(std::unique_ptr<PeerElectorate> peers,
         PeerElectorate::open(parts.runtime, std::move(options)));
  return std::make_unique<Engine>(parts, std::move(peers), keep);
}

Engine::Engine(Parts parts, std::unique_ptr<Electorate> electorate, bool keep_without_quorum)
    : parts_(parts),
      electorate_(std::move(electorate)),
      election_(electorate_->election()),
      keep_without_quorum_(keep_without_quorum) {}

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
  election_.offer(parts_.runtime.now(), std::move(offers));
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
    const auto row = election_.table().find(vip);
    return row != election_.table().end() && !row->second.node.empty() &&
           row->second.node != election_.self();
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
  const std::uint64_t number = election_.wish(parts_.runtime.now(), std::move(wish));
  settle();
  for (;;) {
    if (std::optional<Result<>> answer = election_.take_answer(number)) co_return *answer;
    FL_CO_CHECKED(co_await wish_answered_.wait());
  }
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
  electorate_->carry();
  if (election_.has_answers()) wish_answered_.notify();
  time_changed_.notify();
}

void Engine::close_what_moved() {
  for (const Claim& claim : election_.closing()) {
    const bool begun =
        std::ranges::any_of(closing_, [&](const Closing& one) { return one.claim == claim; });
    if (begun) continue;
    if (holds(claim.vip)) parts_.interfaces.leaving(claim.vip);
    if (Result<> closed = parts_.fence.close(claim.vip);
        !closed && closed.error().code != Code::not_found) {
      // Not told to the others: they wait until the lease has ended.
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
  for (const Claim& claim : election_.wanted()) {
    const auto until = open_until_.find(claim.vip);
    if (until == open_until_.end() || now < until->second) continue;
    if (const std::optional<Instant> deadline = deadline_of(claim.vip, now);
        deadline && now < *deadline)
      continue;  // renewed in time, only this process was late
    open_until_.erase(until);
    claimed_[claim.vip].lost = true;
    let_go(claim.vip);
    log::warning("virtual IP lost: it was not renewed in time",
                 {{"vip", claim.vip.to_string()}, {"epoch", claim.epoch}});
    if (parts_.events) parts_.events->expired(claim);
  }
}

// By the majority's grant; without a majority, if so configured, by this node's own word.
std::optional<Instant> Engine::deadline_of(const Ip& vip, Instant now) const {
  std::optional<Instant> deadline = election_.deadline(vip);
  if (!keep_without_quorum_ || !open_until_.contains(vip) || (deadline && now < *deadline) ||
      election_.hears_majority(now))
    return deadline;
  return now + timing().lease;
}

void Engine::open_what_is_granted() {
  if (retired_) return;
  const Instant asked = parts_.runtime.now();
  for (const Claim& claim : election_.wanted()) {
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

Task<void> Engine::keep_time() {
  for (;;) {
    const Instant now = parts_.runtime.now();
    std::vector<Claim> closed;
    std::erase_if(closing_, [&](const Closing& one) {
      if (one.due > now) return false;
      closed.push_back(one.claim);
      return true;
    });
    for (const Claim& claim : closed) election_.closed(now, claim);
    if (now >= election_.next_tick()) election_.tick(now);
    settle();
    Instant due = election_.next_tick();
    for (const Closing& one : closing_) due = std::min(due, one.due);
    runtime::TimedWait wait(parts_.runtime, time_changed_, due);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
  }
}

Task<void> Engine::retire() {
  retired_ = true;
  const std::vector<Participant> all = election_.participants(parts_.runtime.now());
  const bool alone = std::ranges::count_if(all, &Participant::alive) < 2;  // nobody takes over
  for (const auto& [vip, interface] : held_)
    if (holds(vip) && !alone) parts_.interfaces.leaving(vip);
  parts_.fence.close_all();
  open_until_.clear();
  while (!held_.empty()) let_go(Ip(held_.begin()->first));
  if (!co_await runtime::sleep(parts_.runtime, timing().margin)) co_return;
  co_await electorate_->say_farewell();
  co_await parts_.interfaces.settled();
}

Task<void> Engine::run() {
  runtime::Scope scope(parts_.runtime);
  scope.spawn(electorate_->run([this] { settle(); }));
  scope.spawn(keep_time());
  scope.spawn(follow_interfaces());
  co_await scope.join();
}

}  // namespace fairlead::vip
