#include "tools/lab/lab_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "foundation/base/ip.h"

namespace fairlead::lab {
namespace {

constexpr std::uint32_t kMostHosts = 250;
constexpr std::uint32_t kMostServers = 9;
constexpr std::uint16_t kServerPort = 6443;
constexpr std::uint16_t kElectionPort = 10'000;
constexpr std::string_view kOvsPackage = "openvswitch-switch";
constexpr std::string_view kOvsSchema = "/usr/share/openvswitch/vswitch.ovsschema";
constexpr std::size_t kLongestOvsFolder = 80;  // a socket's path has room for 107 characters

std::string prefix(const LabSettings& settings) { return "fl-" + settings.name + "-"; }

bool over_ipv6(const LabSettings& settings) { return settings.underlay == "ipv6"; }

std::string host_folder(const LabSettings& settings, std::uint32_t host) {
  return settings.folder + "/" + node_name(host);
}

Arguments in(const std::string& netns, Arguments command) {
  Arguments whole{"ip", "netns", "exec", netns};
  std::ranges::move(command, std::back_inserter(whole));
  return whole;
}

// `ip address add`; without waiting for others to object, in IPv6.
Arguments add_address(const LabSettings& settings, const std::string& netns,
                      const std::string& address, const std::string& device) {
  Arguments command{"ip",      "-n",  netns,
                    "address", "add", address + (over_ipv6(settings) ? "/64" : "/16"),
                    "dev",     device};
  if (over_ipv6(settings)) command.emplace_back("nodad");
  return command;
}

// As the hosts see it.
std::string server_address(const LabSettings& settings, std::uint32_t server) {
  return over_ipv6(settings) ? fmt::format("fd00:231::1:{}", server)
                             : fmt::format("10.231.255.{}", 255 - server);
}

std::string server_endpoint(const LabSettings& settings, std::uint32_t server) {
  const std::string address = server_address(settings, server);
  return over_ipv6(settings) ? fmt::format("[{}]:{}", address, kServerPort)
                             : fmt::format("{}:{}", address, kServerPort);
}

std::string machine_endpoint(const LabSettings& settings, std::uint32_t server) {
  return fmt::format("127.0.0.1:{}", settings.port + server - 1);
}

Arguments vsctl(const LabSettings& settings, std::uint32_t host, Arguments rest) {
  Arguments command{"ovs-vsctl", "--timeout=20",
                    fmt::format("--db=unix:{}/db.sock", ovs_folder(settings, host))};
  std::ranges::move(rest, std::back_inserter(command));
  return command;
}

// A daemon of Open vSwitch whose sockets are all in the host's own folder.
Daemon ovs_daemon(const LabSettings& settings, std::uint32_t host, const std::string& kind,
                  Arguments command) {
  const std::string folder = ovs_folder(settings, host);
  Arguments whole{"env", "OVS_RUNDIR=" + folder, "OVS_DBDIR=" + folder, "OVS_LOGDIR=" + folder};
  const std::string program = command.front();
  std::ranges::move(command, std::back_inserter(whole));
  whole.push_back(fmt::format("--unixctl={}/{}.ctl", folder, kind));
  whole.insert(whole.end(), {"-vsyslog:off", "-vconsole:info"});
  return {.name = node_name(host) + "-" + kind,
          .command = on_host(settings, host, std::move(whole)),
          .ready = program + " (Open vSwitch)",
          .where = host_address(settings, host)};
}

}  // namespace

std::string default_folder(const std::string& name) { return "/run/fairlead-" + name; }

std::string command_for(const LabSettings& settings, const std::string& command) {
  std::string text = "fairlead lab " + command;
  if (settings.name != LabSettings{}.name) text += " --name " + settings.name;
  if (settings.folder != default_folder(settings.name)) text += " --dir " + settings.folder;
  return text;
}

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
  if (settings.fabric != "vxlan" && settings.fabric != "ovs" && settings.fabric != "log")
    return fail(Code::invalid, "--fabric " + settings.fabric + ": must be vxlan, ovs or log");
  if (settings.underlay != "ipv4" && settings.underlay != "ipv6")
    return fail(Code::invalid, "--underlay " + settings.underlay + ": must be ipv4 or ipv6");
  if (settings.servers < 1 || settings.servers > kMostServers)
    return fail(Code::invalid, fmt::format("--servers {}: must be between 1 and {}",
                                           settings.servers, kMostServers));
  if (settings.servers > 1 && !settings.store.starts_with("etcd:"))
    return fail(Code::invalid, fmt::format("--servers {}: several servers need --store etcd:URL",
                                           settings.servers));
  if (settings.store.find_first_of(" \n\t") != std::string::npos)
    return fail(Code::invalid, "--store: must be one word");
  for (const std::string& program : settings.allowed_programs)
    if (!program.starts_with('/') || program.contains('\n'))
      return fail(Code::invalid, "--allowed-program " + program + ": must be an absolute path");
  if (!settings.vip.empty()) {
    const Result<Ip> vip = Ip::parse(settings.vip);
    if (!vip || vip->is_v4() == over_ipv6(settings))
      return fail(Code::invalid, "--vip " + settings.vip +
                                     ": must be an address of the underlay, " + settings.underlay);
  }
  if (has_ovs(settings) && ovs_folder(settings, settings.hosts).size() > kLongestOvsFolder)
    return fail(Code::invalid,
                "--dir " + settings.folder + ": too long for the sockets of a switch");
  return {};
}

