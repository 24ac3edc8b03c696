#include "features/vip/guard/guard_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

#include "features/vip/fence/shutter.h"
#include "features/vip/guard/guard_note.h"
#include "features/vip/guard/guard_plan.h"
#include "features/vip/guard/urgency.h"
#include "foundation/base/log.h"
#include "foundation/command/lock_file.h"
#include "foundation/runtime/socket_address.h"

namespace fairlead::vip {
namespace {

constexpr Duration kDefaultMargin = 100ms;  // of an engine that left no note
constexpr int kLockTries = 100;             // a tenth of a second apart
constexpr int kPriority = 2;

Instant boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

// The guard that was there before may be about to end.
Result<command::LockFile> take_lock(const std::string& path) {
  for (int tries = 1;; ++tries) {
    Result<command::LockFile> lock =
        command::LockFile::take(path, "another guard of virtual IPs on this node");
    if (lock || tries == kLockTries) return lock;
    std::this_thread::sleep_for(100ms);
  }
}

class Guard {
 public:
  explicit Guard(const GuardOptions& options) : options_(options) {}

  int run() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int one : {SIGTERM, SIGCHLD, SIGINT, SIGHUP}) sigaddset(&signals, one);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) {
      log::error("guard: signalfd", {{"error", std::strerror(errno)}});
      return 1;
    }
    for (;;) {
      const GuardPlan::Step step = plan_.next(boot_now());
      if (step == GuardPlan::Step::end) return 0;
      carry_out(step);
      if (step == GuardPlan::Step::nothing) wait();
    }
  }

 private:
  void carry_out(GuardPlan::Step step) {
    switch (step) {
      case GuardPlan::Step::start:
        return start();
      case GuardPlan::Step::ask:
        return signal_engine(SIGTERM);
      case GuardPlan::Step::kill:
        log::warning("engine of virtual IPs does not end: killed");
        return signal_engine(SIGKILL);
      case GuardPlan::Step::close:
        return close_fence();
      case GuardPlan::Step::farewell:
        return say_farewell();
      case GuardPlan::Step::nothing:
      case GuardPlan::Step::end:
        return;
    }
  }

  void start() {
    notes_ = {};
    std::array<int, 2> pipe{-1, -1};
    if (::pipe2(pipe.data(), 0) < 0) return failed_to_start("pipe");
    std::vector<std::string> line = options_.engine;
    line.insert(line.end(),
                {"--note-fd", std::to_string(pipe[1]), "--guard", std::to_string(::getpid())});
    std::vector<char*> arguments;
    for (std::string& word : line) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t guard = ::getpid();
    engine_ = ::fork();
    if (engine_ == 0) exec_engine(guard, pipe[0], arguments.data());
    ::close(pipe[1]);
    note_pipe_ = pipe[0];
    ::fcntl(note_pipe_, F_SETFD, FD_CLOEXEC);
    ::fcntl(note_pipe_, F_SETFL, O_NONBLOCK);
    if (engine_ < 0) failed_to_start("fork");
  }

  [[noreturn]] static void exec_engine(pid_t guard, int unused, char** arguments) {
    ::close(unused);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != guard) ::_exit(1);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::execv(arguments[0], arguments);
    ::_exit(127);
  }

  void failed_to_start(const char* what) {
    log::error("engine of virtual IPs not started",
               {{"call", what}, {"error", std::strerror(errno)}});
    engine_ = -1;
    plan_.ended(boot_now());
  }

  void signal_engine(int signal) const {
    if (engine_ > 0) ::kill(engine_, signal);
  }

  void close_fence() {
    drain_notes();
    if (note_pipe_ >= 0) ::close(std::exchange(note_pipe_, -1));
    Result<DeadlineTable> shutter = open_shutter();
    if (shutter) shutter->close_all();
    const bool none = !shutter && shutter.error().code == Code::not_found;
    const bool unfenced = notes_.last() && notes_.last()->unfenced;
    const bool silent = !unfenced && (shutter || none);
    if (!silent)
      log::error("this host is not silenced: the peers wait for the lease",
                 {{"reason", shutter ? "its virtual IPs have no fence" : shutter.error().message}});
    const Duration margin = notes_.last() ? notes_.last()->margin : kDefaultMargin;
    plan_.closed(boot_now(), silent, margin);
  }

  void say_farewell() const {
    if (!notes_.last()) return;
    for (const GuardNote::Farewell& one : notes_.last()->farewells) {
      const std::optional<runtime::SocketAddress> to = runtime::numeric_address(one.to);
      if (!to) continue;
      const int socket = ::socket(to->family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (socket < 0) continue;
      for (int copy = 0; copy < kFarewellCopies; ++copy)
        (void)::sendto(socket, one.bytes.data(), one.bytes.size(), 0, to->get(), to->length);
      ::close(socket);
    }
  }

  void wait() {
    std::array<pollfd, 3> events{{{.fd = signals_, .events = POLLIN, .revents = 0},
                                  {.fd = lifeline_, .events = POLLIN, .revents = 0},
                                  {.fd = note_pipe_, .events = POLLIN, .revents = 0}}};
    timespec limit{};
    timespec* timeout = nullptr;
    if (const std::optional<Instant> due = plan_.due()) {
      const Duration left = std::max(Duration::zero(), *due - boot_now());
      limit.tv_sec = static_cast<time_t>(left / 1s);
      limit.tv_nsec = static_cast<long>((left % 1s).count());
      timeout = &limit;
    }
    if (::ppoll(events.data(), events.size(), timeout, nullptr) <= 0) return;
    if (events[0].revents != 0) take_signals();
    if (events[1].revents != 0) watch_lifeline();
    if (events[2].revents != 0) drain_notes();
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info)
      if (info.ssi_signo == SIGTERM) plan_.stop(boot_now());
    int status = 0;
    for (pid_t ended = ::waitpid(-1, &status, WNOHANG); ended > 0;
         ended = ::waitpid(-1, &status, WNOHANG)) {
      if (ended != engine_) continue;
      if (WIFSIGNALED(status))
        log::error("engine of virtual IPs was killed", {{"signal", WTERMSIG(status)}});
      else if (WEXITSTATUS(status) != 0)
        log::error("engine of virtual IPs has failed", {{"status", WEXITSTATUS(status)}});
      engine_ = -1;
      plan_.ended(boot_now());
    }
  }

  void watch_lifeline() {
    char byte = 0;
    if (::read(lifeline_, &byte, 1) > 0) return;
    lifeline_ = -1;
    plan_.stop(boot_now());
  }

  void drain_notes() {
    if (note_pipe_ < 0) return;
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t count = ::read(note_pipe_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) ::close(std::exchange(note_pipe_, -1));
      if (count <= 0) return;
      notes_.feed({bytes.data(), static_cast<std::size_t>(count)});
    }
  }

  const GuardOptions& options_;
  GuardPlan plan_;
  NoteReader notes_;
  int signals_ = -1;
  int lifeline_ = STDIN_FILENO;
  int note_pipe_ = -1;
  pid_t engine_ = -1;
};

}  // namespace

int run_guard(const GuardOptions& options) {
  const Result<command::LockFile> lock = take_lock(options.state + "/guard.lock");
  if (!lock) {
    log::error("guard of virtual IPs not started", {{"error", lock.error().message}});
    return 1;
  }
  (void)become_urgent(kPriority);  // the engine tells what is lacking
  return Guard(options).run();
}

}  // namespace fairlead::vip
