#include "runtime/epoll_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

namespace fairlead::runtime {
namespace {

Command shell(std::string script) { return {.arguments = {"/bin/sh", "-c", std::move(script)}}; }

Result<ProcessEnd> run(Command command) {
  EpollRuntime runtime;
  EpollProcesses processes(runtime);
  return runtime.run_until_complete(processes.run(std::move(command)));
}

bool runs(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

// Exit status and both outputs come back as they were.
TEST(EpollProcesses, TellsHowItEnded) {
  const Result<ProcessEnd> end = run(shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::exited);
  EXPECT_EQ(end->status, 7);
  EXPECT_EQ(end->output, "out\n");
  EXPECT_EQ(end->errors, "err\n");
  EXPECT_FALSE(end->output_cut || end->errors_cut);
}

// Arguments reach the program as they are: no shell, no search path.
TEST(EpollProcesses, TakesArgumentsLiterally) {
  const Result<ProcessEnd> end =
      run({.arguments = {"/bin/sh", "-c", "printf '%s.' \"$@\"", "x", "a b", "$HOME", "*"}});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "a b.$HOME.*.");
  const Result<ProcessEnd> missing = run({.arguments = {"sh"}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("start sh"), std::string::npos);
}

// Nothing of this process is inherited: descriptors (the fourth is that of ls on the folder it
// reads), blocked signals, environment.
TEST(EpollProcesses, StartsFromAClearState) {
  const Result<ProcessEnd> end =
      run(shell("env | grep -v ^PATH= | grep -v ^_= | grep -v ^PWD=; pwd; cat; ls /proc/self/fd | "
                "wc -l; grep SigBlk /proc/self/status"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "/\n4\nSigBlk:\t0000000000000000\n");
}

// A program that floods is neither held up nor kept in memory.
TEST(EpollProcesses, KeepsAsMuchOutputAsAllowed) {
  Command command = shell("yes | head -c 5000000; echo done >&2");
  command.output_limit = 100;
  const Result<ProcessEnd> end = run(std::move(command));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->status, 0);
  EXPECT_EQ(end->output.size(), 100U);
  EXPECT_TRUE(end->output_cut);
  EXPECT_EQ(end->errors, "done\n");
}

// At the time limit the program is killed together with what it started.
TEST(EpollProcesses, KillsTheGroupAtTheTimeLimit) {
  Command command = shell("sleep 1000 & echo $!; wait");
  command.time_limit = 300ms;
  const Result<ProcessEnd> end = run(std::move(command));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::timed_out);
  ASSERT_FALSE(end->output.empty());
  // The orphan is reaped by whoever adopts it: being a zombie counts as dead. The kernel may take a
  // moment for it; one that lives on fails the test by never ending it.
  const std::string program = "/proc/" + std::to_string(std::stoi(end->output)) + "/exe";
  std::error_code error;
  while (!std::filesystem::read_symlink(program, error).empty()) ::usleep(1000);
}

// What a program leaves behind on purpose neither holds up its end nor is killed.
TEST(EpollProcesses, DoesNotWaitForWhatIsLeftBehind) {
  const Result<ProcessEnd> end = run(shell("sleep 1000 & echo $!"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::exited);
  EXPECT_TRUE(runs(end->output));
  ::kill(std::stoi(end->output), SIGKILL);
}

// A signal is told apart from an exit.
TEST(EpollProcesses, TellsASignal) {
  const Result<ProcessEnd> end = run(shell("kill -TERM $$"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::killed);
  EXPECT_EQ(end->status, SIGTERM);
}

Task<void> start(EpollProcesses& processes, Result<ProcessEnd>& end) {
  Command command = shell("sleep 1000");
  end = co_await processes.run(std::move(command));
}

Task<bool> cancel_soon(EpollRuntime& runtime, EpollProcesses& processes, Result<ProcessEnd>& end) {
  Scope scope(runtime);
  scope.spawn(start(processes, end));
  co_await yield(runtime);
  co_await scope.close();
  co_return true;
}

// Cancelling kills at once and leaves no process behind.
TEST(EpollProcesses, CancellingKills) {
  EpollRuntime runtime;
  EpollProcesses processes(runtime);
  Result<ProcessEnd> end;
  EXPECT_TRUE(runtime.run_until_complete(cancel_soon(runtime, processes, end)));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::cancelled);
}

}  // namespace
}  // namespace fairlead::runtime
