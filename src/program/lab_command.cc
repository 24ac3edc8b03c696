// `fairlead lab`: brings the lab of lab/lab_plan.h up and down, tells how it is, and runs commands
// on its hosts. Runs as root.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lab/lab_plan.h"
#include "program/commands.h"
#include "program/daemon.h"
#include "runtime/epoll_processes.h"
#include "runtime/epoll_runtime.h"

namespace fairlead::program {
namespace {

using lab::Arguments;
using lab::LabSettings;

constexpr int kReadySeconds = 60;
constexpr int kStopSeconds = 15;

std::string joined(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  return text;
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

DaemonFiles files_of(const LabSettings& settings, const std::string& name) {
  return {.log = settings.folder + "/" + name + ".log",
          .pid = settings.folder + "/" + name + ".pid"};
}

// What was asked for when it was brought up, for the commands that come later.
std::string settings_file(const LabSettings& settings) { return settings.folder + "/lab"; }

void remember(const LabSettings& settings) {
  std::ofstream(settings_file(settings))
      << settings.hosts << ' ' << settings.fabric << ' ' << settings.port << '\n';
}

bool recall(LabSettings& settings) {
  std::ifstream in(settings_file(settings));
  return static_cast<bool>(in >> settings.hosts >> settings.fabric >> settings.port);
}

class Lab {
 public:
  Lab(runtime::EpollRuntime& runtime, LabSettings settings)
      : processes_(runtime), settings_(std::move(settings)) {}

  Task<Result<>> up() {
    FL_CO_CHECKED(check(settings_));
    if (::geteuid() != 0) co_return fail(Code::invalid, "network namespaces need root");
    if (std::filesystem::exists(settings_file(settings_)))
      co_return fail(
          Code::already_exists,
          "the lab \"" + settings_.name + "\" is up, or was not taken down: fairlead lab down");
    std::filesystem::create_directories(settings_.folder);
    remember(settings_);
    Result<> made = co_await make();
    if (made) co_return made;
    const Result<> undone = co_await down();
    if (!undone) say("not everything could be taken down again: " + undone.error().message);
    co_return made;
  }

  Task<Result<>> down() {
    recall(settings_);
    for (std::uint32_t host = 1; host <= settings_.hosts; ++host)
      stop_daemon(files_of(settings_, lab::agent(settings_, host).name).pid, kStopSeconds);
    stop_daemon(files_of(settings_, "server").pid, kStopSeconds);
    FL_CO_TRY(const runtime::ProcessEnd listed,
              co_await processes_.run(
                  {.arguments = {"/usr/sbin/ip", "netns", "list"}, .output_limit = 1 << 20}));
    for (const std::string& netns : lab::namespaces_of(settings_, names_in(listed.output))) {
      FL_CO_CHECKED(co_await run({"ip", "netns", "delete", netns}));
    }
    std::filesystem::remove_all(settings_.folder);
    say("the lab \"" + settings_.name + "\" is down");
    co_return Result<>{};
  }

  // What a host's death looks like from outside: silence, and nobody to clean up.
  Task<Result<>> fail_host(std::string text) {
    FL_CO_TRY(const std::uint32_t host, find_host(text));
    FL_CO_CHECKED(co_await run(lab::cut_cable(settings_, host)));
    kill_daemon(files_of(settings_, lab::agent(settings_, host).name).pid);
    say(lab::node_name(host) + ": cable cut, agent killed");
    co_return Result<>{};
  }

  Task<Result<>> heal_host(std::string text) {
    FL_CO_TRY(const std::uint32_t host, find_host(text));
    FL_CO_CHECKED(co_await run(lab::plug_cable(settings_, host)));
    const lab::Daemon agent = lab::agent(settings_, host);
    if (!running(files_of(settings_, agent.name).pid)) {
      FL_CO_CHECKED(start(agent));
    }
    say(lab::node_name(host) + ": cable in, agent ready");
    co_return Result<>{};
  }

  Result<std::uint32_t> find_host(const std::string& text) {
    recall(settings_);
    for (std::uint32_t host = 1; host <= settings_.hosts; ++host)
      if (text == lab::node_name(host) || text == std::to_string(host)) return host;
    return fail(Code::not_found,
                "there is no host " + text + " in the lab \"" + settings_.name + "\"");
  }

  Result<> status() {
    if (!recall(settings_))
      return fail(Code::not_found, "there is no lab \"" + settings_.name + "\": fairlead lab up");
    const auto line = [this](const std::string& name, const std::string& where) {
      const auto pid = running(files_of(settings_, name).pid);
      fmt::print("{:<16}{:<22}{:<14}{}\n", name, where,
                 pid ? fmt::format("process {}", *pid) : "NOT RUNNING",
                 files_of(settings_, name).log);
      return pid.has_value();
    };
    bool well = line("server", fmt::format("127.0.0.1:{}", settings_.port));
    for (std::uint32_t host = 1; host <= settings_.hosts; ++host)
      well &= line(lab::agent(settings_, host).name, lab::host_address(host));
    fmt::print("\nfabric {}; export KUBECONFIG={}/server/admin.kubeconfig\n", settings_.fabric,
               settings_.folder);
    if (!well) return fail(Code::unavailable, "not everything runs; see the logs");
    return {};
  }

 private:
  Task<Result<>> make() {
    say(fmt::format("switch {}", lab::switch_namespace(settings_)));
    for (Arguments& command : lab::make_switch(settings_)) {
      FL_CO_CHECKED(co_await run(std::move(command)));
    }
    FL_CO_CHECKED(start(lab::server(settings_)));
    FL_CO_TRY(const std::string token, co_await output_of(lab::create_token(settings_)));
    for (std::uint32_t host = 1; host <= settings_.hosts; ++host) {
      say(fmt::format("{} in {}, address {}", lab::node_name(host),
                      lab::host_namespace(settings_, host), lab::host_address(host)));
      for (Arguments& command : lab::make_host(settings_, host)) {
        FL_CO_CHECKED(co_await run(std::move(command)));
      }
      FL_CO_CHECKED(co_await run(lab::join(settings_, host, token)));
      FL_CO_CHECKED(start(lab::agent(settings_, host)));
    }
    co_return Result<>{};
  }

  static void say(const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  static std::vector<std::string> names_in(const std::string& listing) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin < listing.size();) {
      const std::size_t end = std::min(listing.find('\n', begin), listing.size());
      const std::string line = listing.substr(begin, end - begin);
      names.push_back(line.substr(0, line.find(' ')));  // "name (id: 3)"
      begin = end + 1;
    }
    return names;
  }

  Task<Result<std::string>> output_of(Arguments command) {
    if (command.front() == "ip") command.front() = "/usr/sbin/ip";
    const std::string shown = joined(command);
    FL_CO_TRY(const runtime::ProcessEnd end,
              co_await processes_.run({.arguments = std::move(command), .time_limit = 60s}));
    if (end.kind != runtime::ProcessEnd::Kind::exited || end.status != 0)
      co_return fail(Code::unavailable, shown + ": " + end.errors + end.output);
    std::string output = end.output;
    while (output.ends_with('\n')) output.pop_back();
    co_return output;
  }

  Task<Result<>> run(Arguments command) {
    FL_CO_CHECKED(co_await output_of(std::move(command)));
    co_return Result<>{};
  }

  Result<> start(const lab::Daemon& daemon) {
    return start_daemon(daemon.command, files_of(settings_, daemon.name), daemon.ready,
                        kReadySeconds);
  }

  runtime::EpollProcesses processes_;
  LabSettings settings_;
};

int finish(const Result<>& outcome) {
  if (outcome) return 0;
  fmt::print(stderr, "fairlead lab: {}\n", outcome.error().message);
  return 1;
}

// In this process, so that terminal and exit status are the command's own.
int execute(Lab& lab, const LabSettings& settings, const std::string& host, Arguments command) {
  const Result<std::uint32_t> number = lab.find_host(host);
  if (!number) return finish(fail(number.error()));
  Arguments whole = lab::on_host(settings, *number, std::move(command));
  std::vector<char*> arguments;
  for (std::string& argument : whole) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fmt::print(stderr, "fairlead lab exec: {} cannot be run\n", whole[0]);
  return 126;
}

}  // namespace

void add_lab_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "lab", "Hosts in network namespaces on this machine: to see it work, and for tests.");
  command->require_subcommand(1);
  auto settings = std::make_shared<LabSettings>();
  const auto prepare = [settings] {
    settings->program = own_program();
    if (settings->folder.empty()) settings->folder = "/run/fairlead-" + settings->name;
    settings->folder = std::filesystem::absolute(settings->folder).string();
  };
  const auto add = [&](const char* name, const char* help) {
    CLI::App* one = command->add_subcommand(name, help);
    one->add_option("--name", settings->name, "Several labs differ in name, folder and port")
        ->capture_default_str();
    one->add_option("--dir", settings->folder, "Data and logs; default: /run/fairlead-NAME");
    return one;
  };
  CLI::App* up = add("up", "Makes the hosts, starts the server and an agent on each host.");
  up->add_option("--hosts", settings->hosts, "How many")->capture_default_str();
  up->add_option("--fabric", settings->fabric, "What carries virtual networks: vxlan or log")
      ->capture_default_str();
  up->add_option("--port", settings->port, "Of the server, on 127.0.0.1")->capture_default_str();
  up->callback([=, &exit_status] {
    prepare();
    runtime::EpollRuntime runtime;
    Lab lab(runtime, *settings);
    Result<> outcome = runtime.run_until_complete(lab.up());
    if (outcome) outcome = lab.status();
    exit_status = finish(outcome);
  });
  add("down", "Stops everything and removes what `up` made, guests included.")
      ->callback([=, &exit_status] {
        prepare();
        runtime::EpollRuntime runtime;
        Lab lab(runtime, *settings);
        exit_status = finish(runtime.run_until_complete(lab.down()));
      });
  add("status", "What runs and where its logs are.")->callback([=, &exit_status] {
    prepare();
    runtime::EpollRuntime runtime;
    exit_status = finish(Lab(runtime, *settings).status());
  });
  CLI::App* exec = add("exec", "Runs a command on a host.");
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
  const auto add_fault = [&](const char* name, const char* help,
                             Task<Result<>> (Lab::*action)(std::string)) {
    CLI::App* one = add(name, help);
    one->add_option("HOST", *host, "host-2, or just 2")->required();
    one->callback([=, &exit_status] {
      prepare();
      runtime::EpollRuntime runtime;
      Lab lab(runtime, *settings);
      exit_status = finish(runtime.run_until_complete((lab.*action)(*host)));
    });
  };
  add_fault("fail", "Cuts a host's cable and kills its agent.", &Lab::fail_host);
  add_fault("heal", "Plugs the cable in again and starts the agent.", &Lab::heal_host);
  command->footer(
      "Examples:\n"
      "  fairlead lab up --hosts 3 --fabric vxlan\n"
      "  fairlead lab exec host-1 -- ip link\n"
      "  fairlead lab fail host-2 && fairlead lab heal host-2\n"
      "  fairlead lab status\n"
      "  fairlead lab down");
}

}  // namespace fairlead::program
