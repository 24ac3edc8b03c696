#include "features/vip/host/address_rules.h"

#include <algorithm>
#include <set>

namespace fairlead::vip {
namespace {

// An interface in a VRF is still one of its own.
bool is_part(const HostLink& link) { return !link.port_of.empty() && link.port_of != "vrf"; }

std::string networks_of(const HostState& host, std::uint32_t ifindex, bool v4) {
  std::string text;
  for (const auto& [address, facts] : host.addresses) {
    if (address.ifindex != ifindex || address.ip.is_v4() != v4 || facts.ours()) continue;
    text +=
        (text.empty() ? "" : ", ") + address.ip.to_string() + "/" + std::to_string(address.prefix);
  }
  return text.empty() ? "none" : text;
}

Result<> check_link(const HostState& host, const std::string& interface) {
  const HostLink* link = host.find(interface);
  if (!link) return fail(Code::not_found, "there is no interface " + interface);
  if (!link->ethernet)
    return fail(Code::unsupported, "interface " + interface + " is not Ethernet");
  if (is_part(*link))
    return fail(Code::invalid, "interface " + interface + " is part of a " + link->port_of +
                                   ": the virtual IP belongs on that");
  if (!link->up) return fail(Code::unavailable, "interface " + interface + " is down");
  if (!link->carrier) return fail(Code::unavailable, "interface " + interface + " has no carrier");
  return {};
}

}  // namespace

bool is_on_link(const HostState& host, const Ip& vip, std::uint32_t ifindex) {
  return std::ranges::any_of(host.addresses, [&](const auto& one) {
    const auto& [address, facts] = one;
    return address.ifindex == ifindex && !facts.ours() && address.ip.is_v4() == vip.is_v4() &&
           address.prefix < vip.width() && facts.on_link.contains(vip);
  });
}

bool has_address(const HostState& host, const Ip& vip, std::uint32_t ifindex) {
  const auto at = host.addresses.find({ifindex, vip, vip.width()});
  return at != host.addresses.end() && at->second.ours();
}

Result<> check_usable(const HostState& host, const Ip& vip, const std::string& interface,
                      bool routed) {
  FL_CHECKED(check_link(host, interface));
  for (const auto& [address, facts] : host.addresses) {
    if (address.ip != vip || facts.ours()) continue;
    const auto link = host.links.find(address.ifindex);
    return fail(Code::already_exists,
                vip.to_string() + " is an address of this host, added by somebody else: " +
                    vip.to_string() + "/" + std::to_string(address.prefix) + " on " +
                    (link == host.links.end() ? "an interface" : link->second.name));
  }
  const HostLink& link = *host.find(interface);
  if (routed || is_on_link(host, vip, link.ifindex)) return {};
  return fail(Code::unavailable,
              vip.to_string() + " is not on-link at " + interface +
                  ", which has these addresses: " + networks_of(host, link.ifindex, vip.is_v4()));
}

std::vector<AddressChange> plan_addresses(const HostState& host,
                                          const std::map<Ip, std::string>& wanted) {
  std::vector<AddressChange> changes;
  std::set<Ip> foreign;
  for (const auto& [address, facts] : host.addresses) {
    if (!facts.ours()) {
      foreign.insert(address.ip);
      continue;
    }
    const auto wish = wanted.find(address.ip);
    const auto link = host.links.find(address.ifindex);
    const bool stays = wish != wanted.end() && link != host.links.end() &&
                       link->second.name == wish->second && address.prefix == address.ip.width();
    if (!stays) changes.push_back({AddressChange::Kind::remove, address});
  }
  for (const auto& [vip, interface] : wanted) {
    const HostLink* link = host.find(interface);
    if (!link || !link->up || foreign.contains(vip) || has_address(host, vip, link->ifindex))
      continue;
    changes.push_back({AddressChange::Kind::add, {link->ifindex, vip, vip.width()}});
  }
  return changes;
}

std::vector<std::string> client_interfaces(const HostState& host) {
  std::vector<std::string> names;
  for (const auto& [ifindex, link] : host.links)
    if (link.up && !link.loopback && !is_part(link)) names.push_back(link.name);
  return names;
}

}  // namespace fairlead::vip
