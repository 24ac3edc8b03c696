#include "features/vip/engine/engine.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {

Result<std::unique_ptr<Engine>> Engine::open(Parts parts, PeerOptions options) {
  FL_TRY(std::unique_ptr<PeerElectorate> peers,
         PeerElectorate::open(parts.runtime, std::move(options)));
  return std::make_unique<Engine>(parts, std::move(peers));
}

Engine::Engine(Parts parts, std::unique_ptr<Electorate> electorate)
    : parts_(parts), electorate_(std::move(electorate)), election_(electorate_->election()) {}

void Engine::offer(std::vector<VipConfig> vips) {
  vips_.clear();
  std::vector<Offer> offers;
  for (VipConfig& vip : vips) {
    if (Result<> watched = parts_.fence.watch(vip.address, vip.interface); !watched) {
      log::error("virtual IP not fenced: it is not held here",
                 {{"vip", vip.address.to_string()}, {"error", watched.error().to_string()}});
      continue;
    }
    const Result<> usable = parts_.interfaces.usable(vip.address, vip.interface);
    offers.push_back({.vip = vip.address,
                      .healthy = usable && vip.healthy,
                      .priority = vip.priority,
                      .options = vip.options});
    vips_[vip.address] = std::move(vip);
  }
  election_.offer(parts_.runtime.now(), std::move(offers));
  settle();
}

Result<> Engine::move(const Ip& vip, const std::string& to) {
  Result<> moved = election_.move(parts_.runtime.now(), vip, to);
  settle();
  return moved;
}

bool Engine::holds(const Ip& vip) const {
  const auto until = open_until_.find(vip);
  return until != open_until_.end() && parts_.runtime.now() < until->second;
}

// Fences first: what is told to others must be true already.
void Engine::settle() {
  close_what_moved();
  open_what_is_granted();
  electorate_->carry();
  time_changed_.notify();
}

void Engine::close_what_moved() {
  for (const Claim& claim : election_.closing()) {
    const bool begun =
        std::ranges::any_of(closing_, [&](const Closing& one) { return one.claim == claim; });
    if (begun) continue;
    if (Result<> closed = parts_.fence.close(claim.vip); !closed) {
      // Not told to the others: they wait until the lease has ended.
      log::error("fence not closed",
                 {{"vip", claim.vip.to_string()}, {"error", closed.error().to_string()}});
      continue;
    }
    open_until_.erase(claim.vip);
    if (const auto held = held_.find(claim.vip); held != held_.end()) {
      let_go(claim.vip, held->second);
      held_.erase(held);
    }
    log::info("virtual IP given up", {{"vip", claim.vip.to_string()}, {"epoch", claim.epoch}});
    closing_.push_back({parts_.runtime.now() + election_.timing().margin, claim});
  }
}

// An address that stays is fenced: nobody hears of it.
void Engine::let_go(const Ip& vip, const std::string& interface) {
  if (Result<> gone = parts_.interfaces.let_go(vip, interface); !gone)
    log::warning("address not removed",
                 {{"vip", vip.to_string()}, {"error", gone.error().to_string()}});
}

void Engine::open_what_is_granted() {
  if (retired_) return;
  for (const Claim& claim : election_.wanted()) {
    const auto vip = vips_.find(claim.vip);
    if (vip == vips_.end()) continue;
    const std::string& interface = vip->second.interface;
    if (!held_.contains(claim.vip)) {
      if (Result<> held = parts_.interfaces.hold(claim.vip, interface); !held) {
        log::warning("address not added",
                     {{"vip", claim.vip.to_string()}, {"error", held.error().to_string()}});
        continue;
      }
      held_[claim.vip] = interface;
    }
    const std::optional<Instant> deadline = election_.deadline(claim.vip);
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
  parts_.fence.close_all();
  open_until_.clear();
  for (const auto& [vip, interface] : held_) let_go(vip, interface);
  held_.clear();
  const Duration margin = election_.timing().margin;
  if (!co_await runtime::sleep(parts_.runtime, margin)) co_return;
  co_await electorate_->say_farewell();
}

Task<void> Engine::run() {
  runtime::Scope scope(parts_.runtime);
  scope.spawn(electorate_->run([this] { settle(); }));
  scope.spawn(keep_time());
  co_await scope.join();
}

}  // namespace fairlead::vip
