#include "tools/bench/agent_board.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead::bench {
namespace {

Instant at(int milliseconds) { return Instant(std::chrono::milliseconds(milliseconds)); }

// What another process writes into its share is what the load reads.
TEST(AgentBoard, IsSharedWithAnotherProcess) {
  Result<AgentBoard> board = AgentBoard::make(10, 2);
  ASSERT_TRUE(board.has_value());
  board->begin("run", 4);
  board->set_due(3, at(100));
  board->set_due(7, at(100));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    board->share(1).joined += 5;
    board->share(1).stations = 12;
    board->carried(1, "run-3", at(150));
    board->carried(1, "run-7", at(300));
    board->carried(1, "run-7", at(300));
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  board->share(0).stations = 30;
  EXPECT_EQ(board->joined(), 5U);
  EXPECT_EQ(board->stations(), 42U);
  EXPECT_EQ(board->seen(Part::warm_up).count(), 1U);
  EXPECT_EQ(board->seen(Part::warm_up).max(), 50ms);
  EXPECT_EQ(board->seen(Part::cruise).count(), 2U);
  EXPECT_EQ(board->seen(Part::cruise).max(), 200ms);
}

// Attachments of others, and those that were not due yet, say nothing about this load.
TEST(AgentBoard, CountsOnlyWhatTheLoadMade) {
  Result<AgentBoard> board = AgentBoard::make(10, 1);
  ASSERT_TRUE(board.has_value());
  board->carried(0, "run-1", at(1));
  board->begin("run", 4);
  board->set_due(1, at(1));
  for (const char* name : {"other-1", "run", "run-", "run-2", "run-10", "run-x"})
    board->carried(0, name, at(2));
  EXPECT_EQ(board->seen(Part::warm_up).count(), 0U);
  board->carried(0, "run-1", at(2));
  EXPECT_EQ(board->seen(Part::warm_up).count(), 1U);
}

TEST(AgentBoard, TheFirstFailureStays) {
  Result<AgentBoard> board = AgentBoard::make(1, 2);
  ASSERT_TRUE(board.has_value());
  EXPECT_EQ(board->failure(), "");
  board->fail(1, "no server");
  board->fail(1, std::string(1'000, 'x'));
  EXPECT_EQ(board->failure(), "no server");
}

}  // namespace
}  // namespace fairlead::bench
