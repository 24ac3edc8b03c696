// Routes: what the agent does for virtual IPs that routers lead to: the BIRD that announces those
// with `announce: bgp`, and the addresses of anycast ones, which nobody is elected for. What is
// held by election is the engine's (routed_interfaces.h): BIRD announces an address while it is
// there.
//
//   VipPlan ──→ BirdPlan ──→ Bird
//   health ──→ anycast addresses ──→ ExpiringAddresses
//
// An agent that is killed takes BIRD along; one that is stopped no longer renews the anycast
// addresses, and BIRD withdraws them. On one loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "features/vip/config/vip_plan.h"
#include "features/vip/routes/bird.h"
#include "features/vip/routes/expiring_addresses.h"
#include "foundation/base/metrics.h"
#include "foundation/wire/json.h"

namespace fairlead::vip {

// What BIRD is to do by the plan; nothing: no virtual IP is announced by BGP. Pure.
std::optional<BirdPlan> bird_plan(const VipPlan& plan, std::map<Ip, std::string> passwords);

class Routes {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    runtime::Processes* processes = nullptr;  // null: there is no BIRD
    metrics::Registry& metrics;
  };
  // `changed`: ready() may answer otherwise. REQUIRES: one for each registry of metrics.
  Routes(Parts parts, std::string state, std::function<void()> changed);

  // The passwords of the plan's neighbors. Fails naming the field and the file.
  static Result<std::map<Ip, std::string>> read_passwords(runtime::Files& files,
                                                          const VipPlan& plan);
  void follow(const VipPlan& plan, std::map<Ip, std::string> passwords);
  // Of an anycast VIP: it is announced while it is healthy.
  void set_healthy(const Ip& vip, bool healthy);

  // Why nobody could be led to a VIP that this node holds; empty: routers can, or it is not ours to
  // tell. A node that cannot reach a router should not hold it.
  std::string obstacle(const Ip& vip) const;
  // The anycast VIP is announced here, as far as this process can tell.
  bool announces(const Ip& vip) const;
  std::string error(const Ip& vip) const;

  // The engine has ended without a word: what it held is no longer announced, at once.
  Task<void> withdraw_held();

  // Until cancelled.
  Task<void> run();

  JsonObject status() const;  // of BGP; empty: it is not used

 private:
  void add_metrics();

  Parts parts_;
  std::function<void()> changed_;
  std::map<Ip, Announce> announce_;    // of all VIPs
  std::map<Ip, std::string> anycast_;  // → interface
  std::set<Ip> healthy_;               // of those
  bool uses_bgp_ = false;
  Bird bird_;
  std::unique_ptr<ExpiringAddresses> addresses_;  // made when first needed
  std::string address_problem_;                   // why there are none
  runtime::Signal needed_;
};

}  // namespace fairlead::vip
