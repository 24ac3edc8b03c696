#include "lab/lab_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fairlead::lab {
namespace {

constexpr std::uint32_t kMostHosts = 250;
constexpr std::string_view kServerAddress = "10.231.255.254";
constexpr std::uint16_t kServerPort = 6443;

std::string prefix(const LabSettings& settings) { return "fl-" + settings.name + "-"; }

std::string host_folder(const LabSettings& settings, std::uint32_t host) {
  return settings.folder + "/" + node_name(host);
}

Arguments in(const std::string& netns, Arguments command) {
  Arguments whole{"ip", "netns", "exec", netns};
  std::ranges::move(command, std::back_inserter(whole));
  return whole;
}

std::string port_name(std::uint32_t host) { return fmt::format("p{}", host); }

}  // namespace

Result<> check(const LabSettings& settings) {
  const bool plain = !settings.name.empty() && settings.name.size() <= 8 &&
                     std::ranges::all_of(settings.name, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
                     });
  if (!plain)
    return fail(Code::invalid, "--name " + settings.name + ": up to 8 small letters and digits");
  if (settings.hosts < 1 || settings.hosts > kMostHosts)
    return fail(Code::invalid,
                fmt::format("--hosts {}: must be between 1 and {}", settings.hosts, kMostHosts));
  if (settings.fabric != "vxlan" && settings.fabric != "log")
    return fail(Code::invalid, "--fabric " + settings.fabric + ": must be vxlan or log");
  return {};
}

std::string switch_namespace(const LabSettings& settings) { return prefix(settings) + "switch"; }

std::string host_namespace(const LabSettings& settings, std::uint32_t host) {
  return prefix(settings) + std::to_string(host);
}

std::string node_name(std::uint32_t host) { return fmt::format("host-{}", host); }

std::string host_address(std::uint32_t host) { return fmt::format("10.231.0.{}", host); }

std::vector<Arguments> make_switch(const LabSettings& settings) {
  const std::string netns = switch_namespace(settings);
  return {{"ip", "netns", "add", netns},
          {"ip", "-n", netns, "link", "set", "lo", "up"},
          {"ip", "-n", netns, "link", "add", "br0", "type", "bridge"},
          {"ip", "-n", netns, "address", "add", fmt::format("{}/16", kServerAddress), "dev", "br0"},
          {"ip", "-n", netns, "link", "set", "br0", "up"}};
}

std::vector<Arguments> make_host(const LabSettings& settings, std::uint32_t host) {
  const std::string netns = host_namespace(settings, host);
  const std::string hub = switch_namespace(settings);
  const std::string port = port_name(host);
  return {{"ip", "netns", "add", netns},
          {"ip", "-n", netns, "link", "set", "lo", "up"},
          {"ip", "-n", netns, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns",
           hub},
          {"ip", "-n", hub, "link", "set", port, "master", "br0", "up"},
          {"ip", "-n", netns, "address", "add", host_address(host) + "/16", "dev", "eth0"},
          {"ip", "-n", netns, "link", "set", "eth0", "up"}};
}

Daemon server(const LabSettings& settings) {
  return {
      .name = "server",
      .command = {settings.program, "server", "--data", settings.folder + "/server", "--listen",
                  fmt::format("127.0.0.1:{}", settings.port), "--listen-netns",
                  fmt::format("{}={}:{}", switch_namespace(settings), kServerAddress, kServerPort)},
      .ready = "fairlead server ready"};
}

Arguments create_token(const LabSettings& settings) {
  return {settings.program,  "server",
          "token",           "create",
          "--data",          settings.folder + "/server",
          "--ttl",           "1h",
          "--replace",       "--description",
          "hosts of the lab"};
}

Arguments join(const LabSettings& settings, std::uint32_t host, const std::string& token) {
  return on_host(
      settings, host,
      {settings.program, "join", "--server", fmt::format("{}:{}", kServerAddress, kServerPort),
       "--node", node_name(host), "--data", host_folder(settings, host), "--token", token});
}

Daemon agent(const LabSettings& settings, std::uint32_t host) {
  return {.name = node_name(host) + "-agent",
          .command = on_host(settings, host,
                             {settings.program, "agent", "--node", node_name(host), "--host-ip",
                              host_address(host), "--fabric", settings.fabric, "--join-dir",
                              host_folder(settings, host), "--metrics-listen", "127.0.0.1:9294"}),
          .ready = "fairlead agent ready"};
}

Arguments cut_cable(const LabSettings& settings, std::uint32_t host) {
  return {"ip", "-n", switch_namespace(settings), "link", "set", port_name(host), "down"};
}

Arguments plug_cable(const LabSettings& settings, std::uint32_t host) {
  return {"ip", "-n", switch_namespace(settings), "link", "set", port_name(host), "up"};
}

Arguments on_host(const LabSettings& settings, std::uint32_t host, Arguments command) {
  return in(host_namespace(settings, host), std::move(command));
}

std::vector<std::string> namespaces_of(const LabSettings& settings,
                                       const std::vector<std::string>& existing) {
  std::vector<std::string> ours;
  std::ranges::copy_if(existing, std::back_inserter(ours),
                       [&](const std::string& name) { return name.starts_with(prefix(settings)); });
  return ours;
}

}  // namespace fairlead::lab
