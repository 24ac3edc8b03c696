// Heartbeat: says every ten seconds that this node's agent lives, so that the server notices when
// it does not (api/controllers/node_lifecycle.h); and once, what the node is: its address and its
// system, in the Node's status.
//
// Where the API has Leases it renews that of the node in kube-node-lease, which belongs to the Node
// and goes with it. Behind a host cluster Leases and Nodes are the host's and its kubelet's: there
// it renews the NodeReport.
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

// status.nodeInfo of the Node: what the machine and its system are.
using NodeInfo = std::map<std::string, std::string>;

class Heartbeat {
 public:
  struct Subject {
    std::string node;
    Ip host;
    NodeInfo info;
  };
  // `report_lost` is told when the node's NodeReport was found missing, which is looked for now and
  // then: without one the node does not count.
  Heartbeat(runtime::Runtime& runtime, client::RestClient& client, AgentMetrics& metrics,
            Subject subject, std::function<void()> report_lost);

  // Until cancelled.
  Task<void> run();

  // Why the API does not take this node for one of its own, while it does not; else empty. A server
  // that is merely not reached says nothing.
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
  std::optional<bool> leases_;  // whether the API has them; nothing: not known yet
  bool node_told_ = false;
  std::function<void()> report_lost_;
  std::uint64_t beats_ = 0;
  std::string refusal_;
};

// What the node's Node is to say of it, as a patch of its status. Pure.
Json node_status_patch(const Heartbeat::Subject& subject);

}  // namespace fairlead::agent
