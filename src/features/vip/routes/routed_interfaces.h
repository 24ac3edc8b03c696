// RoutedInterfaces: the engine's Interfaces where some VIPs are found by routers (bgp, route) and
// not by ARP. Those have their address, /32 or /128, on lo or another interface, from the moment in
// which this host may answer until it gives the VIP up: a routing daemon announces what is there.
// All others are HostInterfaces' business.
//
// A routed VIP has the same fence. It is what silences a holder that is stopped; its route ends up
// to three seconds later, when the kernel's loan of the address does (expiring_addresses.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "features/vip/engine/interfaces.h"
#include "features/vip/host/host_interfaces.h"
#include "features/vip/routes/expiring_addresses.h"

namespace fairlead::vip {

class RoutedInterfaces final : public Interfaces {
 public:
  // `fence` may be null; it outlives this.
  static Result<std::unique_ptr<RoutedInterfaces>> open(runtime::EpollRuntime& runtime,
                                                        KernelFence* fence);

  // These are routed, all others not. A VIP that is held stays what it is.
  void route(std::set<Ip> vips) { routed_ = std::move(vips); }

  Result<> usable(const Ip& vip, const std::string& interface) override;
  runtime::Signal& changed() override { return wire_->changed(); }
  std::optional<Mac> rival(const Ip& vip) override;
  bool absent(const Ip& vip) override { return wire_->absent(vip); }
  void hold(const Ip& vip, const std::string& interface) override;
  void leaving(const Ip& vip) override;
  void let_go(const Ip& vip) override;
  void announce(const Ip& vip) override;
  Task<void> settled() override;
  std::map<Ip, HoldReport> report() const override;

  // Until cancelled.
  Task<void> run();

 private:
  struct Held {
    std::string interface;
    std::optional<Instant> announced_at;
  };
  RoutedInterfaces(runtime::EpollRuntime& runtime, KernelFence* fence,
                   std::unique_ptr<HostInterfaces> wire,
                   std::unique_ptr<ExpiringAddresses> addresses)
      : runtime_(runtime),
        fence_(fence),
        wire_(std::move(wire)),
        addresses_(std::move(addresses)) {}

  runtime::EpollRuntime& runtime_;
  KernelFence* fence_;
  std::unique_ptr<HostInterfaces> wire_;
  std::unique_ptr<ExpiringAddresses> addresses_;
  std::set<Ip> routed_;
  std::map<Ip, Held> held_;  // routed ones
};

// Whether a VIP that routers announce can be held at the interface: it is there and up, and the
// host does not have the address for another reason. Fails naming what is missing. Pure.
Result<> check_routed(const HostState& host, const Ip& vip, const std::string& interface);

}  // namespace fairlead::vip
