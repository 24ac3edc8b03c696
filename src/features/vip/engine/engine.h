// Engine: carries out what the election decides: timers, fence, addresses. One in each process of
// virtual IPs. Decides nothing itself; how the election reaches the others is the Electorate's.
//
//   Electorate ⇄ Election ──→ Fence, Interfaces
//   timer  ─────────→ │
//
// Order that matters
//   - A VIP is watched by the fence, closed, before its address is ever added.
//   - The address is added as soon as the assigner gives the VIP to this node, before the others
//     have granted it: changing addresses may have to wait for whoever else changes interfaces,
//     moving a deadline waits for nobody.
//   - The fence is opened before the neighbours are told, and closed before the others are told.
//   - What still arrives for a VIP that is given up is kept for its successor before it is closed.
//   - The fence gets the absolute deadline, which counts from before the others were asked.
//   - A release is sent the margin after the fence was closed.
//
// Stopping: retire() while run() still runs, then cancel run(). An engine that ends otherwise
// leaves its fence to the deadline, or to the guard.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "features/vip/engine/electorate.h"
#include "features/vip/engine/engine_events.h"
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
    EngineEvents* events = nullptr;  // may be null
  };
  using Farewell = fairlead::vip::Farewell;
  Engine(Parts parts, std::unique_ptr<Electorate> electorate, bool keep_without_quorum = false);
  // Among peers. Fails as PeerElectorate::open() does.
  static Result<std::unique_ptr<Engine>> open(Parts parts, EngineOptions options);

  // What this node offers from now on. A VIP that cannot be fenced is not offered; one whose
  // interface is not usable is offered as not healthy. run() looks again when interfaces change.
  void offer(std::vector<VipConfig> vips);
  // Why the VIP cannot be held here; empty: it can.
  std::string problem(const Ip& vip) const;

  // Until cancelled.
  Task<void> run();
  // Closes every VIP, removes the addresses and, after the margin, says farewell: the others
  // need not wait for the lease. Nothing is held from then on. The fence stays, closed: a program
  // with an IPv6 socket that is bound to the VIP goes on sending from it without the address.
  Task<void> retire();

  // By hand, done by the assigner, wherever it is. Fails with what it says, or with unavailable if
  // no assigner answers in time.
  Task<Result<>> wish(Wish wish);

  // What the guard is to send when this engine has ended without retire(), after it has closed the
  // fence and waited the margin: peers need not wait for the lease. Other ones are valid whenever
  // farewells_changed() is notified.
  std::vector<Farewell> farewells() const { return electorate_->farewells(); }
  runtime::Signal& farewells_changed() { return electorate_->farewells_changed(); }
  Duration margin() const { return timing().margin; }

  const std::map<Ip, VipConfig>& vips() const { return vips_; }
  const Election& election() const { return election_; }
  Election& election() { return election_; }
  bool holds(const Ip& vip) const;
  bool authenticated() const { return electorate_->authenticated(); }
  void set_keys(const std::map<std::string, std::string>& keys) { electorate_->set_keys(keys); }

 private:
  struct Closing {
    Instant due;
    Claim claim;
  };
  struct Claimed {
    Epoch epoch = 0;
    Instant assigned{};
    bool lost = false;  // the deadline passed: the address comes back with the next grant
  };

  // Carries out what the election wants after each step.
  void settle();
  void close_what_moved();
  void open_what_is_granted();
  void open(const Claim& claim, Instant deadline);
  // The offers as the interfaces are now, to the others if they differ from what they know.
  void offer_what_is_usable();
  Result<> make_usable(const VipConfig& vip);
  // Nobody of the members has held the VIP yet, as far as this engine knows, and somebody answers
  // for it.
  bool is_strangers(const Ip& vip);
  void note_what_is_used();
  void forget_what_is_left_over();
  void let_go(const Ip& vip);
  void note_what_expired();
  std::optional<Instant> deadline_of(const Ip& vip, Instant now) const;
  const Timing& timing() const { return election_.timing(); }

  Task<void> keep_time();
  Task<void> follow_interfaces();

  Parts parts_;
  std::unique_ptr<Electorate> electorate_;
  Election& election_;
  bool keep_without_quorum_;
  std::map<Ip, VipConfig> vips_;
  std::map<Ip, std::string> fenced_;    // VIP → the interface that the fence knows it by
  std::map<Ip, std::string> problems_;  // why VIPs cannot be held here
  std::vector<Offer> offered_;
  std::set<Ip> ever_offered_;
  std::set<Ip> unused_;               // VIPs that no member had since this engine was begun
  std::map<Ip, Mac> strangers_;       // whom VIPs belong to that are therefore not held
  std::map<Ip, Instant> open_until_;  // as the fence has it
  std::map<Ip, std::string> held_;    // addresses that are on an interface
  std::map<Ip, Claimed> claimed_;     // what is wanted, and how far it came
  std::vector<Closing> closing_;
  bool retired_ = false;
  runtime::Signal time_changed_, wish_answered_;
};

}  // namespace fairlead::vip
