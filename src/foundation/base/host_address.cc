#include "foundation/base/host_address.h"

namespace fairlead {

std::string_view host_address_problem(const Ip& ip) {
  static const Cidr kLinkLocal = *Cidr::parse("fe80::/10");
  static const Cidr kThisNetwork = *Cidr::parse("0.0.0.0/8");
  static const Cidr kMapped = *Cidr::parse("::ffff:0:0/96");
  if (!ip.is_unicast()) return "must be a unicast address";
  if (kThisNetwork.contains(ip)) return "must not be an address of 0.0.0.0/8";
  if (ip.is_loopback()) return "must not be a loopback address";
  if (kLinkLocal.contains(ip)) return "must not be a link-local address";
  if (kMapped.contains(ip)) return "must not be an IPv4 address in the form of IPv6";
  return {};
}

}  // namespace fairlead
