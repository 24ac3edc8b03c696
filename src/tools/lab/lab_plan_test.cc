#include "tools/lab/lab_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead::lab {
namespace {

LabSettings settings() { return {.folder = "/run/l", .program = "/bin/fairlead"}; }

// What a user is told to type concerns this lab and no other.
TEST(LabPlan, CommandsNameTheLab) {
  LabSettings lab = settings();
  lab.folder = default_folder("lab");
  EXPECT_EQ(command_for(lab, "down"), "fairlead lab down");
  lab.name = "two";
  EXPECT_EQ(command_for(lab, "down"), "fairlead lab down --name two --dir /run/fairlead-lab");
  lab.folder = default_folder("two");
  EXPECT_EQ(command_for(lab, "status"), "fairlead lab status --name two");
}

TEST(LabPlan, RefusesWhatCannotBeMadeAndNamesTheFlag) {
  const auto problem = [](auto change) {
    LabSettings wrong = settings();
    change(wrong);
    const Result<> checked = check(wrong);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(problem([](LabSettings&) {}), "");
  EXPECT_TRUE(problem([](LabSettings& s) { s.hosts = 0; }).starts_with("--hosts 0"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.hosts = 251; }).starts_with("--hosts 251"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.name = "a/b"; }).starts_with("--name a/b"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.fabric = "x"; }).starts_with("--fabric x"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.underlay = "ipx"; }).starts_with("--underlay ipx"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.servers = 0; }).starts_with("--servers 0"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.servers = 2; }).contains("--store etcd"));
  EXPECT_EQ(problem([](LabSettings& s) { s.allowed_programs = {"/bin/a b"}; }), "");
  for (const char* program : {"plug", "/bin/plug\nx"})
    EXPECT_TRUE(problem([&](LabSettings& s) {
                  s.allowed_programs = {"/bin/plug", program};
                }).starts_with(std::string("--allowed-program ") + program));
  EXPECT_EQ(problem([](LabSettings& s) { s.vip = "10.231.0.75"; }), "");
  for (const char* vip : {"x", "fd00:231::75"})
    EXPECT_TRUE(problem([&](LabSettings& s) { s.vip = vip; }).starts_with("--vip "));
  const std::string deep = "/" + std::string(90, 'd');
  EXPECT_EQ(problem([&](LabSettings& s) { s.folder = deep; }), "");
  EXPECT_TRUE(problem([&](LabSettings& s) {
                s.fabric = "ovs";
                s.folder = deep;
              }).starts_with("--dir /ddd"));
}

// Each host knows the others, and all know one secret and one VIP.
TEST(LabPlan, AVirtualIpIsOfAllHosts) {
  LabSettings lab = settings();
  EXPECT_FALSE(std::ranges::count(agent(lab, 1).command, "--config"));
  lab.vip = "10.231.0.75";
  EXPECT_TRUE(std::ranges::count(agent(lab, 1).command, "--config"));
  EXPECT_EQ(agent_file_text(lab, 2),
            "election:\n"
            "  listen: '10.231.0.2:10000'\n"
            "  secretFile: /run/l/vip.secret\n"
            "  peers:\n"
            "  - {name: host-1, address: '10.231.0.1:10000'}\n"
            "  - {name: host-3, address: '10.231.0.3:10000'}\n"
            "virtualIPs:\n"
            "- {address: '10.231.0.75', interface: eth0}\n");
  lab.fabric = "ovs";
  EXPECT_TRUE(agent_file_text(lab, 2).contains("interface: br-phy"));
}

// Everything that is run to make a lab of one host, whatever kind of lab it is.
std::vector<Arguments> all_commands(const LabSettings& lab) {
  std::vector<Arguments> commands = make_switch(lab);
  for (const Arguments& command : make_host(lab, 1)) commands.push_back(command);
  if (has_ovs(lab))
    for (const Arguments& command : make_uplink(lab, 1)) commands.push_back(command);
  return commands;
}

