#include "tools/lab/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;

namespace fairlead::lab {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string tail(const std::string& text, std::size_t bytes = 2'000) {
  return text.size() <= bytes ? text : text.substr(text.size() - bytes);
}

std::string command_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::string fate(int status) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "with status " + std::to_string(WEXITSTATUS(status));
}

// When the kernel started it: with the id, this names a process for good.
std::string start_time(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;  // the 22nd of all
  return field;
}

bool is_zombie(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'Z';
}

Result<pid_t> spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail(Code::unavailable, command[0] + " cannot be started: " + std::strerror(error));
  return pid;
}

}  // namespace

Result<> start_daemon(const std::vector<std::string>& command, const DaemonFiles& files,
                      const std::string& ready, int seconds) {
  const std::size_t earlier = text_of(files.log).size();  // of a process before this one
  FL_TRY(const pid_t pid, spawn(command, files.log));
  std::ofstream(files.pid) << pid << ' ' << start_time(pid) << '\n';
  for (int i = 0; i < seconds * 20; ++i) {
    const std::string log = text_of(files.log).substr(earlier);
    if (log.find(ready) != std::string::npos) return {};
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid)
      return fail(Code::unavailable, command_line(command) + " ended at once, " + fate(status) +
                                         ":\n" + tail(text_of(files.log).substr(earlier)));
    std::this_thread::sleep_for(50ms);
  }
  stop_daemon(files.pid, 2);
  return fail(Code::timeout,
              command_line(command) + " did not get ready:\n" + tail(text_of(files.log)));
}

std::optional<pid_t> running(const std::string& pid_file) {
  std::ifstream in(pid_file);
  pid_t pid = 0;
  std::string started;
  if (!(in >> pid >> started) || pid <= 1) return std::nullopt;
  if (start_time(pid) != started || is_zombie(pid)) return std::nullopt;
  return pid;
}

void kill_daemon(const std::string& pid_file) {
  if (const std::optional<pid_t> pid = running(pid_file)) ::kill(*pid, SIGKILL);
  ::unlink(pid_file.c_str());
}

void stop_daemon(const std::string& pid_file, int seconds) {
  const std::optional<pid_t> pid = running(pid_file);
  if (pid) ::kill(*pid, SIGTERM);
  for (int i = 0; pid && i < seconds * 20 && running(pid_file); ++i) {
    ::waitpid(*pid, nullptr, WNOHANG);  // if it is our child
    std::this_thread::sleep_for(50ms);
  }
  if (running(pid_file)) ::kill(*pid, SIGKILL);
  ::unlink(pid_file.c_str());
}

}  // namespace fairlead::lab
