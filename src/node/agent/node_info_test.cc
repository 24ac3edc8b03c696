#include "node/agent/node_info.h"

#include <gtest/gtest.h>

#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::agent {
namespace {

// The name of the system as its own file has it, quoted or not.
TEST(NodeInfo, NamesTheSystem) {
  EXPECT_EQ(pretty_name("NAME=\"x\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(pretty_name("PRETTY_NAME=Plain"), "Plain");
  EXPECT_EQ(pretty_name("NAME=x\n"), "Linux");
  EXPECT_EQ(pretty_name(""), "Linux");
}

// On a real machine kubectl has something to show.
TEST(NodeInfo, KnowsThisMachine) {
  runtime::EpollRuntime runtime;
  const NodeInfo info = read_node_info(runtime.files(), "1.2");
  for (const char* name : {"kernelVersion", "osImage", "kubeletVersion", "architecture", "bootID"})
    EXPECT_FALSE(info.at(name).empty()) << name;
}

}  // namespace
}  // namespace fairlead::agent
