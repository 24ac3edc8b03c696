// ExpiringAddresses: host addresses (/32, /128) of virtual IPs that routers announce, each lent by
// the kernel for two seconds and renewed while somebody wants it. Whoever renews them may be killed
// or stopped: within three seconds the kernel removes the address by itself, and with it what a
// routing daemon announces (docs/design/025). Nothing is left over, so nothing is cleaned up.
//
// Used by the engine for VIPs that are held (RoutedInterfaces), and by the agent for anycast ones
// (Routes). The kernel is asked on a blocking thread. On one loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/vip/host/route_socket.h"
#include "foundation/base/ip.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

inline constexpr std::uint32_t kLentSeconds = 2;
inline constexpr Duration kRenewLoans = 400ms;

class ExpiringAddresses {
 public:
  // `protocol` is written beside each address (host_state.h).
  static Result<std::unique_ptr<ExpiringAddresses>> open(runtime::Runtime& runtime,
                                                         std::uint8_t protocol);

  // The address is on the interface from now on, and comes back if somebody removes it. One that
  // the host has for another reason is left alone: error() says so.
  void keep(const Ip& ip, const std::string& interface);
  // It is removed at once.
  void drop(const Ip& ip);
  bool keeps(const Ip& ip) const { return wanted_.contains(ip); }
  // As of the last renewal.
  bool there(const Ip& ip) const;
  std::string error(const Ip& ip) const;

  // Until the kernel has done what was asked for.
  Task<void> settled();
  // Until cancelled; then all are removed.
  Task<void> run();

 private:
  struct Job {
    Ip ip;
    std::string interface;
    bool known = false;  // it was added by this object
    Result<> outcome;
  };
  ExpiringAddresses(runtime::Runtime& runtime, std::uint8_t protocol,
                    std::shared_ptr<RouteSocket> socket)
      : runtime_(runtime), protocol_(protocol), socket_(std::move(socket)) {}
  Task<void> renew();

  runtime::Runtime& runtime_;
  std::uint8_t protocol_;
  std::shared_ptr<RouteSocket> socket_;
  std::map<Ip, std::string> wanted_;  // → interface
  std::map<Ip, std::string> lent_;    // that are there, or may be
  std::map<Ip, std::string> errors_;
  bool busy_ = false;
  bool due_ = false;  // something is wanted otherwise than it was done
  runtime::Signal changed_, settled_;
};

// Removes all addresses with this protocol. Blocks.
Result<> remove_lent(RouteSocket& socket, std::uint8_t protocol);

}  // namespace fairlead::vip
