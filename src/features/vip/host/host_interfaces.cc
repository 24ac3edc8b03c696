#include "features/vip/host/host_interfaces.h"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <utility>

#include "features/vip/announce/frames.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr Duration kLookAfterFence = 1s;
constexpr Duration kAskRoutes = 1s;
constexpr Duration kBetweenChanges = 100ms;  // of the same kind to the same address
constexpr Duration kAfterFailure = 1s;
constexpr Duration kHoldsBack = 10s;  // a VIP whose address could not be added
constexpr Duration kAskAgain = 1s;    // whether somebody has a VIP
constexpr Duration kAnswers = 300ms;
constexpr Duration kLongWait = 1h;
constexpr Duration kSettles = 5s;
constexpr std::size_t kMostRelays = 32;  // at a time

}  // namespace

Result<std::unique_ptr<HostInterfaces>> HostInterfaces::open(runtime::EpollRuntime& runtime,
                                                             KernelFence* fence,
                                                             HostOptions options) {
  FL_TRY(runtime::FrameSender sender, runtime::FrameSender::open());
  FL_TRY(runtime::FrameSender relays,
         runtime::FrameSender::open(runtime::FrameSender::Form::tapped));
  std::unique_ptr<HostInterfaces> host(
      new HostInterfaces(runtime, fence, options, std::move(sender), std::move(relays)));
  // Listening begins before the first look: nothing falls between them.
  constexpr std::uint32_t kGroups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  FL_TRY(host->news_socket_, runtime::NetlinkSocket::open(runtime.loop(), kGroups));
  FL_TRY(host->listing_, RouteSocket::open());
  FL_TRY(host->changing_, RouteSocket::open());
  FL_TRY(host->host_, host->listing_->observe());
  return host;
}

HostInterfaces::HostInterfaces(runtime::EpollRuntime& runtime, KernelFence* fence,
                               HostOptions options, runtime::FrameSender sender,
                               runtime::FrameSender relays)
    : runtime_(runtime),
      fence_(fence),
      options_(options),
      sender_(std::move(sender)),
      relay_sender_(std::move(relays)),
      relaying_(runtime) {}

Task<void> HostInterfaces::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(follow());
  scope.spawn(digest());
  scope.spawn(keep());
  scope.spawn(announce_in_time());
  co_await scope.join();
  co_await relaying_.close();
}

// ---- what the engine asks for

Result<> HostInterfaces::usable(const Ip& vip, const std::string& interface) {
  if (const auto failed = failures_.find(vip); failed != failures_.end())
    return fail(Code::unavailable, failed->second.error);
  const HostLink* link = host_.find(interface);
  const std::pair key{vip, interface};
  bool routed = false;
  if (link != nullptr && !is_on_link(host_, vip, link->ifindex)) {
    const auto [route, added] = routes_.try_emplace(key);
    if (added) to_keep_.notify();
    routed = route->second;
  } else {
    routes_.erase(key);
  }
  Result<> checked = check_usable(host_, vip, interface, routed);
  if (checked && inquiries_[vip].interface != interface) {
    inquiries_[vip].interface = interface;
    if (!held_.contains(vip)) inquire(vip, inquiries_[vip]);
  }
  return checked;
}

// Three at once: they are not to delay anything, and one may be lost.
void HostInterfaces::inquire(const Ip& vip, Inquiry& inquiry) {
  const HostLink* link = host_.find(inquiry.interface);
  if (link == nullptr || fence_ == nullptr) return;
  inquiry.asked = runtime_.now();
  inquiry.claims_before = fence_->sighting(vip).claims;
  for (int i = 0; i < 3; ++i) (void)sender_.send(link->ifindex, probe(vip, link->mac));
}

std::optional<Mac> HostInterfaces::rival(const Ip& vip) {
  const auto at = inquiries_.find(vip);
  if (fence_ == nullptr || at == inquiries_.end()) return std::nullopt;
  Inquiry& inquiry = at->second;
  const Sighting seen = fence_->sighting(vip);
  const bool answered = seen.claims != inquiry.claims_before && !is_own(seen.claimant);
  const Duration since = runtime_.now() - inquiry.asked;
  if (answered) inquiry.rival = seen.claimant;
  // Until an answer would have come the last one counts.
  if (!answered && since >= kAnswers) inquiry.rival.reset();
  if (answered && since >= kAskAgain) inquire(vip, inquiry);
  return inquiry.rival;
}

