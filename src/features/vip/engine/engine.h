// Engine: carries out what the election decides: timers, fence, addresses. One in each process of
// virtual IPs. Decides nothing itself; how the election reaches the others is the Electorate's.
//
//   Electorate ⇄ Election ──→ Fence, Interfaces
//   timer  ─────────→ │
//
// Order that matters
//   - A VIP is watched by the fence, closed, before its address is ever added.
//   - The fence is opened before the neighbours are told, and closed before the others are told.
//   - The fence gets the absolute deadline, which counts from before the others were asked.
//   - A release is sent the margin after the fence was closed.
//
// Stopping: retire() while run() still runs, then cancel run(). An engine that ends otherwise
// leaves its fence to the deadline, or to the guard.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/engine/electorate.h"
#include "features/vip/engine/interfaces.h"
#include "features/vip/engine/peer_electorate.h"
#include "features/vip/fence/fence.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

// A VIP of this node's configuration.
struct VipConfig {
  Ip address;
  std::string interface;
  std::int32_t priority = 100;
  VipOptions options;
  bool healthy = true;  // the service behind it is well here
};

class Engine {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    Fence& fence;
    Interfaces& interfaces;
  };
  Engine(Parts parts, std::unique_ptr<Electorate> electorate);
  // Among peers. Fails as PeerElectorate::open() does.
  static Result<std::unique_ptr<Engine>> open(Parts parts, PeerOptions options);

  // What this node offers from now on. A VIP that cannot be fenced is not offered; one whose
  // interface is not usable is offered as not healthy.
  void offer(std::vector<VipConfig> vips);

  // Until cancelled.
  Task<void> run();
  // Closes every VIP, removes the addresses and, after the margin, says farewell: the others need
  // not wait for the lease. Nothing is held from then on.
  Task<void> retire();

  Result<> move(const Ip& vip, const std::string& to);
  const Election& election() const { return election_; }
  bool holds(const Ip& vip) const;
  bool authenticated() const { return electorate_->authenticated(); }

 private:
  struct Closing {
    Instant due;
    Claim claim;
  };

  // Carries out what the election wants after each step.
  void settle();
  void close_what_moved();
  void open_what_is_granted();
  void let_go(const Ip& vip, const std::string& interface);

  Task<void> keep_time();

  Parts parts_;
  std::unique_ptr<Electorate> electorate_;
  Election& election_;
  std::map<Ip, VipConfig> vips_;
  std::map<Ip, Instant> open_until_;  // as the fence has it
  std::map<Ip, std::string> held_;    // addresses that are on an interface
  std::vector<Closing> closing_;
  bool retired_ = false;
  runtime::Signal time_changed_;
};

}  // namespace fairlead::vip
