// Heartbeat: renews a lease every ten seconds, so that the server notices when this node's agent is
// silent (api/controllers/node_lifecycle.h), and once writes the node's address and system into the
// Node's status.
//
// Where the API has Leases, it renews the node's Lease in kube-node-lease, which is owned by the
// Node and deleted with it. Behind a host cluster, Leases and Nodes belong to the kubelet: there it
// renews the record of the feature that keeps one (NodeRecord).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/client/rest_client.h"
#include "foundation/base/ip.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::agent {

// status.nodeInfo of the Node.
using NodeInfo = std::map<std::string, std::string>;

// An object of a feature in the API that stands for this node.
class NodeRecord {
 public:
  virtual ~NodeRecord() = default;
  // Writes the time of a heartbeat into it. Only where the API has no Leases.
  virtual Task<Result<>> renew(std::string now) = 0;
  // Called about once a minute where there are Leases: a chance to find it missing.
  virtual Task<Result<>> look() = 0;
};

class Heartbeat {
 public:
  struct Subject {
    std::string node;
    std::optional<Ip> host;  // its InternalIP
    NodeInfo info;
  };
  Heartbeat(runtime::Runtime& runtime, client::RestClient& client, metrics::Registry& metrics,
            Subject subject);

  // REQUIRES: before run(); `record` outlives it. There is at most one.
  void keep(NodeRecord& record) { record_ = &record; }

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
  Task<Result<>> tell_node();
  void judge(const Result<>& outcome);
  std::string now_text() const;

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  metrics::Family<metrics::Counter>& beats_by_outcome_;
  Subject subject_;
  std::optional<bool> leases_;  // whether the API has Leases; nullopt: not known yet
  bool node_told_ = false;
  NodeRecord* record_ = nullptr;
  std::uint64_t beats_ = 0;
  std::string refusal_;
};

// What the outcome of a heartbeat says about a refusal: why the API refuses the node; empty: it
// does not; nullopt: nothing, because a server that does not answer takes nothing back. Pure.
std::optional<std::string> refusal_of(const Result<>& outcome);

// The patch of the Node's status. Pure.
Json node_status_patch(const Heartbeat::Subject& subject);

}  // namespace fairlead::agent