bool HostInterfaces::absent(const Ip& vip) {
  return !leaving_.contains(vip) && std::ranges::none_of(host_.addresses, [&](const auto& one) {
    return one.first.ip == vip;
  });
}

bool HostInterfaces::is_own(const Mac& mac) const {
  return std::ranges::any_of(host_.links, [&](const auto& one) { return one.second.mac == mac; });
}

void HostInterfaces::hold(const Ip& vip, const std::string& interface) {
  let_go(vip);
  leaving_.erase(vip);
  held_.emplace(vip, Held{.interface = interface,
                          .schedule = AnnouncementSchedule(options_.announcements),
                          .conflicts = Conflicts(options_.defend)});
}

void HostInterfaces::let_go(const Ip& vip) {
  held_.erase(vip);
  std::erase_if(not_before_, [&](const auto& one) { return one.first.address.ip == vip; });
  to_keep_.notify();
}

void HostInterfaces::announce(const Ip& vip) {
  const auto at = held_.find(vip);
  if (at == held_.end()) return;
  Held& held = at->second;
  held.announces = true;
  held.told.reset();
  held.report.announced_at = runtime_.now();
  if (fence_ != nullptr) {
    fence_->await_first_packet(vip);
    held.conflicts.begin(fence_->sighting(vip));
  }
  tell_if_there(vip, held);
}

Task<void> HostInterfaces::settled() {
  const Instant limit = runtime_.now() + kSettles;
  while (busy_ || !leaving_.empty() || !due_changes().empty()) {
    runtime::TimedWait wait(runtime_, settled_, limit);
    if (!co_await wait) co_return;
  }
}

std::map<Ip, HoldReport> HostInterfaces::report() const {
  std::map<Ip, HoldReport> reports;
  for (const auto& [vip, held] : held_) {
    HoldReport& report = reports.emplace(vip, held.report).first->second;
    const HostLink* link = host_.find(held.interface);
    report.interface = held.interface;
    report.address = link != nullptr && has_address(host_, vip, link->ifindex);
    report.conflicts = held.conflicts.count();
    report.rival = held.conflicts.rival();
    if (fence_ != nullptr && held.announces)
      report.first_packet = fence_->sighting(vip).first_packet;
    if (const auto failed = failures_.find(vip); failed != failures_.end())
      report.error = failed->second.error;
  }
  return reports;
}

// ---- the kernel's news

Task<void> HostInterfaces::follow() {
  for (;;) {
    Result<std::string> messages = co_await news_socket_->receive();
    if (messages) {
      news_ = std::max(news_, host_.take_all(*messages));
    } else if (messages.error().code == Code::cancelled) {
      co_return;
    } else {
      // Some were lost. Those that wait are read after the new look: the last word is theirs.
      log::warning("news of interfaces lost: looking at all of them",
                   {{"reason", messages.error().to_string()}});
      const std::shared_ptr<RouteSocket> socket = listing_;
      Result<HostState> host =
          co_await runtime::blocking(runtime_, [socket] { return socket->observe(); });
      if (host) {
        host_ = std::move(*host);
        news_ = News::other;
      } else if (!co_await runtime::sleep(runtime_, kAfterFailure)) {
        co_return;
      }
    }
    if (news_ != News::nothing) to_digest_.notify();
  }
}

// Many changes that come together are looked at once.
Task<void> HostInterfaces::digest() {
  for (;;) {
    const News news = std::exchange(news_, News::nothing);
    if (news != News::nothing)
      for (auto& [vip, held] : held_) follow_address(vip, held);
    if (news == News::other) fence_due_ = runtime_.now();  // there may be an interface to guard
    if (news != News::nothing) changed_.notify();
    to_keep_.notify();
    if (!co_await to_digest_.wait()) co_return;
  }
}

