#include "foundation/runtime/epoll_processes.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "foundation/runtime/warden.h"

namespace fairlead::runtime {
namespace {

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

// What one pipe gave so far.
struct Captured {
  std::string text;
  bool cut = false;
  std::function<void(std::string_view)> take = nullptr;  // gets it instead
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
    if (captured.take) {
      captured.take(std::string_view(buffer, static_cast<std::size_t>(n)));
      continue;
    }
    const std::size_t room = limit - captured.text.size();
    const std::size_t kept = std::min(room, static_cast<std::size_t>(n));
    captured.text.append(buffer, kept);
    captured.cut |= kept < static_cast<std::size_t>(n);
  }
  return false;
}

// The program's warden from its start until it was waited for: whatever happens, it leaves no
// zombie.
class Child {
 public:
  Child(EpollLoop& loop, pid_t warden, int pidfd, int output, int errors, int report,
        const Command& command)
      : loop_(loop),
        warden_(warden),
        limit_(command.output_limit),
        pidfd_(loop, pidfd),
        output_(loop, output),
        errors_(loop, errors),
        report_(loop, report) {
    captured_errors_.take = command.on_errors;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (reaped_) return;
    stop();
    while (::waitpid(warden_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  void stop() {
    if (!reaped_) stop_warden(warden_);
  }

  Task<void> read_output() { return drain(output_, captured_output_); }
  Task<void> read_errors() { return drain(errors_, captured_errors_); }

  // Until it has ended.
  Task<Result<WardenReport>> wait() {
    for (;;) {
      FL_CO_CHECKED(co_await loop_.checkpoint());
      const pid_t ended = ::waitpid(warden_, nullptr, WNOHANG);
      if (ended == warden_) {
        reaped_ = true;
        WardenReport report;
        if (::read(report_.fd(), &report, sizeof report) != sizeof report)
          co_return fail(Code::internal, "the program's warden was killed");
        co_return report;
      }
      if (ended < 0 && errno != EINTR) co_return fail(errno_error("waitpid"));
      pidfd_.read_blocked();
      FL_CO_CHECKED(co_await pidfd_.readable());
    }
  }

  // With what was still in the pipes; what could not be killed may hold them open.
  ProcessEnd end(const WardenReport& report) {
    take_available(output_, limit_, captured_output_, kLastReads);
    take_available(errors_, limit_, captured_errors_, kLastReads);
    ProcessEnd end;
    const int status = report.status;
    end.kind = WIFEXITED(status) ? ProcessEnd::Kind::exited : ProcessEnd::Kind::killed;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    end.left_behind = report.left_behind;
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
  pid_t warden_;
  std::size_t limit_;
  bool reaped_ = false;
  Descriptor pidfd_;
  Descriptor output_;
  Descriptor errors_;
  Descriptor report_;
  Captured captured_output_;
  Captured captured_errors_;
};

}  // namespace

Task<Result<ProcessEnd>> EpollProcesses::run(Command command) {
  if (command.arguments.empty()) co_return fail(Code::invalid, "no program given");
  Pipe output;
  Pipe errors;
  Pipe report;
  FL_CO_CHECKED(output.open());
  FL_CO_CHECKED(errors.open());
  FL_CO_CHECKED(report.open());
  FL_CO_TRY(const pid_t warden, start_warden(command.arguments, command.environment, output.write,
                                             errors.write, report.write));
  // The process cannot be reaped by anyone else, so its number still means it.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, warden, O_NONBLOCK));
  if (pidfd < 0) {
    const Error error = errno_error("pidfd_open");
    stop_warden(warden);
    ::waitpid(warden, nullptr, 0);
    co_return fail(error);
  }
  Child child(runtime_.loop(), warden, pidfd, output.take_read(), errors.take_read(),
              report.take_read(), command);
  for (Pipe* pipe : {&output, &errors, &report}) ::close(std::exchange(pipe->write, -1));

  Scope readers(runtime_);
  readers.spawn(child.read_output());
  readers.spawn(child.read_errors());
  Task<Result<WardenReport>> waiting = child.wait();
  Result<WardenReport> ended =
      co_await with_timeout(runtime_, command.time_limit, std::move(waiting));
  const bool timed_out = !ended && ended.error().code == Code::timeout;
  if (timed_out) {
    child.stop();
    ended = co_await child.wait();
  }
  co_await readers.close();
  if (!ended) co_return fail(std::move(ended).error());
  if (ended->start_error != 0)
    co_return fail(errno_error("start " + command.arguments[0], ended->start_error));
  ProcessEnd end = child.end(*ended);
  if (timed_out) end.kind = ProcessEnd::Kind::timed_out;
  co_return end;
}

}  // namespace fairlead::runtime
