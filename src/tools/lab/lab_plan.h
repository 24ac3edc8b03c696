// The lab: hosts in network namespaces on one machine, joined by a switch in a namespace of its
// own, each with an agent; and a server (or several) that the machine reaches through loopback and
// the hosts through the switch. This says what it consists of and which commands make it; nothing
// here runs them.
//
//   machine: 127.0.0.1:6443 ─ fairlead server ─ 10.231.255.254:6443 (both listeners of one process)
//   fl-lab-switch: br0 ┬ fl-lab-1: eth0 10.231.0.1, agent …
//                      ├ fl-lab-2: eth0 10.231.0.2, agent …
//
// With the fabric ovs each host has an Open vSwitch of its own (ovsdb-server and ovs-vswitchd,
// userspace datapath) below the lab's folder. Its tunnels leave where its own routes lead, so the
// uplink eth0 is a port of its bridge br-phy, and br-phy has the host's address:
//
//   fl-lab-1: eth0 ─ br-phy 10.231.0.1 ─ (tunnels) ─ bridge fairlead ─ attachments
//
// No namespace has a default route: no packet of the lab ever leaves the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead::lab {

using Arguments = std::vector<std::string>;

struct LabSettings {
  std::string name = "lab";  // several labs on one machine differ in name, folder and port
  std::string folder;        // absolute; logs, data and process ids
  std::string program;       // path of fairlead itself
  std::uint32_t hosts = 3;
  std::string fabric = "vxlan";
  std::string underlay = "ipv4";
  std::uint16_t port = 6443;  // of the first server; the second has the next one, and so on
  std::string store = "sqlite";
  std::uint32_t servers = 1;
  std::vector<std::string> allowed_programs;  // as hooks, on every host
  std::string vip;  // a virtual IP that the hosts elect a holder of; empty: none
};

// Where a lab of that name keeps its files unless it is told otherwise.
std::string default_folder(const std::string& name);

// "fairlead lab down --name two": what to type for this lab.
std::string command_for(const LabSettings& settings, const std::string& command);

// Fails with invalid and names the flag.
Result<> check(const LabSettings& settings);

// A process that goes on running.
struct Daemon {
  std::string name;  // of its log and its process id file
  Arguments command;
  std::string ready;  // in its log once it is
  std::string where;  // for people: its address
};

// A program that must be there, and the Debian package that brings it.
struct Needed {
  std::string program;
  std::string package;
};
std::vector<Needed> needed_programs(const LabSettings& settings);

std::string switch_namespace(const LabSettings& settings);
std::string host_namespace(const LabSettings& settings, std::uint32_t host);  // counted from 1
std::string node_name(std::uint32_t host);                                    // "host-1"
std::string host_address(const LabSettings& settings, std::uint32_t host);

// Where a server keeps its data; all of them but the first get a copy of these files of the first.
std::string server_folder(const LabSettings& settings, std::uint32_t server);  // counted from 1
std::vector<std::string> shared_server_files();

// In order. Each must succeed.
std::vector<Arguments> make_switch(const LabSettings& settings);
std::vector<Arguments> make_host(const LabSettings& settings, std::uint32_t host);
Daemon server(const LabSettings& settings, std::uint32_t server);
Arguments create_token(const LabSettings& settings);
Arguments join(const LabSettings& settings, std::uint32_t host, const std::string& token);
Daemon agent(const LabSettings& settings, std::uint32_t host);
// The file of a host's agent, in a lab with a virtual IP; what it has in common with all is said by
// flags. The peers' secret is beside it.
std::string agent_file(const LabSettings& settings, std::uint32_t host);
std::string agent_file_text(const LabSettings& settings, std::uint32_t host);
std::string secret_file(const LabSettings& settings);
// What an agent with virtual IPs leaves in the kernel: removed.
Arguments clear_fence(const LabSettings& settings, std::uint32_t host);

// A host's own Open vSwitch, of the fabric ovs. Its folder must exist before its database is made,
// and the database before ovsdb() starts; then init_ovs, vswitchd(), make_uplink.
bool has_ovs(const LabSettings& settings);
std::string ovs_folder(const LabSettings& settings, std::uint32_t host);
Arguments make_ovs_database(const LabSettings& settings, std::uint32_t host);
Daemon ovsdb(const LabSettings& settings, std::uint32_t host);
Arguments init_ovs(const LabSettings& settings, std::uint32_t host);
Daemon vswitchd(const LabSettings& settings, std::uint32_t host);
std::vector<Arguments> make_uplink(const LabSettings& settings, std::uint32_t host);
// The switch's end of the host's cable. Kernels leave checksums of what they send through a cable
// of this kind to its other end, and a switch in user space does not make up for it.
std::string cable_end(std::uint32_t host);

// In the order in which they are started.
std::vector<Daemon> host_daemons(const LabSettings& settings, std::uint32_t host);
std::vector<Daemon> all_daemons(const LabSettings& settings);

// The host's cable to the switch, out and in again.
Arguments cut_cable(const LabSettings& settings, std::uint32_t host);
Arguments plug_cable(const LabSettings& settings, std::uint32_t host);

// `command` as that host runs it.
Arguments on_host(const LabSettings& settings, std::uint32_t host, Arguments command);

// Of all namespaces `existing`, those of this lab (guests of its hosts too).
std::vector<std::string> namespaces_of(const LabSettings& settings,
                                       const std::vector<std::string>& existing);

}  // namespace fairlead::lab
