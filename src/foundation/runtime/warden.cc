#include "foundation/runtime/warden.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace fairlead::runtime {
namespace {

constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kStop = SIGTERM;
constexpr long kLookAgainNanoseconds = 10'000'000;

// All that posix_spawn needs. Made before the fork: the child of a process with threads must not
// allocate memory.
class SpawnPlan {
 public:
  SpawnPlan(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
            int output, int errors) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
    ::posix_spawn_file_actions_addchdir_np(&files_, "/");
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    for (const std::string& argument : arguments)
      argv_.push_back(const_cast<char*>(argument.c_str()));
    argv_.push_back(nullptr);
    environment_.push_back(const_cast<char*>(kPath));
    for (const std::string& variable : environment)
      environment_.push_back(const_cast<char*>(variable.c_str()));
    environment_.push_back(nullptr);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // An errno, 0 for success.
  int spawn(pid_t& pid) const {
    return ::posix_spawn(&pid, argv_[0], &files_, &attributes_, argv_.data(), environment_.data());
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
  std::vector<char*> argv_;
  std::vector<char*> environment_;
};

// --- the warden's own life: after a fork, so nothing but system calls ------------------------

// Sends SIGKILL to every child. False if that is in vain: they cannot be told, or all refuse.
bool kill_children() {
  const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  char text[4096];  // what does not fit waits for the next round
  const ssize_t size = ::read(list, text, sizeof text - 1);
  ::close(list);
  if (size < 0) return false;
  text[size] = '\0';
  bool refused = false;
  bool killed = false;
  // "17 42 " — a number that was cut off at the end has no space behind it.
  for (char* at = text;;) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at || *end != ' ') break;
    at = end;
    if (::kill(static_cast<pid_t>(pid), SIGKILL) == 0)
      killed = true;
    else
      refused = true;
  }
  return killed || !refused;
}

// Reaps what has ended. True if the program is among it.
bool reap(pid_t program, WardenReport& report) {
  bool ended = false;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != program) continue;
    report.status = status;
    ended = true;
  }
  return ended;
}

bool has_children() {
  siginfo_t any;
  return ::waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void await_end(pid_t program, const sigset_t& signals, WardenReport& report) {
  while (!reap(program, report))
    if (::sigwaitinfo(&signals, nullptr) == kStop) return;
}

// What a killed child leaves becomes a child, so another round finds it.
void end_all(pid_t program, const sigset_t& signals, WardenReport& report) {
  for (;;) {
    reap(program, report);
    if (!has_children()) return;
    if (!kill_children()) {
      report.left_behind = true;
      return;
    }
    const timespec look_again{.tv_sec = 0, .tv_nsec = kLookAgainNanoseconds};
    ::sigtimedwait(&signals, nullptr, &look_again);
  }
}

[[noreturn]] void live_as_warden(const SpawnPlan& plan, pid_t parent, int report_pipe) {
  ::prctl(PR_SET_NAME, "fairlead-warden");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, kStop);
  if (::getppid() != parent) ::_exit(0);  // it ended before it could be told to us
  ::signal(SIGCHLD, SIG_DFL);             // ignored, its news would not come
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, kStop);
  WardenReport report;
  pid_t program = 0;
  report.start_error = plan.spawn(program);
  // Connections and files of the parent end with the parent, not with us.
  if (report_pipe > 0) ::close_range(0, static_cast<unsigned>(report_pipe) - 1, 0);
  ::close_range(static_cast<unsigned>(report_pipe) + 1, ~0U, 0);
  if (report.start_error == 0) {
    await_end(program, signals, report);
    end_all(program, signals, report);
  }
  const ssize_t written = ::write(report_pipe, &report, sizeof report);
  ::_exit(written == sizeof report ? 0 : 1);
}

}  // namespace

Result<pid_t> start_warden(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int output, int errors,
                           int report) {
  const SpawnPlan plan(arguments, environment, output, errors);
  const pid_t parent = ::getpid();
  // Blocked across the fork: the warden waits for its signals, and has none of our handlers run.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) live_as_warden(plan, parent, report);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail(errno_error("fork", error));
  return pid;
}

void stop_warden(pid_t warden) { ::kill(warden, kStop); }

}  // namespace fairlead::runtime