std::string switch_namespace(const LabSettings& settings) { return prefix(settings) + "switch"; }

std::string host_namespace(const LabSettings& settings, std::uint32_t host) {
  return prefix(settings) + std::to_string(host);
}

std::string node_name(std::uint32_t host) { return fmt::format("host-{}", host); }

std::string host_address(const LabSettings& settings, std::uint32_t host) {
  return over_ipv6(settings) ? fmt::format("fd00:231::{:x}", host)
                             : fmt::format("10.231.0.{}", host);
}

std::vector<Needed> needed_programs(const LabSettings& settings) {
  std::vector<Needed> needed{{"ip", "iproute2"}};
  if (has_ovs(settings))
    for (const char* program : {"ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl"})
      needed.push_back({program, std::string(kOvsPackage)});
  return needed;
}

std::vector<Arguments> make_switch(const LabSettings& settings) {
  const std::string netns = switch_namespace(settings);
  std::vector<Arguments> commands{{"ip", "netns", "add", netns},
                                  {"ip", "-n", netns, "link", "set", "lo", "up"},
                                  {"ip", "-n", netns, "link", "add", "br0", "type", "bridge"},
                                  {"ip", "-n", netns, "link", "set", "br0", "up"}};
  for (std::uint32_t server = 1; server <= settings.servers; ++server)
    commands.push_back(add_address(settings, netns, server_address(settings, server), "br0"));
  return commands;
}

std::vector<Arguments> make_host(const LabSettings& settings, std::uint32_t host) {
  const std::string netns = host_namespace(settings, host);
  const std::string hub = switch_namespace(settings);
  const std::string port = cable_end(host);
  std::vector<Arguments> commands{{"ip", "netns", "add", netns},
                                  {"ip", "-n", netns, "link", "set", "lo", "up"},
                                  {"ip", "-n", netns, "link", "add", "eth0", "type", "veth", "peer",
                                   "name", port, "netns", hub},
                                  {"ip", "-n", hub, "link", "set", port, "master", "br0", "up"},
                                  {"ip", "-n", netns, "link", "set", "eth0", "up"}};
  if (!has_ovs(settings))
    commands.push_back(add_address(settings, netns, host_address(settings, host), "eth0"));
  return commands;
}

std::string server_folder(const LabSettings& settings, std::uint32_t server) {
  return settings.folder + (server == 1 ? "/server" : fmt::format("/server-{}", server));
}

std::vector<std::string> shared_server_files() {
  return {"pki/ca.crt", "pki/ca.key", "pki/token.key", "admin.token"};
}

Daemon server(const LabSettings& settings, std::uint32_t server) {
  Daemon daemon{.name = server == 1 ? "server" : fmt::format("server-{}", server),
                .command = {settings.program, "server", "--data", server_folder(settings, server),
                            "--listen", machine_endpoint(settings, server), "--listen-netns",
                            switch_namespace(settings) + "=" + server_endpoint(settings, server)},
                .ready = "fairlead server ready",
                .where = machine_endpoint(settings, server)};
  if (settings.store != "sqlite")
    daemon.command.insert(daemon.command.end(), {"--store", settings.store});
  if (settings.servers == 1) return daemon;
  // The first is for the machine's own users; the others are for the hosts.
  daemon.command.insert(daemon.command.end(), {"--advertise", machine_endpoint(settings, server)});
  for (std::uint32_t other = 1; other <= settings.servers; ++other)
    daemon.command.insert(daemon.command.end(), {"--advertise", server_endpoint(settings, other)});
  return daemon;
}

Arguments create_token(const LabSettings& settings) {
  return {settings.program,           "server", "token", "create",    "--data",
          server_folder(settings, 1), "--ttl",  "1h",    "--replace", "--description",
          "hosts of the lab"};
}

Arguments join(const LabSettings& settings, std::uint32_t host, const std::string& token) {
  return on_host(settings, host,
                 {settings.program, "join", "--server", server_endpoint(settings, 1), "--node",
                  node_name(host), "--data", host_folder(settings, host), "--token", token});
}

