#include "tools/lab/lab.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ranges>
#include <sstream>

#include "foundation/runtime/network_namespace.h"
#include "node/fabric/links.h"
#include "tools/lab/daemon.h"

namespace fairlead::lab {
namespace {

constexpr int kReadySeconds = 60;
constexpr int kStopSeconds = 15;

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

std::string joined(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  return text;
}

std::vector<std::string> names_in(const std::string& listing) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < listing.size();) {
    const std::size_t end = std::min(listing.find('\n', begin), listing.size());
    const std::string line = listing.substr(begin, end - begin);
    names.push_back(line.substr(0, line.find(' ')));  // "name (id: 3)"
    begin = end + 1;
  }
  return names;
}

// Where a program is: also where administrators' programs are, which not every PATH has.
std::optional<std::string> path_of(const std::string& program) {
  if (program.starts_with('/')) return program;
  const char* path = std::getenv("PATH");
  const std::string folders = std::string(path ? path : "/usr/bin") + ":/usr/sbin:/usr/bin";
  for (const auto part : std::views::split(folders, ':')) {
    std::string candidate = std::string(part.begin(), part.end()) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

Result<> check_programs(const LabSettings& settings) {
  for (const Needed& needed : needed_programs(settings))
    if (!path_of(needed.program))
      return fail(Code::not_found, fmt::format("--fabric {}: there is no {} on this machine: apt "
                                               "install {}",
                                               settings.fabric, needed.program, needed.package));
  return {};
}

DaemonFiles files_of(const LabSettings& settings, const std::string& name) {
  return {.log = settings.folder + "/" + name + ".log",
          .pid = settings.folder + "/" + name + ".pid"};
}

std::string settings_file(const LabSettings& settings) { return settings.folder + "/lab"; }

// One line of words, then a program on each line.
void remember(const LabSettings& settings) {
  std::ofstream out(settings_file(settings));
  out << settings.hosts << ' ' << settings.fabric << ' ' << settings.port << ' '
      << settings.underlay << ' ' << settings.store << ' ' << settings.servers << ' '
      << (settings.vip.empty() ? "-" : settings.vip) << '\n';
  for (const std::string& program : settings.allowed_programs) out << program << '\n';
}

bool recall(LabSettings& settings) {
  std::ifstream in(settings_file(settings));
  if (!(in >> settings.hosts >> settings.fabric >> settings.port >> settings.underlay >>
        settings.store >> settings.servers >> settings.vip >> std::ws))
    return false;
  if (settings.vip == "-") settings.vip.clear();
  settings.allowed_programs.clear();
  for (std::string program; std::getline(in, program);)
    settings.allowed_programs.push_back(program);
  return true;
}

// The first host's brings the secret.
Result<> write_agent_file(runtime::Runtime& runtime, const LabSettings& settings,
                          std::uint32_t host) {
  runtime::Files& files = runtime.files();
  if (host == 1) {
    std::string secret;
    for (int i = 0; i < 4; ++i) secret += fmt::format("{:016x}", runtime.random());
    FL_CHECKED(files.write_atomically(secret_file(settings), secret + "\n", 0600));
  }
  return files.write_atomically(agent_file(settings, host), agent_file_text(settings, host), 0600);
}

// Servers of one cluster have one authority and one administrator.
Result<> copy_identity(const LabSettings& settings, std::uint32_t server) {
  const std::filesystem::path from = server_folder(settings, 1);
  const std::filesystem::path to = server_folder(settings, server);
  for (const std::string& file : shared_server_files()) {
    std::error_code error;
    std::filesystem::create_directories((to / file).parent_path(), error);
    if (!error) std::filesystem::copy_file(from / file, to / file, error);
    if (error) return fail(Code::io, "copy " + (from / file).string() + ": " + error.message());
  }
  return {};
}

}  // namespace

Lab::Lab(runtime::EpollRuntime& runtime, LabSettings settings)
    : runtime_(runtime), processes_(runtime), settings_(std::move(settings)) {}

Task<Result<>> Lab::up() {
  FL_CO_CHECKED(check(settings_));
  if (::geteuid() != 0) co_return fail(Code::invalid, "network namespaces need root");
  FL_CO_CHECKED(check_programs(settings_));
  if (std::filesystem::exists(settings_file(settings_)))
    co_return fail(Code::already_exists,
                   "the lab \"" + settings_.name +
                       "\" is up, or was not taken down: " + command_for(settings_, "down"));
  std::filesystem::create_directories(settings_.folder);
  remember(settings_);
  Result<> made = co_await make();
  if (made) co_return made;
  const Result<> undone = co_await down();
  if (!undone) say("not everything could be taken down again: " + undone.error().message);
  co_return made;
}

Task<Result<>> Lab::down() {
  recall(settings_);
  for (const Daemon& daemon : all_daemons(settings_) | std::views::reverse)
    stop_daemon(files_of(settings_, daemon.name).pid, kStopSeconds);
  for (std::uint32_t host = 1; host <= settings_.hosts && !settings_.vip.empty(); ++host)
    (void)co_await run(clear_fence(settings_, host));  // there may be none
  FL_CO_TRY(const runtime::ProcessEnd listed,
            co_await processes_.run(
                {.arguments = {"/usr/sbin/ip", "netns", "list"}, .output_limit = 1 << 20}));
  for (const std::string& netns : namespaces_of(settings_, names_in(listed.output))) {
    FL_CO_CHECKED(co_await end_processes(netns));
    FL_CO_CHECKED(co_await run({"ip", "netns", "delete", netns}));
  }
  std::filesystem::remove_all(settings_.folder);
  say("the lab \"" + settings_.name + "\" is down");
  co_return Result<>{};
}

// What somebody else started there.
Task<Result<>> Lab::end_processes(std::string netns) {
  FL_CO_TRY(const std::string listed, co_await output_of({"ip", "netns", "pids", netns}));
  std::istringstream in(listed);
  for (pid_t pid = 0; in >> pid;) ::kill(pid, SIGKILL);
  co_return Result<>{};
}

Task<Result<>> Lab::fail_host(std::string text) {
  FL_CO_TRY(const std::uint32_t host, find_host(text));
  FL_CO_CHECKED(co_await run(cut_cable(settings_, host)));
  for (const Daemon& daemon : host_daemons(settings_, host))
    kill_daemon(files_of(settings_, daemon.name).pid);
  say(node_name(host) + ": cable cut, its processes killed");
  co_return Result<>{};
}

Task<Result<>> Lab::heal_host(std::string text) {
  FL_CO_TRY(const std::uint32_t host, find_host(text));
  FL_CO_CHECKED(co_await run(plug_cable(settings_, host)));
  for (const Daemon& daemon : host_daemons(settings_, host)) {
    if (running(files_of(settings_, daemon.name).pid)) continue;
    FL_CO_CHECKED(start(daemon));
  }
  say(node_name(host) + ": cable in, agent ready");
  co_return Result<>{};
}

Task<Result<>> Lab::kill_one(std::string name) {
  FL_CO_TRY(const Daemon daemon, find_daemon(name));
  if (!running(files_of(settings_, daemon.name).pid))
    co_return fail(Code::not_found, daemon.name + " does not run");
  kill_daemon(files_of(settings_, daemon.name).pid);
  say(daemon.name + ": killed");
  co_return Result<>{};
}

Task<Result<>> Lab::start_one(std::string name) {
  FL_CO_TRY(const Daemon daemon, find_daemon(name));
  if (running(files_of(settings_, daemon.name).pid))
    co_return fail(Code::already_exists, daemon.name + " runs already");
  FL_CO_CHECKED(start(daemon));
  say(daemon.name + ": ready");
  co_return Result<>{};
}

Result<std::uint32_t> Lab::find_host(const std::string& text) {
  recall(settings_);
  for (std::uint32_t host = 1; host <= settings_.hosts; ++host)
    if (text == node_name(host) || text == std::to_string(host)) return host;
  return fail(Code::not_found,
              "there is no host " + text + " in the lab \"" + settings_.name + "\"");
}

Result<Daemon> Lab::find_daemon(const std::string& name) {
  recall(settings_);
  for (Daemon& daemon : all_daemons(settings_))
    if (daemon.name == name) return std::move(daemon);
  return fail(Code::not_found, "there is no process " + name + " in the lab \"" + settings_.name +
                                   "\"; see " + command_for(settings_, "status"));
}

Result<> Lab::status() {
  if (!recall(settings_))
    return fail(Code::not_found,
                "there is no lab \"" + settings_.name + "\": " + command_for(settings_, "up"));
  bool well = true;
  for (const Daemon& daemon : all_daemons(settings_)) {
    const DaemonFiles files = files_of(settings_, daemon.name);
    const auto pid = running(files.pid);
    fmt::print("{:<18}{:<22}{:<17}{}\n", daemon.name, daemon.where,
               pid ? fmt::format("process {}", *pid) : "NOT RUNNING", files.log);
    well = well && pid;
  }
  fmt::print("\nfabric {}, underlay {}; export KUBECONFIG={}/admin.kubeconfig\n", settings_.fabric,
             settings_.underlay, server_folder(settings_, 1));
  fmt::print("take it down: {}\n", command_for(settings_, "down"));
  if (!well) return fail(Code::unavailable, "not everything runs; see the logs");
  return {};
}

// --- making it -------------------------------------------------------------------------------

Task<Result<>> Lab::make() {
  say(fmt::format("switch {}", switch_namespace(settings_)));
  for (Arguments& command : make_switch(settings_)) {
    FL_CO_CHECKED(co_await run(std::move(command)));
  }
  FL_CO_CHECKED(start_servers());
  FL_CO_TRY(const std::string token, co_await output_of(create_token(settings_)));
  for (std::uint32_t host = 1; host <= settings_.hosts; ++host) {
    FL_CO_CHECKED(co_await make_host(host));
    FL_CO_CHECKED(co_await run(join(settings_, host, token)));
    if (!settings_.vip.empty()) {
      FL_CO_CHECKED(write_agent_file(runtime_, settings_, host));
    }
    FL_CO_CHECKED(start(agent(settings_, host)));
  }
  co_return Result<>{};
}

Result<> Lab::start_servers() {
  for (std::uint32_t number = 1; number <= settings_.servers; ++number) {
    if (number > 1) {
      FL_CHECKED(copy_identity(settings_, number));
    }
    FL_CHECKED(start(server(settings_, number)));
  }
  return {};
}

Task<Result<>> Lab::make_host(std::uint32_t host) {
  say(fmt::format("{} in {}, address {}", node_name(host), host_namespace(settings_, host),
                  host_address(settings_, host)));
  for (Arguments& command : lab::make_host(settings_, host)) {
    FL_CO_CHECKED(co_await run(std::move(command)));
  }
  if (!has_ovs(settings_)) co_return Result<>{};
  co_return co_await make_ovs(host);
}

Task<Result<>> Lab::make_ovs(std::uint32_t host) {
  {
    FL_CO_TRY(const auto visit, runtime::NetworkNamespaceVisit::enter(switch_namespace(settings_)));
    FL_CO_TRY(fabric::Links links, fabric::Links::open());
    FL_CO_CHECKED(links.stop_offload(cable_end(host)));
  }
  std::filesystem::create_directories(ovs_folder(settings_, host));
  FL_CO_CHECKED(co_await run(make_ovs_database(settings_, host)));
  FL_CO_CHECKED(start(ovsdb(settings_, host)));
  FL_CO_CHECKED(co_await run(init_ovs(settings_, host)));
  FL_CO_CHECKED(start(vswitchd(settings_, host)));
  for (Arguments& command : make_uplink(settings_, host)) {
    FL_CO_CHECKED(co_await run(std::move(command)));
  }
  co_return Result<>{};
}

Result<> Lab::start(const Daemon& daemon) {
  return start_daemon(daemon.command, files_of(settings_, daemon.name), daemon.ready,
                      kReadySeconds);
}

Task<Result<std::string>> Lab::output_of(Arguments command) {
  const std::string shown = joined(command);
  std::optional<std::string> path = path_of(command.front());
  if (!path) co_return fail(Code::not_found, "there is no " + command.front());
  command.front() = std::move(*path);
  FL_CO_TRY(const runtime::ProcessEnd end,
            co_await processes_.run({.arguments = std::move(command), .time_limit = 60s}));
  if (end.kind != runtime::ProcessEnd::Kind::exited || end.status != 0)
    co_return fail(Code::unavailable, shown + ": " + end.errors + end.output);
  std::string output = end.output;
  while (output.ends_with('\n')) output.pop_back();
  co_return output;
}

Task<Result<>> Lab::run(Arguments command) {
  FL_CO_CHECKED(co_await output_of(std::move(command)));
  co_return Result<>{};
}

}  // namespace fairlead::lab
