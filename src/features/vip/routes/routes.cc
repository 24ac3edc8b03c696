#include "features/vip/routes/routes.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {

std::optional<BirdPlan> bird_plan(const VipPlan& plan, std::map<Ip, std::string> passwords) {
  if (!plan.bgp) return std::nullopt;
  BirdPlan bird{.bgp = *plan.bgp, .passwords = std::move(passwords), .vips = {}, .interfaces = {}};
  for (const VipEntry& entry : plan.vips) {
    if (entry.announce != Announce::bgp) continue;
    bird.vips.insert(entry.vip.address);
    bird.interfaces.insert(entry.vip.interface);
  }
  if (bird.vips.empty()) return std::nullopt;
  return bird;
}

Result<std::map<Ip, std::string>> Routes::read_passwords(runtime::Files& files,
                                                         const VipPlan& plan) {
  std::map<Ip, std::string> passwords;
  if (!plan.bgp) return passwords;
  for (const BgpNeighbor& neighbor : plan.bgp->neighbors) {
    if (neighbor.password_file.empty()) continue;
    const std::string what = "bgp.neighbors passwordFile " + neighbor.password_file;
    Result<std::string> text = files.read(neighbor.password_file);
    if (!text) return fail(std::move(text).error().context(what));
    while (text->ends_with('\n')) text->pop_back();
    if (Result<> good = check_password(*text); !good)
      return fail(std::move(good).error().context(what));
    passwords[neighbor.address] = std::move(*text);
  }
  return passwords;
}

Routes::Routes(Parts parts, std::string state, std::function<void()> changed)
    : parts_(parts),
      changed_(std::move(changed)),
      bird_(parts.runtime, parts.processes, std::move(state), [this] { changed_(); }) {
  add_metrics();
}

void Routes::add_metrics() {
  parts_.metrics.gauges_of(
      "fairlead_vip_bgp_session_up", "1 while the BGP session with this neighbor is established.",
      {"neighbor"}, [this] {
        metrics::Registry::Readings readings;
        for (const Bird::Session& one : bird_.sessions())
          readings.push_back({{one.neighbor.to_string()}, one.established ? 1.0 : 0.0});
        return readings;
      });
  parts_.metrics.gauges_of(
      "fairlead_vip_bfd_session_up", "1 while BFD sees this neighbor, of those that it watches.",
      {"neighbor"}, [this] {
        metrics::Registry::Readings readings;
        for (const Bird::Session& one : bird_.sessions())
          if (one.bfd) readings.push_back({{one.neighbor.to_string()}, *one.bfd ? 1.0 : 0.0});
        return readings;
      });
  parts_.metrics.gauges_of("fairlead_vip_anycast_announced",
                           "1 while this node announces the anycast virtual IP.", {"vip"}, [this] {
                             metrics::Registry::Readings readings;
                             for (const auto& [vip, interface] : anycast_)
                               readings.push_back({{vip.to_string()}, announces(vip) ? 1.0 : 0.0});
                             return readings;
                           });
  parts_.metrics.counter_of("fairlead_vip_bird_starts_total", "BIRDs that this agent started.",
                            [this] { return static_cast<double>(bird_.starts()); });
}

void Routes::follow(const VipPlan& plan, std::map<Ip, std::string> passwords) {
  announce_.clear();
  anycast_.clear();
  for (const VipEntry& entry : plan.vips) {
    announce_[entry.vip.address] = entry.announce;
    if (entry.anycast) anycast_[entry.vip.address] = entry.vip.interface;
  }
  std::erase_if(healthy_, [&](const Ip& vip) {
    if (anycast_.contains(vip)) return false;
    if (addresses_) addresses_->drop(vip);
    return true;
  });
  for (const Ip& vip : healthy_)
    if (addresses_) addresses_->keep(vip, anycast_.at(vip));
  uses_bgp_ = plan.bgp.has_value();
  bird_.follow(bird_plan(plan, std::move(passwords)));
  if (!anycast_.empty()) needed_.notify();
}

void Routes::set_healthy(const Ip& vip, bool healthy) {
  const auto at = anycast_.find(vip);
  if (at == anycast_.end()) return;
  if (healthy == healthy_.contains(vip)) return;
  log::write(healthy ? log::Level::info : log::Level::warning,
             healthy ? "anycast virtual IP announced" : "anycast virtual IP withdrawn",
             {{"vip", vip.to_string()}, {"interface", at->second}});
  if (healthy) {
    healthy_.insert(vip);
    if (addresses_) addresses_->keep(vip, at->second);
  } else {
    healthy_.erase(vip);
    if (addresses_) addresses_->drop(vip);
  }
}

std::string Routes::obstacle(const Ip& vip) const {
  const auto at = announce_.find(vip);
  if (at == announce_.end() || at->second != Announce::bgp) return "";
  if (!bird_.problem().empty()) return bird_.problem();
  const bool led = std::ranges::any_of(bird_.sessions(), [&](const Bird::Session& one) {
    return one.established && one.neighbor.is_v4() == vip.is_v4();
  });
  return led ? "" : "no BGP session is established";
}

bool Routes::announces(const Ip& vip) const {
  return addresses_ && addresses_->there(vip) && obstacle(vip).empty();
}

std::string Routes::error(const Ip& vip) const {
  if (!anycast_.contains(vip)) return "";
  if (!address_problem_.empty()) return address_problem_;
  const std::string of_address = addresses_ ? addresses_->error(vip) : "";
  return of_address.empty() ? obstacle(vip) : of_address;
}

Task<void> Routes::withdraw_held() {
  const bool any = std::ranges::any_of(announce_, [](const auto& one) {
    return one.second == Announce::bgp || one.second == Announce::route;
  });
  if (!any) co_return;
  const Result<> gone = co_await runtime::blocking(parts_.runtime, []() -> Result<> {
    FL_TRY(const std::shared_ptr<RouteSocket> socket, RouteSocket::open());
    return remove_lent(*socket, kHeldRouteProtocol);
  });
  if (!gone)
    log::warning("addresses of virtual IPs not removed: they end by themselves",
                 {{"error", gone.error().to_string()}});
}

Task<void> Routes::run() {
  runtime::Scope scope(parts_.runtime);
  scope.spawn(bird_.run());
  while (!addresses_) {
    if (anycast_.empty()) {
      if (!co_await needed_.wait()) break;
      continue;
    }
    Result<std::unique_ptr<ExpiringAddresses>> opened =
        ExpiringAddresses::open(parts_.runtime, kAnycastProtocol);
    address_problem_ = opened ? "" : opened.error().message;
    if (opened) {
      addresses_ = std::move(*opened);
      for (const Ip& vip : healthy_) addresses_->keep(vip, anycast_.at(vip));
      scope.spawn(addresses_->run());
    } else if (!co_await runtime::sleep(parts_.runtime, 1s)) {
      break;
    }
  }
  co_await scope.join();
}

JsonObject Routes::status() const {
  if (!uses_bgp_) return {};
  JsonArray sessions;
  for (const Bird::Session& one : bird_.sessions()) {
    JsonObject session{{"neighbor", one.neighbor.to_string()},
                       {"established", one.established},
                       {"state", one.state}};
    if (one.bfd) session["bfd"] = *one.bfd;
    sessions.push_back(std::move(session));
  }
  return {{"running", bird_.running()},
          {"problem", bird_.problem()},
          {"sessions", std::move(sessions)}};
}

}  // namespace fairlead::vip
