#include "runtime/epoll_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

namespace fairlead::runtime {
namespace {

constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  Result<> open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error("pipe"));
    read = ends[0];
    write = ends[1];
    // Only our end: the program's writes block as it expects them to.
    if (::fcntl(read, F_SETFL, O_NONBLOCK) != 0) return fail(errno_error("fcntl"));
    return {};
  }
  int take_read() { return std::exchange(read, -1); }
};

// Frees what posix_spawn's two descriptions hold.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

Result<pid_t> spawn(const std::vector<std::string>& arguments, int output, int errors) {
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&plan.files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&plan.files, errors, STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&plan.files, STDERR_FILENO + 1);
  ::posix_spawn_file_actions_addchdir_np(&plan.files, "/");
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&plan.attributes, &none);
  ::posix_spawnattr_setsigdefault(&plan.attributes, &all);
  ::posix_spawnattr_setpgroup(&plan.attributes, 0);
  ::posix_spawnattr_setflags(
      &plan.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {const_cast<char*>(kPath), nullptr};
  pid_t pid = 0;
  const int status =
      ::posix_spawn(&pid, argv[0], &plan.files, &plan.attributes, argv.data(), environment);
  if (status != 0) return fail(errno_error("start " + arguments[0], status));
  return pid;
}

// What one pipe gave so far.
struct Captured {
  std::string text;
  bool cut = false;
};

// Takes what is there now. True at the end of the pipe.
bool take_available(Descriptor& pipe, std::size_t limit, Captured& captured, int max_reads) {
  char buffer[16 << 10];
  for (int i = 0; i < max_reads; ++i) {
    const ssize_t n = ::read(pipe.fd(), buffer, sizeof buffer);
    if (n == 0) return true;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return true;
    if (n < 0) {
      pipe.read_blocked();
      return false;
    }
    const std::size_t room = limit - captured.text.size();
    const std::size_t kept = std::min(room, static_cast<std::size_t>(n));
    captured.text.append(buffer, kept);
    captured.cut |= kept < static_cast<std::size_t>(n);
  }
  return false;
}

// The process from its start until it was waited for: whatever happens, it leaves no zombie.
class Child {
 public:
  Child(EpollLoop& loop, pid_t pid, int pidfd, int output, int errors, std::size_t limit)
      : loop_(loop),
        pid_(pid),
        limit_(limit),
        pidfd_(loop, pidfd),
        output_(loop, output),
        errors_(loop, errors) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (reaped_) return;
    kill_group();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  void kill_group() {
    if (!reaped_) ::kill(-pid_, SIGKILL);
  }

  Task<void> read_output() { return drain(output_, captured_output_); }
  Task<void> read_errors() { return drain(errors_, captured_errors_); }

  // Until it has exited.
  Task<Result<int>> wait() {
    for (;;) {
      FL_CO_CHECKED(co_await loop_.checkpoint());
      int status = 0;
      const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended == pid_) {
        reaped_ = true;
        co_return status;
      }
      if (ended < 0 && errno != EINTR) co_return fail(errno_error("waitpid"));
      pidfd_.read_blocked();
      FL_CO_CHECKED(co_await pidfd_.readable());
    }
  }

  // What was still in the pipes when it exited; a program it left behind may hold them open.
  ProcessEnd end(int status) {
    take_available(output_, limit_, captured_output_, kLastReads);
    take_available(errors_, limit_, captured_errors_, kLastReads);
    ProcessEnd end;
    end.kind = WIFEXITED(status) ? ProcessEnd::Kind::exited : ProcessEnd::Kind::killed;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    end.output = std::move(captured_output_.text);
    end.errors = std::move(captured_errors_.text);
    end.output_cut = captured_output_.cut;
    end.errors_cut = captured_errors_.cut;
    return end;
  }

 private:
  static constexpr int kLastReads = 8;  // a pipe holds 64 KiB

  Task<void> drain(Descriptor& pipe, Captured& captured) {
    for (;;) {
      if (Result<> going_on = co_await loop_.checkpoint(); !going_on) co_return;
      if (take_available(pipe, limit_, captured, 1)) co_return;
      if (Result<> ready = co_await pipe.readable(); !ready) co_return;
    }
  }

  EpollLoop& loop_;
  pid_t pid_;
  std::size_t limit_;
  bool reaped_ = false;
  Descriptor pidfd_;
  Descriptor output_;
  Descriptor errors_;
  Captured captured_output_;
  Captured captured_errors_;
};

}  // namespace

Task<Result<ProcessEnd>> EpollProcesses::run(Command command) {
  if (command.arguments.empty()) co_return fail(Code::invalid, "no program given");
  Pipe output;
  Pipe errors;
  FL_CO_CHECKED(output.open());
  FL_CO_CHECKED(errors.open());
  FL_CO_TRY(const pid_t pid, spawn(command.arguments, output.write, errors.write));
  // The process cannot be reaped by anyone else, so its number still means it.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, O_NONBLOCK));
  if (pidfd < 0) {
    const Error error = errno_error("pidfd_open");
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    co_return fail(error);
  }
  Child child(runtime_.loop(), pid, pidfd, output.take_read(), errors.take_read(),
              command.output_limit);
  ::close(std::exchange(output.write, -1));
  ::close(std::exchange(errors.write, -1));

  Scope readers(runtime_);
  readers.spawn(child.read_output());
  readers.spawn(child.read_errors());
  Task<Result<int>> waiting = child.wait();
  Result<int> status = co_await with_timeout(runtime_, command.time_limit, std::move(waiting));
  const bool timed_out = !status && status.error().code == Code::timeout;
  if (timed_out) {
    child.kill_group();
    status = co_await child.wait();
  }
  co_await readers.close();
  if (!status) co_return fail(std::move(status).error());
  ProcessEnd end = child.end(*status);
  if (timed_out) end.kind = ProcessEnd::Kind::timed_out;
  co_return end;
}

}  // namespace fairlead::runtime