Daemon agent(const LabSettings& settings, std::uint32_t host) {
  Arguments command{settings.program,   "agent",
                    "--node",           node_name(host),
                    "--host-ip",        host_address(settings, host),
                    "--fabric",         settings.fabric,
                    "--join-dir",       host_folder(settings, host),
                    "--metrics-listen", "127.0.0.1:9294"};
  if (has_ovs(settings))
    command.insert(command.end(),
                   {"--ovs-run-dir", ovs_folder(settings, host), "--ovs-datapath", "netdev"});
  for (const std::string& program : settings.allowed_programs)
    command.insert(command.end(), {"--allowed-program", program});
  if (!settings.vip.empty())
    command.insert(command.end(), {"--config", agent_file(settings, host), "--state",
                                   host_folder(settings, host) + "/vip"});
  return {.name = node_name(host) + "-agent",
          .command = on_host(settings, host, std::move(command)),
          .ready = "fairlead agent ready",
          .where = host_address(settings, host)};
}

std::string agent_file(const LabSettings& settings, std::uint32_t host) {
  return host_folder(settings, host) + "/agent.yaml";
}

std::string secret_file(const LabSettings& settings) { return settings.folder + "/vip.secret"; }

std::string agent_file_text(const LabSettings& settings, std::uint32_t host) {
  const auto endpoint = [&](std::uint32_t of) {
    const std::string address = host_address(settings, of);
    return over_ipv6(settings) ? fmt::format("'[{}]:{}'", address, kElectionPort)
                               : fmt::format("'{}:{}'", address, kElectionPort);
  };
  std::string text =
      fmt::format("election:\n  listen: {}\n  secretFile: {}\n  peers:{}\n", endpoint(host),
                  secret_file(settings), settings.hosts == 1 ? " []" : "");
  for (std::uint32_t other = 1; other <= settings.hosts; ++other)
    if (other != host)
      text += fmt::format("  - {{name: {}, address: {}}}\n", node_name(other), endpoint(other));
  return text + fmt::format("virtualIPs:\n- {{address: '{}', interface: {}}}\n", settings.vip,
                            has_ovs(settings) ? "br-phy" : "eth0");
}

Arguments clear_fence(const LabSettings& settings, std::uint32_t host) {
  return on_host(settings, host, {settings.program, "vip", "fence", "--clear"});
}

bool has_ovs(const LabSettings& settings) { return settings.fabric == "ovs"; }

std::string ovs_folder(const LabSettings& settings, std::uint32_t host) {
  return host_folder(settings, host) + "-ovs";
}

Arguments make_ovs_database(const LabSettings& settings, std::uint32_t host) {
  return {"ovsdb-tool", "create", ovs_folder(settings, host) + "/conf.db", std::string(kOvsSchema)};
}

Daemon ovsdb(const LabSettings& settings, std::uint32_t host) {
  const std::string folder = ovs_folder(settings, host);
  return ovs_daemon(settings, host, "ovsdb",
                    {"ovsdb-server", folder + "/conf.db", "--remote=punix:" + folder + "/db.sock"});
}

Arguments init_ovs(const LabSettings& settings, std::uint32_t host) {
  return vsctl(settings, host, {"--no-wait", "init"});
}

Daemon vswitchd(const LabSettings& settings, std::uint32_t host) {
  return ovs_daemon(settings, host, "vswitchd",
                    {"ovs-vswitchd", "unix:" + ovs_folder(settings, host) + "/db.sock"});
}

std::vector<Arguments> make_uplink(const LabSettings& settings, std::uint32_t host) {
  const std::string netns = host_namespace(settings, host);
  return {vsctl(settings, host,
                {"add-br", "br-phy", "--", "set", "bridge", "br-phy", "datapath_type=netdev", "--",
                 "add-port", "br-phy", "eth0"}),
          {"ip", "-n", netns, "link", "set", "br-phy", "up"},
          add_address(settings, netns, host_address(settings, host), "br-phy")};
}

std::string cable_end(std::uint32_t host) { return fmt::format("p{}", host); }

std::vector<Daemon> host_daemons(const LabSettings& settings, std::uint32_t host) {
  std::vector<Daemon> daemons;
  if (has_ovs(settings)) daemons = {ovsdb(settings, host), vswitchd(settings, host)};
  daemons.push_back(agent(settings, host));
  return daemons;
}

std::vector<Daemon> all_daemons(const LabSettings& settings) {
  std::vector<Daemon> daemons;
  for (std::uint32_t number = 1; number <= settings.servers; ++number)
    daemons.push_back(server(settings, number));
  for (std::uint32_t host = 1; host <= settings.hosts; ++host)
    std::ranges::move(host_daemons(settings, host), std::back_inserter(daemons));
  return daemons;
}

Arguments cut_cable(const LabSettings& settings, std::uint32_t host) {
  return {"ip", "-n", switch_namespace(settings), "link", "set", cable_end(host), "down"};
}

Arguments plug_cable(const LabSettings& settings, std::uint32_t host) {
  return {"ip", "-n", switch_namespace(settings), "link", "set", cable_end(host), "up"};
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
