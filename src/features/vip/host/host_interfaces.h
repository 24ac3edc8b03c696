// HostInterfaces: the addresses and announcements of virtual IPs on the network namespace that it
// is opened in.
//
//   kernel's news ──→ HostState ─┐
//   hold(), let_go() ──→ wanted ─┴→ plan_addresses() ──→ RouteSocket   (on a blocking thread)
//   announce() ──→ AnnouncementSchedule ──→ FrameSender
//
// Nothing here waits for the kernel on the loop: whoever changes interfaces holds a lock that
// others may keep for long, and a heartbeat that is late costs a virtual IP. Sending a frame takes
// no lock.
//
// Promises
//   - Before an address is added to an interface, the fence guards it and every other interface of
//     the host; at least every second the fence is looked after (KernelFence::keep).
//   - Addresses of an earlier process that nobody holds are removed, those of others never
//     (host_state.h: kAddressProtocol).
//   - An address that is removed by others comes back at once, at most ten times a second. After
//     that, after a flap and after a change of the interface's MAC the neighbours are told anew.
//   - Nothing is announced while the address is not there, or after let_go().
//   - What arrives for a VIP between leaving() and its successor's announcement is kept and sent on
//     (relay.h), and so is what comes in the second after that: the address stays until then,
//     behind the closed fence. For 32 VIPs at a time.
//
// On one loop. REQUIRES: run() runs as long as anything is held, and once more after the last
// let_go() until settled().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/vip/announce/schedule.h"
#include "features/vip/engine/interfaces.h"
#include "features/vip/fence/kernel_fence.h"
#include "features/vip/host/address_rules.h"
#include "features/vip/host/conflicts.h"
#include "features/vip/host/host_state.h"
#include "features/vip/host/relay.h"
#include "features/vip/host/route_socket.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/frame_sender.h"
#include "foundation/runtime/frame_tap.h"
#include "foundation/runtime/netlink_socket.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {

struct HostOptions {
  AnnouncementTimes announcements;
  // After somebody else's claim to a VIP that is held here, it is announced anew, but not more
  // often (RFC 5227, section 2.4).
  Duration defend = 10s;
};

class HostInterfaces final : public Interfaces {
 public:
  // Without a fence (nullptr) nothing is guarded, and claims of others are not seen.
  // The fence, if there is one, outlives this.
  static Result<std::unique_ptr<HostInterfaces>> open(runtime::EpollRuntime& runtime,
                                                      KernelFence* fence, HostOptions options);

  Result<> usable(const Ip& vip, const std::string& interface) override;
  runtime::Signal& changed() override { return changed_; }
  void hold(const Ip& vip, const std::string& interface) override;
  void leaving(const Ip& vip) override;
  void let_go(const Ip& vip) override;
  void announce(const Ip& vip) override;
  Task<void> settled() override;
  std::optional<Mac> rival(const Ip& vip) override;
  bool absent(const Ip& vip) override;
  std::map<Ip, HoldReport> report() const override;

  // Until cancelled.
  Task<void> run();

  const HostState& host() const { return host_; }
  // The fence guards every interface, or there is none. Else fails naming one.
  Result<> guards() const;

  struct Relayed {
    std::uint64_t relays = 0, frames = 0;  // sent on
    std::uint64_t lost = 0;                // because there were too many, or no successor came
  };
  const Relayed& relayed() const { return relayed_; }

 private:
  struct Held {
    std::string interface;
    bool announces = false;
    bool was_there = false;  // the address, when it was looked at last
    // The MAC that the neighbours were told; nothing: none since the address came.
    std::optional<Mac> told{};
    AnnouncementSchedule schedule;
    Conflicts conflicts;
    HoldReport report{};
  };
  // Whether somebody has a VIP that is not held here.
  struct Inquiry {
    std::string interface;
    Instant asked{};
    std::uint64_t claims_before = 0;  // that the fence had seen
    std::optional<Mac> rival{};
  };
  // A VIP that was given up.
  struct Leaving {
    std::string interface;
    std::uint32_t ifindex = 0;
    Relay relay;
    std::unique_ptr<runtime::FrameTap> tap;
  };
  struct Failure {
    std::string error;
    Instant until;
  };
  struct Outcome {
    AddressChange change;
    Result<> result;
  };

  HostInterfaces(runtime::EpollRuntime& runtime, KernelFence* fence, HostOptions options,
                 runtime::FrameSender sender, runtime::FrameSender relays);

  // Each until cancelled.
  Task<void> follow();            // takes the kernel's news in
  Task<void> digest();            // what follows from them
  Task<void> keep();              // addresses as they are wanted, the fence looked after
  Task<void> announce_in_time();  // what is due

  Task<void> relay(Ip vip, std::shared_ptr<Leaving> leaving);

  void follow_address(const Ip& vip, Held& held);
  Task<void> keep_fence();
  Task<void> keep_addresses(std::vector<AddressChange> changes);
  Task<void> ask_routes();
  Task<void> ask_neighbours_anew();
  std::vector<AddressChange> due_changes() const;
  Instant next_work(Instant now) const;
  void note(const Outcome& outcome);
  void tell_if_there(const Ip& vip, Held& held);
  void tell(const Ip& vip, Held& held, const HostLink& link);
  void look_for_conflicts();
  void inquire(const Ip& vip, Inquiry& inquiry);
  bool is_own(const Mac& mac) const;

  runtime::EpollRuntime& runtime_;
  KernelFence* fence_;
  HostOptions options_;
  runtime::FrameSender sender_, relay_sender_;
  std::unique_ptr<runtime::NetlinkSocket> news_socket_;
  std::shared_ptr<RouteSocket> listing_, changing_;  // each for one thread at a time

  HostState host_;
  News news_ = News::other;  // that nobody has looked at
  std::map<Ip, Held> held_;
  std::map<Ip, std::shared_ptr<Leaving>> leaving_;
  std::map<Ip, Inquiry> inquiries_;
  Relayed relayed_;
  std::map<AddressChange, Instant> not_before_;  // so that a quarrel about an address has a pace
  std::map<Ip, Failure> failures_;               // addresses that could not be added
  // Whether there is a route, for VIPs that no network of their interface has.
  std::map<std::pair<Ip, std::string>, bool> routes_;
  Instant routes_due_{}, fence_due_{};
  std::set<Ip> opened_;              // VIPs that are announced since just now
  std::set<std::uint32_t> guarded_;  // interfaces
  std::set<std::string> unguarded_;
  bool busy_ = false;  // addresses are being changed
  runtime::Signal changed_, to_digest_, to_keep_, to_announce_, settled_;
  runtime::Scope relaying_;  // last: what it runs uses all of the above
};

}  // namespace fairlead::vip
