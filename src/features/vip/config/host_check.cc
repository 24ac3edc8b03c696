// What virtual IPs need of this host, for `fairlead agent --check`. Only looks. What may change
// while the agent runs, and what it then waits for (interfaces, addresses), is noted and no
// failure.
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <set>

#include "features/vip/config/vip_config.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kShortestSecret = 16;

struct HostAddress {
  std::string interface;
  Ip ip;
  int prefix = 0;
};

// The interfaces and addresses of this network namespace.
struct HostView {
  std::map<std::string, bool> interfaces;  // → whether it is Ethernet
  std::vector<HostAddress> addresses;
};

std::optional<Ip> address_of(const sockaddr* address) {
  if (!address) return std::nullopt;
  if (address->sa_family == AF_INET)
    return Ip::v4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  if (address->sa_family != AF_INET6) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
              bytes.size());
  return Ip::v6(bytes);
}

int prefix_of(const sockaddr* mask, int width) {
  const std::optional<Ip> bits = address_of(mask);
  if (!bits) return width;
  int length = 0;
  for (const std::uint8_t byte : bits->bytes()) length += std::popcount(byte);
  return length;
}

HostView look() {
  HostView view;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return view;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (one->ifa_addr && one->ifa_addr->sa_family == AF_PACKET) {
      const auto* link = reinterpret_cast<const sockaddr_ll*>(one->ifa_addr);
      view.interfaces[one->ifa_name] = link->sll_hatype == ARPHRD_ETHER;
    } else if (const std::optional<Ip> ip = address_of(one->ifa_addr)) {
      view.addresses.push_back({one->ifa_name, *ip, prefix_of(one->ifa_netmask, ip->width())});
    }
  }
  ::freeifaddrs(all);
  return view;
}

void report(agent::Checklist& checks, std::string what, const std::string& problem) {
  if (problem.empty())
    checks.passed(std::move(what));
  else
    checks.failed(std::move(what), problem);
}

// The same for what the agent waits for.
void report_or_note(agent::Checklist& checks, const std::string& what, const std::string& problem) {
  if (problem.empty())
    checks.passed(what);
  else
    checks.noted(what + ": " + problem);
}

void check_name(const VipPlan& plan, runtime::Files& files, agent::Checklist& checks) {
  if (!plan.node.empty()) return;
  const Result<std::string> host = files.read("/proc/sys/kernel/hostname");
  if (!host) return;
  VipPlan named = plan;
  const std::string name = host->substr(0, host->find('\n'));
  if (const Result<> fits = name_node(named, name); !fits)
    checks.failed("election member " + name, fits.error().message);
}

void check_listen(const VipPlan& plan, const HostView& host, agent::Checklist& checks) {
  if (plan.election.backend != Backend::raft) return;
  const Result<Ip> ip = Ip::parse(plan.election.listen.host);
  if (!ip || *ip == Ip() || *ip == Ip::v6({}) || ip->is_loopback()) return;
  const bool ours =
      std::ranges::find(host.addresses, *ip, &HostAddress::ip) != host.addresses.end();
  report_or_note(checks, "election on " + plan.election.listen.to_string(),
                 ours ? "" : "no interface of this host has this address");
}

// What is wrong with a VIP on this host; empty: nothing.
std::string vip_problem(const VipEntry& entry, const HostView& host) {
  const VipConfig& vip = entry.vip;
  const auto interface = host.interfaces.find(vip.interface);
  if (interface == host.interfaces.end()) return "there is no such interface";
  if (entry.announce != Announce::l2) return "";
  if (!interface->second) return "it is not an Ethernet interface";
  bool on_link = false;
  for (const HostAddress& address : host.addresses) {
    const bool whole = address.prefix == address.ip.width();  // as a holder has a virtual IP
    if (address.ip == vip.address && !whole)
      return fmt::format("{} has it as this host's own address", address.interface);
    if (whole || address.interface != vip.interface) continue;
    on_link |= Cidr(address.ip, address.prefix).contains(vip.address);
  }
  return on_link ? "" : "the interface has no address in a network with it";
}

