// Engine: carries out what the Elector decides: datagrams, timers, disk, fence, addresses. One in
// each process of virtual IPs. Decides nothing itself.
//
//   socket → Sessions → Elector → Sessions → socket
//   timer  ─────────────→ │ ──→ Fence, Interfaces
//   disk   ←─────────────→ │
//
// Order that matters
//   - A VIP is watched by the fence, closed, before its address is ever added.
//   - The address is added as soon as the assigner gives the VIP to this node, before a majority
//   has
//     granted it: changing addresses may have to wait for others (rtnl), moving a deadline does
//     not.
//   - The fence is opened before the neighbours are told, and closed before the peers are told.
//   - What still arrives for a VIP that is given up is kept for its successor before it is closed.
//   - A heartbeat's time is read before it is sealed; the fence gets the absolute deadline.
//   - A release is sent the margin after the fence was closed.
//
// Stopping: retire() while run() still runs, then cancel run(). An engine that ends otherwise
// leaves its fence to the deadline, or to the guard.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "features/vip/election/elector.h"
#include "features/vip/engine/engine_events.h"
#include "features/vip/engine/interfaces.h"
#include "features/vip/engine/state_file.h"
#include "features/vip/fence/fence.h"
#include "features/vip/peers/sessions.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

struct EngineOptions {
  std::string node;
  runtime::Endpoint listen;
  std::string state;                  // file
  std::optional<std::string> secret;  // nothing: peers are not authenticated
  Settings settings;                  // of the first start; later the state's count
  // A node that cannot reach a majority goes on holding what it held. Gives up the promise that no
  // two hosts answer.
  bool keep_without_quorum = false;
};

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
  // A datagram for a peer.
  struct Farewell {
    runtime::Endpoint to;
    std::string bytes;
  };
  // Reads or begins the state, binds the socket. Fails naming the file or the address.
  static Result<std::unique_ptr<Engine>> open(Parts parts, EngineOptions options);

  // What this node offers from now on. A VIP that cannot be fenced is not offered; one whose
  // interface is not usable is offered as not healthy. run() looks again when interfaces change.
  void offer(std::vector<VipConfig> vips);
  // Why the VIP cannot be held here; empty: it can.
  std::string problem(const Ip& vip) const;

  // Until cancelled.
  Task<void> run();
  // Closes every VIP, removes the addresses and, after the margin, says farewell to the peers: they
  // need not wait for the lease. Nothing is held from then on. The fence stays, closed: a program
  // with an IPv6 socket that is bound to the VIP goes on sending from it without the address.
  Task<void> retire();

  // By hand, done by the assigner, wherever it is. Fails with what it says, or with unavailable if
  // no assigner answers in time.
  Task<Result<>> wish(Wish wish);

  // What the guard is to send when this engine has ended without retire(), after it has closed the
  // fence and waited the margin: peers need not wait for the lease. Other ones are valid whenever
  // farewells_changed() is notified.
  std::vector<Farewell> farewells() const;
  runtime::Signal& farewells_changed() { return farewells_changed_; }
  Duration margin() const { return timing().margin; }

  const std::map<Ip, VipConfig>& vips() const { return vips_; }
  const Elector& elector() const { return *elector_; }
  bool holds(const Ip& vip) const;
  bool authenticated() const { return sessions_.authenticated(); }

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
  struct Outgoing {
    std::string to;
    std::string bytes;
  };

  Engine(Parts parts, EngineOptions options, EngineState state,
         std::unique_ptr<runtime::DatagramSocket> socket);
  // Carries out what the elector wants after each step.
  void settle();
  void close_what_moved();
  void open_what_is_granted();
  void open(const Claim& claim, Instant deadline);
  // The offers as the interfaces are now, to the peers if they differ from what they know.
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
  const Timing& timing() const { return elector_->raft().latest().settings.timing; }
  void send_messages();
  void follow_members();
  void queue(const std::string& to, std::string bytes);

  Task<void> receive();
  Task<void> send();
  Task<void> keep_time();
  Task<void> keep_state();
  Task<void> follow_interfaces();

  Parts parts_;
  EngineOptions options_;
  std::uint64_t instance_;
  std::unique_ptr<runtime::DatagramSocket> socket_;
  Sessions sessions_;
  std::optional<Elector> elector_;
  Version members_;
  std::map<std::string, runtime::Endpoint, std::less<>> addresses_;
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
  std::deque<Outgoing> outgoing_;
  bool retired_ = false;
  std::uint64_t sessions_seen_ = 0;
  runtime::Signal to_send_, time_changed_, to_write_, wish_answered_, farewells_changed_;
};

}  // namespace fairlead::vip
