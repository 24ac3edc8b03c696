// One process of an AgentFleet: joins its nodes, runs their agents until it is told to end, and
// removes the Nodes again.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/agent_board.h"

namespace fairlead::bench {

struct FleetShare {
  std::string kubeconfig;
  std::string folder;              // a folder in it for each node
  std::vector<std::string> nodes;  // of this process
  std::size_t first = 0;           // the number of the first of them in the fleet
  std::size_t process = 0;         // whose share of the board is written
};

// The whole life of the process; gives its exit status. Ends at SIGTERM.
int run_fleet_process(const FleetShare& share, AgentBoard& board);

}  // namespace fairlead::bench
