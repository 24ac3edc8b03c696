// Heartbeat: renews a lease every ten seconds, so that the server notices when this node's agent is
// silent (api/controllers/node_lifecycle.h), and once writes the node's address and system into the
// Node's status.
//
// Where the API has Leases, it renews the node's Lease in kube-node-lease, which is owned by the
// Node and deleted with it. Behind a host cluster, Leases and Nodes belong to the kubelet: there it
// renews the NodeReport.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "api/client/rest_client.h"
#include "features/networks/agent/agent_metrics.h"
#include "foundation/base/ip.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::agent {

// status.nodeInfo of the Node.
using NodeInfo = std::map<std::string, std::string>;

class Heartbeat {
 public:
  struct Subject {
    std::string node;
    Ip host;
    NodeInfo info;
  };
  // `report_lost` is called when the node's NodeReport is found missing, which is checked at
  // intervals: the server waits only for nodes that have one.
  Heartbeat(runtime::Runtime& runtime, client::RestClient& client, AgentMetrics& metrics,
            Subject subject, std::function<void()> report_lost);

  // Until cancelled.
  Task<void> run();

  // Why the API refuses this node; empty while it does not. A server that cannot be reached is not
  // a refusal.
  const std::string& refusal() const { return refusal_; }

 private:
  Task<Result<>> beat();
  Task<Result<>> beat_in_time();
  Task<Result<bool>> find_out_where();
  Task<Result<>> renew_lease();
  Task<Result<>> make_lease();
  Task<Result<>> renew_report();
  Task<Result<>> look_for_report();
  Task<Result<>> tell_node();
  void judge(const Result<>& outcome);
  std::string now_text() const;

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  AgentMetrics& metrics_;
  Subject subject_;
  std::optional<bool> leases_;  // whether the API has Leases; nullopt: not known yet
  bool node_told_ = false;
  std::function<void()> report_lost_;
  std::uint64_t beats_ = 0;
  std::string refusal_;
};

// The patch of the Node's status. Pure.
Json node_status_patch(const Heartbeat::Subject& subject);

}  // namespace fairlead::agent