void HostInterfaces::follow_address(const Ip& vip, Held& held) {
  const HostLink* link = host_.find(held.interface);
  const bool there = link != nullptr && has_address(host_, vip, link->ifindex);
  if (held.was_there && !there) {
    ++held.report.put_back;
    log::warning("address of virtual IP is gone: it is put back",
                 {{"vip", vip.to_string()}, {"interface", held.interface}});
  }
  held.was_there = there;
  tell_if_there(vip, held);
}

// ---- addresses and the fence

Task<void> HostInterfaces::keep() {
  for (;;) {
    const Instant now = runtime_.now();
    std::erase_if(not_before_, [&](const auto& one) { return one.second <= now; });
    if (std::erase_if(failures_, [&](const auto& one) { return one.second.until <= now; }) > 0)
      changed_.notify();
    std::vector<AddressChange> changes = due_changes();
    const bool changes_due = !changes.empty();
    const bool fence_due = fence_ != nullptr && now >= fence_due_;
    const bool routes_due = !routes_.empty() && now >= routes_due_;
    if (changes_due) co_await keep_addresses(std::move(changes));
    const bool opened = !opened_.empty();
    if (opened) co_await ask_neighbours_anew();
    if (fence_due) co_await keep_fence();
    if (routes_due) co_await ask_routes();
    if (changes_due || opened || fence_due || routes_due) continue;
    settled_.notify();
    runtime::TimedWait wait(runtime_, to_keep_, next_work(now));
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
  }
}

Instant HostInterfaces::next_work(Instant now) const {
  Instant next = now + kLongWait;
  if (fence_ != nullptr) next = std::min(next, fence_due_);
  if (!routes_.empty()) next = std::min(next, routes_due_);
  for (const auto& [change, at] : not_before_) next = std::min(next, at);
  for (const auto& [vip, failure] : failures_) next = std::min(next, failure.until);
  return next;
}

Result<> HostInterfaces::guards() const {
  if (fence_ == nullptr) return {};
  if (!unguarded_.empty())
    return fail(Code::unavailable, "interface " + *unguarded_.begin() + " is not guarded");
  if (guarded_.empty()) return fail(Code::unavailable, "the interfaces are not guarded yet");
  return {};
}

Task<void> HostInterfaces::keep_fence() {
  fence_due_ = runtime_.now() + kLookAfterFence;
  std::map<std::string, std::uint32_t> indexes;
  for (const std::string& name : client_interfaces(host_))
    indexes.emplace(name, host_.find(name)->ifindex);
  std::vector<std::string> names;
  for (const auto& [name, ifindex] : indexes) names.push_back(name);
  KernelFence* fence = fence_;
  const KernelFence::Kept kept =
      co_await runtime::blocking(runtime_, [fence, names] { return fence->keep(names); });
  for (const std::string& what : kept.restored)
    log::warning("the fence was put back", {{"what", what}});
  const std::set<std::string> unguarded_before = std::exchange(unguarded_, {});
  for (const auto& [name, error] : kept.failed) {
    indexes.erase(name);
    unguarded_.insert(name);
    if (!unguarded_before.contains(name))
      log::error(
          "interface not guarded: no virtual IP is added to it, and none that is routed is held",
          {{"interface", name}, {"error", error.to_string()}});
  }
  if ((guarded_.empty() && !indexes.empty()) || unguarded_ != unguarded_before) changed_.notify();
  guarded_.clear();
  for (const auto& [name, ifindex] : indexes) guarded_.insert(ifindex);
  look_for_conflicts();
}

std::vector<AddressChange> HostInterfaces::due_changes() const {
  std::map<Ip, std::string> wanted;
  for (const auto& [vip, leaving] : leaving_)
    if (const HostLink* link = host_.find(leaving->interface);
        link != nullptr && has_address(host_, vip, link->ifindex))
      wanted.emplace(vip, leaving->interface);
  for (const auto& [vip, held] : held_) wanted.emplace(vip, held.interface);
  std::vector<AddressChange> changes = plan_addresses(host_, wanted);
  std::erase_if(changes, [&](const AddressChange& change) {
    const bool open_air = fence_ != nullptr && change.kind == AddressChange::Kind::add &&
                          !guarded_.contains(change.address.ifindex);
    return open_air || not_before_.contains(change);
  });
  return changes;
}

