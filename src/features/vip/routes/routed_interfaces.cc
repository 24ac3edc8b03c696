#include "features/vip/routes/routed_interfaces.h"

#include <utility>

#include "foundation/runtime/scope.h"

namespace fairlead::vip {

Result<> check_routed(const HostState& host, const Ip& vip, const std::string& interface) {
  const HostLink* link = host.find(interface);
  if (!link) return fail(Code::not_found, "there is no interface " + interface);
  if (!link->up) return fail(Code::unavailable, "interface " + interface + " is down");
  for (const auto& [address, facts] : host.addresses) {
    if (address.ip != vip || facts.protocol == kHeldRouteProtocol) continue;
    const auto at = host.links.find(address.ifindex);
    return fail(Code::already_exists,
                vip.to_string() + " is an address of this host, added by somebody else: " +
                    vip.to_string() + "/" + std::to_string(address.prefix) + " on " +
                    (at == host.links.end() ? "an interface" : at->second.name));
  }
  return {};
}

Result<std::unique_ptr<RoutedInterfaces>> RoutedInterfaces::open(runtime::EpollRuntime& runtime,
                                                                 KernelFence* fence) {
  FL_TRY(std::unique_ptr<HostInterfaces> wire, HostInterfaces::open(runtime, fence, HostOptions{}));
  FL_TRY(std::unique_ptr<ExpiringAddresses> addresses,
         ExpiringAddresses::open(runtime, kHeldRouteProtocol));
  return std::unique_ptr<RoutedInterfaces>(
      new RoutedInterfaces(runtime, fence, std::move(wire), std::move(addresses)));
}

Task<void> RoutedInterfaces::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(wire_->run());
  scope.spawn(addresses_->run());
  co_await scope.join();
}

Result<> RoutedInterfaces::usable(const Ip& vip, const std::string& interface) {
  if (!routed_.contains(vip)) return wire_->usable(vip, interface);
  FL_CHECKED(wire_->guards());  // its packets may leave by any
  return check_routed(wire_->host(), vip, interface);
}

std::optional<Mac> RoutedInterfaces::rival(const Ip& vip) {
  if (routed_.contains(vip)) return std::nullopt;  // there is nobody to ask
  return wire_->rival(vip);
}

void RoutedInterfaces::hold(const Ip& vip, const std::string& interface) {
  let_go(vip);
  if (routed_.contains(vip))
    held_[vip] = {.interface = interface, .announced_at = std::nullopt};
  else
    wire_->hold(vip, interface);
}

// Routers send nothing here once the route is gone, and nobody else could be told from them.
void RoutedInterfaces::leaving(const Ip& vip) {
  if (!held_.contains(vip)) wire_->leaving(vip);
}

void RoutedInterfaces::let_go(const Ip& vip) {
  addresses_->drop(vip);
  if (held_.erase(vip) == 0) wire_->let_go(vip);
}

// Not before: a route to a host that may not answer yet would draw packets away from one that may.
void RoutedInterfaces::announce(const Ip& vip) {
  const auto held = held_.find(vip);
  if (held == held_.end()) return wire_->announce(vip);
  held->second.announced_at = runtime_.now();
  if (fence_ != nullptr) fence_->await_first_packet(vip);
  addresses_->keep(vip, held->second.interface);
}

Task<void> RoutedInterfaces::settled() {
  co_await addresses_->settled();
  co_await wire_->settled();
}

std::map<Ip, HoldReport> RoutedInterfaces::report() const {
  std::map<Ip, HoldReport> reports = wire_->report();
  for (const auto& [vip, held] : held_) {
    HoldReport& report = reports[vip];
    report.interface = held.interface;
    report.address = addresses_->there(vip);
    report.error = addresses_->error(vip);
    report.announced_at = held.announced_at;
    if (fence_ != nullptr && held.announced_at)
      report.first_packet = fence_->sighting(vip).first_packet;
  }
  return reports;
}

}  // namespace fairlead::vip
