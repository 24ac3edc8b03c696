#include "features/vip/config/virtual_ip_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/identity/user.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kMostGates = 256;

// What the virtual IPs that were checked so far say together.
struct Seen {
  std::map<Ip, std::string> addresses;                                     // → path
  std::map<std::string, std::pair<std::string, std::string>> groups;       // → preferred, path
  std::map<std::pair<std::string, std::string>, std::string> group_apart;  // → path
};

// Addresses of one group go together, so they cannot want to be elsewhere or apart.
void check_group(const std::string& path, const VirtualIpSettings& settings, Seen& seen,
                 FieldErrors& errors) {
  if (settings.group.empty()) return;
  const auto [first, is_first] =
      seen.groups.try_emplace(settings.group, settings.preferred_node, path);
  if (!is_first && first->second.first != settings.preferred_node)
    refuse(errors, path + ".preferredNode", settings.preferred_node,
           fmt::format("is not that of {}, which is in the same group", first->second.second));
  if (settings.apart.empty()) return;
  const auto [other, is_only] =
      seen.group_apart.try_emplace({settings.group, settings.apart}, path);
  if (!is_only)
    refuse(errors, path + ".apart", settings.apart,
           fmt::format("is that of {}, which is in the same group", other->second));
}

void check_preferred(const std::string& path, const std::string& node, const MemberList& members,
                     VipPlan& plan, FieldErrors& errors) {
  if (node.empty()) return;
  if (!identity::is_node_name(node)) return refuse(errors, path, node, "is not a valid node name");
  const bool known = members.has(node) || plan.node.empty() || node == plan.node;
  if (plan.election.backend == Backend::raft && !known)
    plan.notes.push_back(
        fmt::format("{}: {} is not among the members that this file has", path, node));
}

Announce announce_of(const std::string& text) {
  if (text == "bgp") return Announce::bgp;
  if (text == "route") return Announce::route;
  return text == "external" ? Announce::external : Announce::l2;
}

// How the address is announced, and where this node has it.
void check_announce(const std::string& path, const VirtualIpSettings& settings, VipEntry& entry,
                    FieldErrors& errors) {
  entry.announce = announce_of(settings.announce);
  entry.anycast = settings.anycast;
  entry.vip.interface = settings.interface;
  const bool routed = entry.announce == Announce::bgp || entry.announce == Announce::route;
  if (settings.anycast && !routed)
    refuse(errors, path + ".anycast", "true",
           "needs routers that choose among the nodes: announce bgp or route");
  if (entry.announce == Announce::external) {
    if (!settings.interface.empty())
      refuse(errors, path + ".interface", settings.interface,
             "must not be given with announce: external: this node does not have the address");
    if (settings.health.empty()) errors.push_back(resource::required(path + ".health"));
    return;
  }
  if (routed && settings.interface.empty()) entry.vip.interface = "lo";
  check_interface(path + ".interface", entry.vip.interface,
                  routed ? Loopback::allowed : Loopback::refused, errors);
}

// Nothing is elected for these, so wishes about it would be in vain.
void check_unelected(const std::string& path, const VirtualIpSettings& settings,
                     const VipEntry& entry, FieldErrors& errors) {
  if (!entry.anycast && entry.announce != Announce::external) return;
  const std::string because = entry.anycast ? "anycast" : "announce: external";
  const std::pair<const char*, const std::string*> wishes[] = {
      {".preferredNode", &settings.preferred_node},
      {".group", &settings.group},
      {".apart", &settings.apart}};
  for (const auto& [field, value] : wishes)
    if (!value->empty())
      refuse(errors, path + field, *value, "means nothing with " + because + ": nobody is elected");
  if (!settings.notify.empty())
    refuse(errors, path + ".notify", settings.notify[0],
           "means nothing with " + because + ": nobody is elected");
}

