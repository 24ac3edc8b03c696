#include "features/vip/guard/guard_handle.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace fairlead::vip {
namespace {

Error system_error(const char* what, int code) {
  return {Code::io, std::string(what) + ": " + std::strerror(code)};
}

}  // namespace

Result<GuardHandle> GuardHandle::start(std::vector<std::string> command) {
  std::array<int, 2> pipe{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) < 0) return fail(system_error("pipe", errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[0], STDIN_FILENO);
  // The agent blocks the signals that it waits for; the guard must not inherit that.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t guard = -1;
  const int failed =
      ::posix_spawn(&guard, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(pipe[0]);
  if (failed != 0) {
    ::close(pipe[1]);
    return fail(system_error(arguments[0], failed));
  }
  return GuardHandle(guard, pipe[1]);
}

GuardHandle::GuardHandle(GuardHandle&& other) noexcept
    : guard_(std::exchange(other.guard_, -1)), lifeline_(std::exchange(other.lifeline_, -1)) {}

GuardHandle::~GuardHandle() { close(); }

void GuardHandle::close() {
  if (lifeline_ >= 0) ::close(std::exchange(lifeline_, -1));
}

bool GuardHandle::ended() {
  if (guard_ < 0) return true;
  int status = 0;
  const pid_t ended = ::waitpid(guard_, &status, WNOHANG);
  if (ended == 0) return false;
  guard_ = -1;
  return true;
}

void GuardHandle::wait(Duration limit) {
  constexpr Duration kLookAgain = 5ms;
  for (Duration waited{}; !ended() && waited < limit; waited += kLookAgain)
    std::this_thread::sleep_for(kLookAgain);
}

}  // namespace fairlead::vip
