// The lab: hosts in network namespaces on one machine, joined by a switch in a namespace of its
// own, each with an agent; and a server that the machine reaches through loopback and the hosts
// through the switch. This says what it consists of and which commands make it; nothing here runs
// them.
//
//   machine: 127.0.0.1:6443 ─ fairlead server ─ 10.231.255.254:6443   (both listeners of one
//   process) fl-lab-switch: br0 ┬ fl-lab-1: eth0 10.231.0.1, agent …
//                      ├ fl-lab-2: eth0 10.231.0.2, agent …
//
// No namespace has a default route: no packet of the lab ever leaves the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fairlead::lab {

using Arguments = std::vector<std::string>;

struct LabSettings {
  std::string name = "lab";  // several labs on one machine differ in name, folder and port
  std::string folder;        // absolute; logs, data and process ids
  std::string program;       // path of fairlead itself
  std::uint32_t hosts = 3;
  std::string fabric = "vxlan";
  std::uint16_t port = 6443;
};

// Fails with invalid and names the flag.
Result<> check(const LabSettings& settings);

// A process that goes on running.
struct Daemon {
  std::string name;  // of its log and its process id file
  Arguments command;
  std::string ready;  // in its log once it is
};

std::string switch_namespace(const LabSettings& settings);
std::string host_namespace(const LabSettings& settings, std::uint32_t host);  // counted from 1
std::string node_name(std::uint32_t host);                                    // "host-1"
std::string host_address(std::uint32_t host);

// In order. Each must succeed.
std::vector<Arguments> make_switch(const LabSettings& settings);
std::vector<Arguments> make_host(const LabSettings& settings, std::uint32_t host);
Daemon server(const LabSettings& settings);
Arguments create_token(const LabSettings& settings);
Arguments join(const LabSettings& settings, std::uint32_t host, const std::string& token);
Daemon agent(const LabSettings& settings, std::uint32_t host);

// The host's cable to the switch, out and in again.
Arguments cut_cable(const LabSettings& settings, std::uint32_t host);
Arguments plug_cable(const LabSettings& settings, std::uint32_t host);

// `command` as that host runs it.
Arguments on_host(const LabSettings& settings, std::uint32_t host, Arguments command);

// Of all namespaces `existing`, those of this lab (guests of its hosts too).
std::vector<std::string> namespaces_of(const LabSettings& settings,
                                       const std::vector<std::string>& existing);

}  // namespace fairlead::lab
