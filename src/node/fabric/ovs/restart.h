// What ovs-vswitchd does with the kernel's flows when it starts, decided as a value.
//
// By itself it empties the kernel's table at once, when it has no flows of ours yet: all traffic
// stops until the agent is back. While its database says flow-restore-wait it leaves the table as
// it is and takes up no packet; told to go on, it empties the table and fills it from the flows it
// has by then. So the fabric leaves that word in the database, and takes it back for a moment when
// a switch that started has its flows again.
//
// The word holds for every bridge of the switch. Where there are bridges of others (an uplink, say)
// they would wait for our agent, who may need them to reach anyone: there it is not said. A
// userspace datapath keeps nothing over a restart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead::fabric::ovs {

constexpr std::string_view kWaitKey = "flow-restore-wait";      // in other_config
constexpr std::string_view kWaitMark = "fairlead-keeps-flows";  // in external_ids: it was us

struct RestartView {
  std::string datapath_type;         // of our bridge
  std::string bridge;                // ours
  std::vector<std::string> bridges;  // all there are
  bool waits = false;                // the database says so
  bool ours = false;                 // and it was us who said it
  bool started = false;              // the switch may have started since it was last told to go on
};

enum class RestartStep { nothing, go_on, wait };

RestartStep next_restart_step(const RestartView& view);

}  // namespace fairlead::fabric::ovs
