// One agent with what it needs besides a fabric: its connection to the API and its metrics. Only
// wiring. `fairlead agent` runs one; a load driver may run many in one process.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/client/rest_client.h"
#include "api/identity/kubeconfig.h"
#include "features/networks/agent/agent.h"
#include "foundation/base/metrics.h"
#include "foundation/http/server.h"

namespace fairlead::program {

struct AgentConfig {
  agent::AgentOptions agent;
  identity::ClientConfig api;
  std::vector<runtime::Endpoint> further_servers;
  std::optional<runtime::Endpoint> metrics_listen;
};

class AgentProgram {
 public:
  // The other three outlive it.
  static Result<std::unique_ptr<AgentProgram>> open(runtime::Runtime& runtime,
                                                    runtime::Processes& processes,
                                                    fabric::Fabric& fabric, AgentConfig config);
  ~AgentProgram();

  // Until cancelled. The fabric stays as it is.
  Task<void> run();

  agent::Agent& agent() { return *agent_; }
  client::RestClient& client() { return *client_; }
  metrics::Registry& metrics() { return metrics_; }
  // Where metrics are served; nothing if they are not.
  std::optional<runtime::Endpoint> metrics_address() const;

 private:
  class Pages;
  explicit AgentProgram(runtime::Runtime& runtime);

  runtime::Runtime& runtime_;
  metrics::Registry metrics_;
  std::unique_ptr<agent::AgentMetrics> agent_metrics_;
  std::unique_ptr<client::RestClient> client_;
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<Pages> pages_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<runtime::Listener> listener_;
  std::optional<runtime::Endpoint> metrics_address_;
};

}  // namespace fairlead::program