// The address may have been there before the fence was open: a program that used it at once has
// asked for its neighbours in vain, and the kernel asks again only after a second. Asked by us,
// they answer the kernel, which sends what waits for them.
Task<void> HostInterfaces::ask_neighbours_anew() {
  const std::set<Ip> opened = std::exchange(opened_, {});
  const std::shared_ptr<RouteSocket> socket = changing_;
  const Result<std::vector<RouteSocket::Unanswered>> unanswered =
      co_await runtime::blocking(runtime_, [socket] { return socket->unanswered(); });
  if (!unanswered) {
    log::warning("neighbours not asked anew", {{"error", unanswered.error().to_string()}});
    co_return;
  }
  std::set<RouteSocket::Unanswered> asked;
  for (const Ip& vip : opened) {
    const auto held = held_.find(vip);
    const HostLink* link = held == held_.end() ? nullptr : host_.find(held->second.interface);
    if (link == nullptr) continue;
    for (const RouteSocket::Unanswered& one : *unanswered)
      if (one.ifindex == link->ifindex && one.neighbour.is_v4() == vip.is_v4() &&
          asked.insert(one).second)
        (void)sender_.send(link->ifindex, question(vip, link->mac, one.neighbour));
  }
}

Task<void> HostInterfaces::keep_addresses(std::vector<AddressChange> changes) {
  busy_ = true;
  const std::shared_ptr<RouteSocket> socket = changing_;
  const std::vector<Outcome> outcomes =
      co_await runtime::blocking(runtime_, [socket, changes = std::move(changes)] {
        std::vector<Outcome> all;
        for (const AddressChange& change : changes) all.push_back({change, socket->apply(change)});
        return all;
      });
  for (const Outcome& outcome : outcomes) note(outcome);
  busy_ = false;
}

void HostInterfaces::note(const Outcome& outcome) {
  const AddressChange& change = outcome.change;
  const Ip& vip = change.address.ip;
  const bool add = change.kind == AddressChange::Kind::add;
  const Instant now = runtime_.now();
  // Added twice because the kernel's news of the first time came late. Somebody else's address is
  // told by usable().
  const bool there = add && !outcome.result && outcome.result.error().code == Code::already_exists;
  const bool done = outcome.result || there;
  not_before_[change] = now + (done ? kBetweenChanges : kAfterFailure);
  if (done) {
    if (!add && !held_.contains(vip))
      log::debug("address of virtual IP removed", {{"vip", vip.to_string()}});
    return;
  }
  log::warning(add ? "address of virtual IP not added" : "address of virtual IP not removed",
               {{"vip", vip.to_string()}, {"error", outcome.result.error().to_string()}});
  if (!add) return;
  failures_[vip] = {outcome.result.error().to_string(), now + kHoldsBack};
  changed_.notify();
}

Task<void> HostInterfaces::ask_routes() {
  routes_due_ = runtime_.now() + kAskRoutes;
  struct Question {
    std::pair<Ip, std::string> key;
    std::uint32_t ifindex = 0;
    bool exists = false;
  };
  std::vector<Question> questions;
  for (const auto& [key, exists] : routes_)
    // The route to an address that is there is the local one.
    if (const HostLink* link = host_.find(key.second);
        link != nullptr && !has_address(host_, key.first, link->ifindex))
      questions.push_back({key, link->ifindex});
  if (questions.empty()) co_return;
  const std::shared_ptr<RouteSocket> socket = changing_;
  questions = co_await runtime::blocking(runtime_, [socket, questions = std::move(questions)] {
    std::vector<Question> answered = questions;
    for (Question& one : answered)
      one.exists = socket->has_link_route(one.key.first, one.ifindex).value_or(false);
    return answered;
  });
  bool changed = false;
  for (const Question& one : questions) {
    const auto route = routes_.find(one.key);
    if (route == routes_.end() || held_.contains(one.key.first)) continue;
    changed |= std::exchange(route->second, one.exists) != one.exists;
  }
  if (changed) changed_.notify();
}

