// RouteSocket: asks the kernel about interfaces, addresses and routes, and changes addresses
// (rtnetlink). A call blocks for the answer, and for whoever else changes interfaces at the moment:
// it belongs on a blocking thread, one thread at a time. It acts on the network namespace of the
// thread that opened it.
#pragma once

#include <cstdint>
#include <memory>

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

  // Whether a route says that the address is a neighbour's at this interface.
  Result<bool> has_link_route(const Ip& address, std::uint32_t ifindex);

 private:
  explicit RouteSocket(nl_sock* socket) : socket_(socket) {}
  Result<> dump(int type, unsigned char family, HostState& into);
  nl_sock* socket_;
};

}  // namespace fairlead::vip
