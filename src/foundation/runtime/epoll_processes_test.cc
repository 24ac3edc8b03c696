#include "foundation/runtime/epoll_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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

// What the command adds to the environment, and nothing of ours.
TEST(EpollProcesses, HasTheEnvironmentOfItsCommand) {
  Command command = shell("echo \"$FAIRLEAD_VIP/$FAIRLEAD_STATE/$HOME\"; test -n \"$PATH\"");
  command.environment = {"FAIRLEAD_VIP=10.0.0.75", "FAIRLEAD_STATE=a b"};
  const Result<ProcessEnd> end = run(std::move(command));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "10.0.0.75/a b/\n");
  EXPECT_EQ(end->status, 0);
}

// Who wants what comes on standard error gets it while the program runs, and it is not kept.
TEST(EpollProcesses, HandsErrorsOnAsTheyCome) {
  const std::string gate = testing::TempDir() + "/fairlead-errors-" + std::to_string(::getpid());
  std::string came;
  // Ends only after what it wrote was handed on.
  Command command = shell("echo one >&2; while ! test -e " + gate + "; do sleep 0.01; done");
  command.on_errors = [&](std::string_view text) {
    came += text;
    std::ofstream(gate) << "x";
  };
  const Result<ProcessEnd> end = run(std::move(command));
  std::filesystem::remove(gate);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::exited);
  EXPECT_EQ(came, "one\n");
  EXPECT_EQ(end->errors, "");
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

// What a program can start so that killing it or its process group does not reach it all: a child,
// a session of its own, and a daemon, whose parent has ended. Each prints its number.
constexpr const char* kEscapes =
    "sleep 1000 & echo $!; "
    "setsid sh -c 'echo $$; exec sleep 1000' & "
    "setsid sh -c 'sh -c \"echo \\$\\$; exec sleep 1000\" & exit' & ";

void expect_all_dead(const ProcessEnd& end) {
  std::istringstream numbers(end.output);
  int count = 0;
  for (std::string pid; numbers >> pid; ++count) EXPECT_FALSE(runs(pid)) << pid;
  EXPECT_EQ(count, 3) << end.output;
  EXPECT_FALSE(end.left_behind);
}

// At the time limit the program is killed together with everything it started.
TEST(EpollProcesses, KillsAllAtTheTimeLimit) {
  Command command = shell(std::string(kEscapes) + "sleep 1000");
  command.time_limit = 2s;
  const Result<ProcessEnd> end = run(std::move(command));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::timed_out);
  expect_all_dead(*end);
}

// What a program leaves behind neither holds up its end nor goes on.
TEST(EpollProcesses, KillsWhatIsLeftBehind) {
  // It ends when all numbers were printed.
  const Result<ProcessEnd> end =
      run(shell("{ " + std::string(kEscapes) + "} | { read a; read b; read c; echo $a $b $c; }"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::exited);
  expect_all_dead(*end);
}

// Who runs a program takes it along, also when killed.
TEST(EpollProcesses, EndsWithTheProcessThatRunsIt) {
  const std::string file = ::testing::TempDir() + "process-" + std::to_string(::getpid());
  const pid_t runner = ::fork();
  if (runner == 0) {
    (void)run(shell("echo $$ > " + file + ".new; mv " + file + ".new " + file + "; sleep 1000"));
    ::_exit(0);
  }
  std::string pid;
  while (!(std::ifstream(file) >> pid)) ::usleep(1000);
  ::kill(runner, SIGKILL);
  ::waitpid(runner, nullptr, 0);
  std::filesystem::remove(file);
  while (runs(pid)) ::usleep(1000);  // if it lived on, this would not end
}

// Also more of it than the kernel tells in one reading.
TEST(EpollProcesses, KillsManyLeftBehind) {
  const Result<ProcessEnd> end =
      run(shell("i=0; while [ $i -lt 700 ]; do setsid sleep 1000 & i=$((i+1)); done; echo $!"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::exited);
  ASSERT_FALSE(end->output.empty());
  EXPECT_FALSE(runs(end->output));
}

// A program may wait for its own daemon to be gone, as if init had adopted it.
TEST(EpollProcesses, OrphansAreReapedMeanwhile) {
  const Result<ProcessEnd> end = run(shell(
      "pid=$(sh -c 'sleep 0 >/dev/null & echo $!'); while kill -0 $pid; do :; done 2>/dev/null; "
      "echo gone"));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, ProcessEnd::Kind::exited);
  EXPECT_EQ(end->output, "gone\n");
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