std::vector<LabSettings> kinds_of_lab() {
  std::vector<LabSettings> labs(4, settings());
  labs[1].fabric = labs[3].fabric = "ovs";
  labs[2].underlay = labs[3].underlay = "ipv6";
  return labs;
}

bool has(const Arguments& command, std::string_view word) {
  return std::ranges::find(command, word) != command.end();
}

// What attachments may have run is told to the agent of every host, and to nobody else.
TEST(LabPlan, AgentsAllowPrograms) {
  const auto allowed = [](const Arguments& command) {
    std::vector<std::string> programs;
    for (std::size_t i = 1; i < command.size(); ++i)
      if (command[i - 1] == "--allowed-program") programs.push_back(command[i]);
    return programs;
  };
  for (LabSettings lab : kinds_of_lab()) {
    for (const Daemon& daemon : all_daemons(lab)) EXPECT_TRUE(allowed(daemon.command).empty());
    lab.allowed_programs = {"/bin/plug", "/bin/a b"};
    for (const Daemon& daemon : all_daemons(lab))
      EXPECT_EQ(allowed(daemon.command),
                daemon.name.ends_with("-agent") ? lab.allowed_programs : std::vector<std::string>())
          << daemon.name;
  }
}

// A route out of a lab would carry packets for private addresses to the machine's own network.
TEST(LabPlan, NoNamespaceGetsARoute) {
  for (const LabSettings& lab : kinds_of_lab())
    for (const Arguments& command : all_commands(lab)) EXPECT_FALSE(has(command, "route"));
}

// Everything that is made inside a namespace of the lab goes with it.
TEST(LabPlan, NothingIsMadeInTheMachinesOwnNamespace) {
  for (const LabSettings& lab : kinds_of_lab())
    for (const Arguments& command : all_commands(lab))
      EXPECT_TRUE(command[0] == "ovs-vsctl" || command[1] == "netns" ||
                  (command[1] == "-n" && command[2].starts_with("fl-lab-")))
          << command[1];
}

// The machine may have an Open vSwitch of its own: nothing of the lab's speaks to it.
TEST(LabPlan, EachHostHasASwitchOfItsOwn) {
  LabSettings lab = settings();
  lab.fabric = "ovs";
  for (const std::uint32_t host : {1U, 2U}) {
    const std::string folder = "/run/l/host-" + std::to_string(host) + "-ovs";
    EXPECT_EQ(ovs_folder(lab, host), folder);
    EXPECT_TRUE(has(init_ovs(lab, host), "--db=unix:" + folder + "/db.sock"));
    EXPECT_TRUE(has(make_uplink(lab, host)[0], "--db=unix:" + folder + "/db.sock"));
    for (const Daemon& daemon : {ovsdb(lab, host), vswitchd(lab, host)})
      EXPECT_TRUE(has(daemon.command, "OVS_RUNDIR=" + folder)) << daemon.name;
    EXPECT_TRUE(has(agent(lab, host).command, folder));
  }
}

// What is stopped, shown and healed is what was started.
TEST(LabPlan, KnowsAllItsProcessesByName) {
  const auto names = [](const LabSettings& lab) {
    std::vector<std::string> names;
    for (const Daemon& daemon : all_daemons(lab)) names.push_back(daemon.name);
    return names;
  };
  LabSettings lab = settings();
  lab.hosts = 2;
  EXPECT_EQ(names(lab), (std::vector<std::string>{"server", "host-1-agent", "host-2-agent"}));
  lab.hosts = 1;
  lab.fabric = "ovs";
  lab.servers = 2;
  EXPECT_EQ(names(lab), (std::vector<std::string>{"server", "server-2", "host-1-ovsdb",
                                                  "host-1-vswitchd", "host-1-agent"}));
}

TEST(LabPlan, TellsItsNamespacesFromThoseOfOthers) {
  EXPECT_EQ(namespaces_of(settings(), {"fl-lab-1", "fl-lab2-1", "blue", "fl-lab-switch"}),
            (std::vector<std::string>{"fl-lab-1", "fl-lab-switch"}));
}

}  // namespace
}  // namespace fairlead::lab
