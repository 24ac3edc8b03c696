#include "tools/lab/lab_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "foundation/command/exit_status.h"
#include "foundation/runtime/epoll_runtime.h"
#include "tools/lab/lab.h"
#include "tools/lab/lab_plan.h"

namespace fairlead::lab {
namespace {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int finish(const Result<>& outcome) {
  return outcome ? command::kDone : command::report("fairlead lab", outcome.error());
}

// In this process, so that terminal and exit status are the command's own.
int execute(Lab& lab, const LabSettings& settings, const std::string& host, Arguments command) {
  const Result<std::uint32_t> number = lab.find_host(host);
  if (!number) return finish(fail(number.error()));
  Arguments whole = on_host(settings, *number, std::move(command));
  std::vector<char*> arguments;
  for (std::string& argument : whole) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fmt::print(stderr, "fairlead lab exec: {} cannot be run\n", whole[0]);
  return command::kCannotRun;
}

}  // namespace

void add_lab_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "lab", "Hosts in network namespaces on this machine: to see it work, and for tests.");
  command->require_subcommand(1);
  auto settings = std::make_shared<LabSettings>();
  const auto prepare = [settings] {
    settings->program = own_program();
    if (settings->folder.empty()) settings->folder = default_folder(settings->name);
    settings->folder = std::filesystem::absolute(settings->folder).string();
  };
  const auto add = [&](const char* name, const char* help, const std::string& examples) {
    CLI::App* one = command->add_subcommand(name, help);
    one->footer("Examples:\n" + examples);
    one->add_option("--name", settings->name, "Several labs differ in name, folder and port")
        ->capture_default_str();
    one->add_option("--dir", settings->folder, "Data and logs; default: /run/fairlead-NAME");
    return one;
  };
  CLI::App* up = add("up", "Makes the hosts, starts the server and an agent on each host.",
                     "  fairlead lab up --hosts 3 --fabric vxlan\n"
                     "  fairlead lab up --name two --port 6500 --fabric ovs --underlay ipv6\n"
                     "  fairlead lab up --allowed-program /usr/local/bin/plug\n"
                     "  fairlead lab up --vip 10.231.0.75");
  up->add_option("--hosts", settings->hosts, "How many")->capture_default_str();
  up->add_option("--fabric", settings->fabric,
                 "What carries virtual networks: vxlan, ovs (an Open vSwitch for each host, "
                 "userspace datapath) or log")
      ->capture_default_str();
  up->add_option("--underlay", settings->underlay, "What joins the hosts: ipv4 or ipv6")
      ->capture_default_str();
  up->add_option("--port", settings->port, "Of the server, on 127.0.0.1")->capture_default_str();
  up->add_option("--store", settings->store, "Of the server: sqlite, etcd:URL[,URL…] or memory")
      ->capture_default_str();
  up->add_option("--servers", settings->servers, "How many, on one etcd; on ports from --port on")
      ->capture_default_str();
  up->add_option("--allowed-program", settings->allowed_programs,
                 "A program that attachments may have run on the hosts, by absolute path; "
                 "repeatable");
  up->add_option("--vip", settings->vip,
                 "A virtual IP that the hosts elect a holder of, such as 10.231.0.75");
  up->callback([=, &exit_status] {
    prepare();
    runtime::EpollRuntime runtime;
    Lab lab(runtime, *settings);
    Result<> outcome = runtime.run_until_complete(lab.up());
    if (outcome) outcome = lab.status();
    exit_status = finish(outcome);
  });
  add("down", "Stops everything and removes what `up` made, guests included.",
      "  fairlead lab down\n  fairlead lab down --name two")
      ->callback([=, &exit_status] {
        prepare();
        runtime::EpollRuntime runtime;
        Lab lab(runtime, *settings);
        exit_status = finish(runtime.run_until_complete(lab.down()));
      });
  add("status", "What runs and where its logs are.",
      "  fairlead lab status\n  fairlead lab status --name two")
      ->callback([=, &exit_status] {
        prepare();
        runtime::EpollRuntime runtime;
        exit_status = finish(Lab(runtime, *settings).status());
      });
  CLI::App* exec =
      add("exec", "Runs a command on a host; ends with its exit status.",
          "  fairlead lab exec host-1 -- ip link\n  fairlead lab exec --name two 2 -- sh");
  auto host = std::make_shared<std::string>();
  auto words = std::make_shared<Arguments>();
  exec->add_option("HOST", *host, "host-2, or just 2")->required();
  exec->add_option("COMMAND", *words, "What to run, behind --")->required();
  exec->callback([=, &exit_status] {
    prepare();
    runtime::EpollRuntime runtime;
    Lab lab(runtime, *settings);
    exit_status = execute(lab, *settings, *host, *words);
  });
  const auto add_fault = [&](const char* name, const char* help, const char* what,
                             const char* words, const char* value,
                             Task<Result<>> (Lab::*action)(std::string)) {
    CLI::App* one = add(name, help, fmt::format("  fairlead lab {} {}", name, value));
    one->add_option(what, *host, words)->required();
    one->callback([=, &exit_status] {
      prepare();
      runtime::EpollRuntime runtime;
      Lab lab(runtime, *settings);
      exit_status = finish(runtime.run_until_complete((lab.*action)(*host)));
    });
  };
  add_fault("fail", "Cuts a host's cable and kills its processes.", "HOST", "host-2, or just 2",
            "host-2", &Lab::fail_host);
  add_fault("heal", "Plugs the cable in again and starts its processes.", "HOST",
            "host-2, or just 2", "host-2", &Lab::heal_host);
  add_fault("kill", "Kills one process (SIGKILL).", "PROCESS", "As status shows it: host-2-agent",
            "host-2-agent", &Lab::kill_one);
  add_fault("start", "Starts it again.", "PROCESS", "As status shows it: host-2-agent",
            "host-2-agent", &Lab::start_one);
  command->footer(
      "Examples:\n"
      "  fairlead lab up --hosts 3 --fabric vxlan\n"
      "  fairlead lab up --name two --port 6500 --fabric ovs --underlay ipv6\n"
      "  fairlead lab up --allowed-program /usr/local/bin/plug\n"
      "  fairlead lab exec host-1 -- ip link\n"
      "  fairlead lab fail host-2 && fairlead lab heal host-2\n"
      "  fairlead lab kill host-1-agent && fairlead lab start host-1-agent\n"
      "  fairlead lab status\n"
      "  fairlead lab down");
}

}  // namespace fairlead::lab
