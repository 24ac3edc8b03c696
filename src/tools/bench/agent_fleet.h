// AgentFleet: many agents on this machine, for loads: each a node of its own, joined with a token
// and shown to the API by its own certificate on its own connection, with the fabric `log`. They
// run in a few processes that are forked before anything else is started here, and tell what they
// carry on a AgentBoard.
//
//   AgentFleet fleet = start(…);  // forks
//   EpollRuntime runtime; …       // the load
//   co_await fleet.wait_ready(runtime);
//   …
//   co_await fleet.stop(runtime);  // they remove their Nodes
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "tools/bench/agent_board.h"

namespace fairlead::bench {

struct FleetOptions {
  std::string kubeconfig;  // of an administrator: makes the join token, removes the Nodes
  std::size_t agents = 0;
  std::size_t processes = 1;
  std::uint64_t attachments = 0;  // of the load
};

class AgentFleet {
 public:
  // REQUIRES: this process has one thread and no runtime yet. Fails with invalid on numbers out of
  // range, naming the flag.
  static Result<AgentFleet> start(const FleetOptions& options);
  AgentFleet(AgentFleet&&) = default;
  AgentFleet& operator=(AgentFleet&&) = delete;
  // Kills what stop() did not end.
  ~AgentFleet();

  const std::vector<std::string>& nodes() const { return nodes_; }
  AgentBoard& board() { return board_; }

  // Until every agent has joined and knows what it needs to. Progress goes to standard error.
  Task<Result<>> wait_ready(runtime::Runtime& runtime);
  Task<Result<>> stop(runtime::Runtime& runtime);

 private:
  AgentFleet(AgentBoard board, std::string folder)
      : board_(std::move(board)), folder_(std::move(folder)) {}
  Result<> reap();

  AgentBoard board_;
  std::string folder_;  // of the nodes' keys and certificates
  std::vector<std::string> nodes_;
  std::vector<pid_t> processes_;
};

}  // namespace fairlead::bench