void check_one(const std::string& path, const VirtualIpSettings& settings,
               const MemberList& members, Seen& seen, VipPlan& plan, FieldErrors& errors) {
  const std::optional<Ip> address = vip_address(path + ".address", settings.address, errors);
  VipEntry entry;
  check_announce(path, settings, entry, errors);
  check_unelected(path, settings, entry, errors);
  check_group(path, settings, seen, errors);
  check_preferred(path + ".preferredNode", settings.preferred_node, members, plan, errors);
  entry.vip.priority = settings.priority;
  entry.vip.options = {.group = settings.group,
                       .apart = settings.apart,
                       .preferred = settings.preferred_node,
                       .preempt = settings.preempt.value_or(true)};
  entry.vip.options.preempt_delay =
      duration_field(path + ".preemptDelay", settings.preempt_delay, 0ms, 1h, errors);
  for (std::size_t i = 0; i < settings.health.size(); ++i)
    entry.gates.push_back(check_gate(item(path + ".health", i), settings.health[i], errors));
  check_command(path + ".notify", settings.notify, errors);
  entry.notify = settings.notify;
  entry.notify_timeout =
      duration_field(path + ".notifyTimeout", settings.notify_timeout, 10ms, 1h, errors);
  if (!address) return;
  const auto [other, is_new] = seen.addresses.try_emplace(*address, path + ".address");
  if (!is_new)
    refuse(errors, path + ".address", settings.address,
           "is the address at " + other->second + ", too");
  check_not_own(path + ".address", *address, members, plan, errors);
  entry.vip.address = *address;
  plan.vips.push_back(std::move(entry));
}

// Up to one more than allowed.
std::size_t different_gates(const VipPlan& plan) {
  std::vector<const GateConfig*> known;
  for (const VipEntry& entry : plan.vips)
    for (const GateConfig& gate : entry.gates) {
      const auto same = [&](const GateConfig* one) { return *one == gate; };
      if (known.size() <= kMostGates && std::ranges::none_of(known, same)) known.push_back(&gate);
    }
  return known.size();
}

}  // namespace

void check_not_own(const std::string& path, const Ip& address, const MemberList& members,
                   const VipPlan& plan, FieldErrors& errors) {
  if (const std::string* holder = members.holder_of(address))
    return refuse(errors, path, address.to_string(),
                  "is a member's own address (" + *holder + "): a virtual IP is nobody's own");
  if (plan.election.listen.host == address.to_string())
    refuse(errors, path, address.to_string(),
           "is this node's own address (election.listen): a virtual IP is nobody's own");
}

void check_virtual_ips(const std::vector<VirtualIpSettings>& settings, const MemberList& members,
                       VipPlan& plan, FieldErrors& errors) {
  Seen seen;
  for (std::size_t i = 0; i < settings.size(); ++i)
    check_one(item("virtualIPs", i), settings[i], members, seen, plan, errors);
  if (const std::size_t gates = different_gates(plan); gates > kMostGates)
    errors.push_back(resource::forbidden(
        "virtualIPs", fmt::format("more than {} different health gates: the same ones for several "
                                  "addresses count once",
                                  kMostGates)));
}

std::optional<VipEntry> check_virtual_ip(const std::string& path, const VirtualIpSettings& settings,
                                         FieldErrors& errors) {
  const std::size_t before = errors.size();
  Seen seen;
  VipPlan alone;
  check_one(path, settings, MemberList(), seen, alone, errors);
  if (errors.size() != before || alone.vips.empty()) return std::nullopt;
  return std::move(alone.vips.front());
}

FromApi check_from_api(const std::string& path, const FromApiSettings& settings,
                       FieldErrors& errors) {
  FromApi from{.addresses = {},
               .programs = settings.allowed_programs,
               .limit = static_cast<std::size_t>(settings.limit)};
  for (std::size_t i = 0; i < settings.addresses.size(); ++i) {
    const Result<Cidr> block = Cidr::parse(settings.addresses[i]);
    if (block)
      from.addresses.push_back(*block);
    else
      refuse(errors, item(path + ".addresses", i), settings.addresses[i],
             "must be a block in CIDR notation without host bits, such as 10.0.0.64/26");
  }
  for (std::size_t i = 0; i < from.programs.size(); ++i)
    if (!from.programs[i].starts_with('/'))
      refuse(errors, item(path + ".allowedPrograms", i), from.programs[i],
             "must be the absolute path of a program");
  return from;
}

}  // namespace fairlead::vip
