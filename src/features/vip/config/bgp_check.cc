#include "features/vip/config/bgp_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "foundation/base/host_address.h"

namespace fairlead::vip {
namespace {

// A unicast address that is not a virtual one.
std::optional<Ip> own_address(const std::string& path, const std::string& text, const VipPlan& plan,
                              FieldErrors& errors) {
  const Result<Ip> ip = Ip::parse(text);
  if (!ip) {
    refuse(errors, path, text, "must be an address, such as 10.0.0.1 or fd00::1");
    return std::nullopt;
  }
  if (const std::string_view problem = host_address_problem(*ip); !problem.empty()) {
    refuse(errors, path, text, std::string(problem));
    return std::nullopt;
  }
  if (std::ranges::any_of(plan.vips, [&](const VipEntry& one) { return one.vip.address == *ip; })) {
    refuse(errors, path, text, "is one of the virtual IPs");
    return std::nullopt;
  }
  return *ip;
}

// BIRD has no fractions of this unit.
Duration whole(const std::string& path, const std::string& text, Duration unit, Duration least,
               Duration most, FieldErrors& errors) {
  const Duration value = duration_field(path, text, least, most, errors);
  if (value % unit != Duration::zero())
    refuse(errors, path, text, fmt::format("must be a multiple of {}", text_of(unit)));
  return value;
}

void check_times(const BgpSettings& settings, BgpConfig& bgp, FieldErrors& errors) {
  bgp.hold = whole("bgp.holdTime", settings.hold_time, 1s, 3s, 1h, errors);
  bgp.keepalive = whole("bgp.keepaliveTime", settings.keepalive_time, 1s, 1s, 1h, errors);
  if (bgp.keepalive * 3 > bgp.hold)
    refuse(errors, "bgp.keepaliveTime", settings.keepalive_time,
           fmt::format("must be at most a third of holdTime, {}", text_of(bgp.hold)));
  bgp.connect_retry =
      whole("bgp.connectRetryTime", settings.connect_retry_time, 1s, 1s, 1h, errors);
  bgp.bfd_interval = whole("bgp.bfdInterval", settings.bfd_interval, 1ms, 10ms, 10s, errors);
  bgp.bfd_multiplier = settings.bfd_multiplier;
}

void check_router_id(const BgpSettings& settings, const VipPlan& plan, BgpConfig& bgp,
                     FieldErrors& errors) {
  std::string text = settings.router_id;
  if (text.empty()) {
    const Result<Ip> listen = Ip::parse(plan.election.listen.host);
    if (!listen || !listen->is_v4() || *listen == Ip() || listen->is_loopback())
      return errors.push_back(resource::required("bgp.routerId"));
    text = plan.election.listen.host;
  }
  const std::optional<Ip> id = own_address("bgp.routerId", text, plan, errors);
  if (id && !id->is_v4()) refuse(errors, "bgp.routerId", text, "must be an IPv4 address");
  if (id) bgp.router_id = *id;
}

void check_neighbor(const std::string& path, const BgpNeighborSettings& settings,
                    const VipPlan& plan, BgpConfig& bgp, FieldErrors& errors) {
  BgpNeighbor neighbor{.address = {},
                       .as = static_cast<std::uint32_t>(settings.as),
                       .password_file = settings.password_file,
                       .source = std::nullopt,
                       .multihop = settings.multihop,
                       .bfd = settings.bfd.value_or(true)};
  if (!neighbor.password_file.empty() && !neighbor.password_file.starts_with('/'))
    refuse(errors, path + ".passwordFile", neighbor.password_file, "must be an absolute path");
  const std::optional<Ip> address = own_address(path + ".address", settings.address, plan, errors);
  if (!settings.source_address.empty())
    neighbor.source = own_address(path + ".sourceAddress", settings.source_address, plan, errors);
  if (!address) return;
  neighbor.address = *address;
  if (neighbor.source && neighbor.source->is_v4() != address->is_v4())
    refuse(errors, path + ".sourceAddress", settings.source_address,
           "must be of the same IP version as address");
  if (std::ranges::find(bgp.neighbors, *address, &BgpNeighbor::address) != bgp.neighbors.end())
    refuse(errors, path + ".address", settings.address, "is the address of another neighbor, too");
  bgp.neighbors.push_back(std::move(neighbor));
}

// Each virtual IP needs a router that is told of it.
void check_families(const VipPlan& plan, const BgpConfig& bgp, FieldErrors& errors) {
  for (std::size_t i = 0; i < plan.vips.size(); ++i) {
    const VipEntry& entry = plan.vips[i];
    const bool v4 = entry.vip.address.is_v4();
    const bool told = std::ranges::any_of(
        bgp.neighbors, [&](const BgpNeighbor& one) { return one.address.is_v4() == v4; });
    if (entry.announce == Announce::bgp && !told)
      refuse(errors, item("virtualIPs", i) + ".announce", "bgp",
             fmt::format("needs a neighbor with an {} address in bgp.neighbors",
                         v4 ? "IPv4" : "IPv6"));
  }
}

}  // namespace

void check_bgp(const std::optional<BgpSettings>& settings, VipPlan& plan, FieldErrors& errors) {
  const bool used = std::ranges::any_of(
      plan.vips, [](const VipEntry& one) { return one.announce == Announce::bgp; });
  if (!settings) {
    if (used) errors.push_back(resource::required("bgp"));
    return;
  }
  if (!used) plan.notes.emplace_back("bgp: no virtual IP of this file has announce: bgp");
  BgpConfig bgp{.as = static_cast<std::uint32_t>(settings->as)};
  check_router_id(*settings, plan, bgp, errors);
  check_times(*settings, bgp, errors);
  bgp.bird = settings->bird;
  if (!bgp.bird.starts_with('/'))
    refuse(errors, "bgp.bird", bgp.bird, "must be the absolute path of a program");
  if (settings->neighbors.empty()) errors.push_back(resource::required("bgp.neighbors"));
  for (std::size_t i = 0; i < settings->neighbors.size(); ++i)
    check_neighbor(item("bgp.neighbors", i), settings->neighbors[i], plan, bgp, errors);
  if (errors.empty()) check_families(plan, bgp, errors);
  plan.bgp = std::move(bgp);
}

}  // namespace fairlead::vip
