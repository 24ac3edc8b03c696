// The fabric's preconditions on this host, for `fairlead agent --check`. Only looks.
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "features/networks/node/networks_settings.h"

namespace fairlead::networks {
namespace {

constexpr unsigned kNetAdmin = 12;  // CAP_NET_ADMIN
constexpr unsigned kSysAdmin = 21;  // CAP_SYS_ADMIN

std::uint64_t effective_capabilities(runtime::Files& files) {
  const Result<std::string> status = files.read("/proc/self/status");
  constexpr std::string_view kLine = "CapEff:\t";
  const std::size_t at = status ? status->find(kLine) : std::string::npos;
  std::uint64_t bits = 0;
  if (at == std::string::npos) return bits;
  const char* begin = status->data() + at + kLine.size();
  std::from_chars(begin, status->data() + status->size(), bits, 16);
  return bits;
}

void check_capability(std::uint64_t have, unsigned capability, const char* name,
                      agent::Checklist& checks) {
  if ((have >> capability & 1) != 0)
    checks.passed(std::string("capability ") + name);
  else
    checks.failed(std::string("capability ") + name, "this process does not have it: run as root");
}

std::optional<Ip> address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return Ip::v4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  if (address.sa_family != AF_INET6) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr,
              bytes.size());
  return Ip::v6(bytes);
}

// The interface of this network namespace that has the address; empty: none.
std::string interface_with(const Ip& address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string found;
  for (const ifaddrs* one = all; one && found.empty(); one = one->ifa_next) {
    if (!one->ifa_addr) continue;
    if (address_of(*one->ifa_addr) == address) found = one->ifa_name;
  }
  ::freeifaddrs(all);
  return found;
}

void check_programs(const HookLimits& hooks, agent::Checklist& checks) {
  for (const std::string& program : hooks.allowed_programs) {
    const std::string what = "allowed program " + program;
    if (::access(program.c_str(), X_OK) == 0)
      checks.passed(what);
    else
      checks.failed(what, std::strerror(errno));
  }
}

}  // namespace

void check_host(const NetworksConfig& config, runtime::Files& files, agent::Checklist& checks) {
  check_programs(config.options.hooks, checks);
  const std::string& fabric = config.fabric.name;
  if (fabric == "log") return checks.passed("fabric log, which needs nothing");
  const std::string host = "address " + config.fabric.host.to_string() + " for tunnels";
  if (const std::string interface = interface_with(config.fabric.host); !interface.empty())
    checks.passed(host + ", on " + interface);
  else
    checks.failed(host, "no interface of this host has it");
  const std::uint64_t have = effective_capabilities(files);
  check_capability(have, kNetAdmin, "CAP_NET_ADMIN", checks);
  if (fabric == "vxlan") check_capability(have, kSysAdmin, "CAP_SYS_ADMIN", checks);
  if (fabric != "ovs") return;
  const std::string socket = config.fabric.ovs_run_dir + "/db.sock";
  const Result<std::vector<std::string>> there = files.list(config.fabric.ovs_run_dir);
  if (there && std::ranges::find(*there, "db.sock") != there->end())
    checks.passed("Open vSwitch's " + socket);
  else
    checks.failed("Open vSwitch's " + socket, "it is not there: is ovsdb-server running?");
}

}  // namespace fairlead::networks