void check_file(const std::string& what, const std::string& path, runtime::Files& files,
                agent::Checklist& checks) {
  if (path.empty()) return;
  const Result<std::string> text = files.read(path);
  report(checks, what + " " + path, text ? "" : text.error().message);
}

void check_secret(const std::string& path, runtime::Files& files, agent::Checklist& checks) {
  if (path.empty()) return;
  const Result<std::string> secret = files.read(path);
  const bool too_short = secret && secret->size() < kShortestSecret;
  report(checks, "secret " + path,
         !secret     ? secret.error().message
         : too_short ? fmt::format("it must have at least {} bytes", kShortestSecret)
                     : "");
}

void check_files(const VipPlan& plan, runtime::Files& files, agent::Checklist& checks) {
  const ElectionConfig& election = plan.election;
  check_secret(election.secret_file, files, checks);
  for (const TlsFiles* tls : {&election.tls, &election.etcd_tls}) {
    check_file("CA", tls->ca, files, checks);
    check_file("certificate", tls->certificate, files, checks);
    check_file("key", tls->key, files, checks);
  }
  check_file("kubeconfig", election.kubeconfig, files, checks);
  std::set<std::string> authorities;
  std::set<std::string> programs;
  for (const VipEntry& entry : plan.vips) {
    if (!entry.notify.empty()) programs.insert(entry.notify[0]);
    for (const GateConfig& gate : entry.gates) {
      if (!gate.ca_file.empty()) authorities.insert(gate.ca_file);
      if (!gate.command.empty()) programs.insert(gate.command[0]);
    }
  }
  for (const std::string& path : authorities) check_file("CA", path, files, checks);
  for (const std::string& path : programs)
    report(checks, "program " + path,
           ::access(path.c_str(), X_OK) == 0 ? "" : std::string(std::strerror(errno)));
}

void check_bird(const BgpConfig& bgp, runtime::Files& files, agent::Checklist& checks) {
  report(checks, "program " + bgp.bird,
         ::access(bgp.bird.c_str(), X_OK) == 0
             ? ""
             : fmt::format("{}: BGP needs BIRD 2, Debian's package bird2", std::strerror(errno)));
  for (const BgpNeighbor& neighbor : bgp.neighbors)
    check_file("password", neighbor.password_file, files, checks);
}

void check_capabilities(runtime::Files& files, agent::Checklist& checks) {
  const Result<std::string> status = files.read("/proc/self/status");
  constexpr std::string_view kLine = "CapEff:\t";
  const std::size_t at = status ? status->find(kLine) : std::string::npos;
  if (at == std::string::npos) return;
  std::uint64_t have = 0;
  std::from_chars(status->data() + at + kLine.size(), status->data() + status->size(), have, 16);
  const std::pair<unsigned, const char*> needed[] = {
      {12, "CAP_NET_ADMIN"}, {13, "CAP_NET_RAW"}, {21, "CAP_SYS_ADMIN"}};
  for (const auto& [bit, name] : needed)
    report(checks, fmt::format("capability {}", name),
           (have >> bit & 1) != 0 ? "" : "this process does not have it: run as root");
}

}  // namespace

void check_host(const VipPlan& plan, runtime::Files& files, agent::Checklist& checks) {
  const HostView host = look();
  check_name(plan, files, checks);
  check_listen(plan, host, checks);
  for (const VipEntry& entry : plan.vips)
    if (entry.announce != Announce::external)
      report_or_note(
          checks,
          fmt::format("virtual IP {} on {}", entry.vip.address.to_string(), entry.vip.interface),
          vip_problem(entry, host));
  if (plan.bgp) check_bird(*plan.bgp, files, checks);
  check_files(plan, files, checks);
  if (!plan.vips.empty()) check_capabilities(files, checks);
  for (const std::string& note : plan.notes) checks.noted(note);
}

}  // namespace fairlead::vip