// ---- announcements

void HostInterfaces::tell_if_there(const Ip& vip, Held& held) {
  const HostLink* link = host_.find(held.interface);
  const bool there =
      link != nullptr && link->up && link->carrier && has_address(host_, vip, link->ifindex);
  if (!there) {
    held.told.reset();
    held.schedule.stop();
    return;
  }
  if (!held.announces || held.told == link->mac) return;
  held.told = link->mac;
  // Not before: until the kernel has told of the address, it takes no answers to it.
  opened_.insert(vip);
  to_keep_.notify();
  held.schedule.begin(runtime_.now());
  if (held.schedule.take(runtime_.now())) tell(vip, held, *link);
  to_announce_.notify();
}

void HostInterfaces::tell(const Ip& vip, Held& held, const HostLink& link) {
  for (const std::string& frame : announcements(vip, link.mac)) {
    const Result<> sent = sender_.send(link.ifindex, frame);
    if (sent) ++held.report.announced;
    if (!sent)
      log::debug("announcement not sent",
                 {{"vip", vip.to_string()}, {"error", sent.error().to_string()}});
  }
}

Task<void> HostInterfaces::announce_in_time() {
  for (;;) {
    const Instant now = runtime_.now();
    Instant next = now + kLongWait;
    for (auto& [vip, held] : held_) {
      const HostLink* link = host_.find(held.interface);
      if (link != nullptr && held.schedule.take(now)) tell(vip, held, *link);
      if (const std::optional<Instant> due = held.schedule.due()) next = std::min(next, *due);
    }
    runtime::TimedWait wait(runtime_, to_announce_, next);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
  }
}

void HostInterfaces::look_for_conflicts() {
  const Instant now = runtime_.now();
  for (auto& [vip, held] : held_) {
    if (!held.announces) continue;
    const Sighting seen = fence_->sighting(vip);
    if (!held.conflicts.defends(now, seen, is_own(seen.claimant))) continue;
    log::warning("somebody else claims a virtual IP that is held here: it is announced anew",
                 {{"vip", vip.to_string()},
                  {"interface", held.interface},
                  {"mac", seen.claimant.to_string()},
                  {"claims", held.conflicts.count()}});
    held.told.reset();
    tell_if_there(vip, held);
  }
}

// ---- planned moves

void HostInterfaces::leaving(const Ip& vip) {
  const auto held = held_.find(vip);
  const HostLink* link = held == held_.end() ? nullptr : host_.find(held->second.interface);
  if (link == nullptr || leaving_.size() >= kMostRelays) return;
  auto tap = runtime::FrameTap::open(runtime_, link->ifindex, relay_filter(vip));
  if (!tap) {
    log::warning("packets that arrive after the move are not sent on",
                 {{"vip", vip.to_string()}, {"error", tap.error().to_string()}});
    return;
  }
  auto one = std::make_shared<Leaving>(
      Leaving{link->name, link->ifindex, Relay(vip, link->mac, runtime_.now()), std::move(*tap)});
  leaving_[vip] = one;
  relaying_.spawn(relay(vip, std::move(one)));
}

Task<void> HostInterfaces::relay(Ip vip, std::shared_ptr<Leaving> one) {
  ++relayed_.relays;
  const auto still = [&] {
    const auto at = leaving_.find(vip);  // it may have come back
    return at != leaving_.end() && at->second == one;
  };
  while (still() && runtime_.now() < one->relay.until()) {
    Result<std::string> frame = co_await runtime::with_timeout(
        runtime_, one->relay.until() - runtime_.now(), one->tap->receive());
    if (!frame) break;
    for (const std::string& next : one->relay.take(runtime_.now(), std::move(*frame)))
      if (relay_sender_.send(one->ifindex, next)) ++relayed_.frames;
  }
  relayed_.lost += one->relay.lost();
  if (still()) leaving_.erase(vip);
  log::info("packets sent on after a move",
            {{"vip", vip.to_string()},
             {"frames", one->relay.relayed()},
             {"to", one->relay.successor() ? one->relay.successor()->to_string() : "nobody"}});
  to_keep_.notify();
}

}  // namespace fairlead::vip
