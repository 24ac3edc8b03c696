// RouteSocket: asks the kernel about interfaces, addresses and routes, and changes addresses
// (rtnetlink). A call blocks for the answer, and for whoever else changes interfaces at the moment:
// it belongs on a blocking thread, one thread at a time. It acts on the network namespace of the
// thread that opened it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "features/vip/host/address_rules.h"
#include "features/vip/host/host_state.h"
#include "foundation/base/result.h"

struct nl_sock;

namespace fairlead::vip {

class RouteSocket {
 public:
  static Result<std::shared_ptr<RouteSocket>> open();
  ~RouteSocket();
  RouteSocket(const RouteSocket&) = delete;
  RouteSocket& operator=(const RouteSocket&) = delete;

  Result<HostState> observe();

  // Adds an address that is never chosen as a source (deprecated; for IPv4, whose kernel does not
  // heed that, also of link scope), without detection of duplicates and without a route to its
  // network. Fails with already_exists, and changes nothing, if it is there. Removing what is not
  // there is fine.
  Result<> apply(const AddressChange& change);

  // Adds an address as apply() does, but one that the kernel removes after so many seconds, or
  // (`again`) gives one that is there so many seconds more, adding it if it is gone. Fails with
  // already_exists if it is there and not `again`.
  struct Loan {
    HostAddress address;
    std::uint8_t protocol = 0;
    std::uint32_t seconds = 0;
  };
  Result<> lend(const Loan& loan, bool again);

  // Neighbours that this host has asked for and that have not answered yet.
  struct Unanswered {
    std::uint32_t ifindex = 0;
    Ip neighbour;
    auto operator<=>(const Unanswered&) const = default;
  };
  Result<std::vector<Unanswered>> unanswered();

  // Whether a route says that the address is a neighbour's at this interface.
  Result<bool> has_link_route(const Ip& address, std::uint32_t ifindex);

 private:
  explicit RouteSocket(nl_sock* socket) : socket_(socket) {}
  Result<> dump(int type, unsigned char family, HostState& into);
  nl_sock* socket_;
};

}  // namespace fairlead::vip
