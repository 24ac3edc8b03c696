#include "foundation/command/first_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "foundation/base/log.h"

namespace fairlead::command {
namespace {

constexpr int kSignalled = 128;  // and the signal, as shells have it

// Until the program has ended: its exit status.
int look_after(pid_t program, const sigset_t& signals) {
  for (;;) {
    int status = 0;
    for (pid_t ended = ::waitpid(-1, &status, WNOHANG); ended > 0;
         ended = ::waitpid(-1, &status, WNOHANG))
      if (ended == program)
        return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
    int signal = 0;
    if (::sigwait(&signals, &signal) == 0 && signal != SIGCHLD) ::kill(program, signal);
  }
}

}  // namespace

int run_program(const std::function<int()>& run) {
  if (::getpid() != 1) return run();
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    sigaddset(&signals, one);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t program = ::fork();
  if (program < 0) {
    log::warning("what ends in this container is not cleared away", {{"error", "fork"}});
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return run();
  }
  if (program == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return run();
  }
  return look_after(program, signals);
}

}  // namespace fairlead::command
