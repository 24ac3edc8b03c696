#include "node/fabric/ovs/restart.h"

#include <gtest/gtest.h>

namespace fairlead::fabric::ovs {
namespace {

RestartView alone() { return {.datapath_type = "system", .bridge = "fl", .bridges = {"fl"}}; }

// A switch with only our bridge on the kernel's datapath waits for us when it starts; one that
// started is told to go on, and to wait again the next time.
TEST(OvsRestart, KeepsTheKernelsFlows) {
  RestartView view = alone();
  EXPECT_EQ(next_restart_step(view), RestartStep::wait);
  view.datapath_type = "";  // the default
  EXPECT_EQ(next_restart_step(view), RestartStep::wait);
  view.waits = view.ours = true;
  EXPECT_EQ(next_restart_step(view), RestartStep::nothing);
  view.started = true;
  EXPECT_EQ(next_restart_step(view), RestartStep::go_on);
  view.waits = view.ours = view.started = false;
  EXPECT_EQ(next_restart_step(view), RestartStep::wait);
}

// In user space nothing could be kept.
TEST(OvsRestart, NotInUserSpace) {
  RestartView view = alone();
  view.datapath_type = "netdev";
  EXPECT_EQ(next_restart_step(view), RestartStep::nothing);
  view.waits = view.ours = true;  // of an earlier configuration
  EXPECT_EQ(next_restart_step(view), RestartStep::go_on);
}

// Bridges of others never wait for us; what others said is not ours to take back.
TEST(OvsRestart, NotBesideOthers) {
  RestartView view = alone();
  view.bridges = {"br-phy", "fl"};
  view.started = true;
  EXPECT_EQ(next_restart_step(view), RestartStep::nothing);
  view.waits = true;
  EXPECT_EQ(next_restart_step(view), RestartStep::nothing);
  view.ours = true;  // we said it before the other bridge came
  EXPECT_EQ(next_restart_step(view), RestartStep::go_on);
  view.bridges = {"br-phy"};
  EXPECT_EQ(next_restart_step(view), RestartStep::go_on);
  view.ours = false;
  EXPECT_EQ(next_restart_step(view), RestartStep::nothing);
}

}  // namespace
}  // namespace fairlead::fabric::ovs
