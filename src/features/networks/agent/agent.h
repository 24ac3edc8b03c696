// Agent: a node's part of virtual networks. Watches the attachments that concern the node, has the
// fabric carry them, runs their hooks and writes the status of the node's own attachments.
//
//   Informers ─→ NetworkView ─→ Carrier ─→ Fabric
//                                  │ outcomes
//               StatusWriter ←─ Agent ─→ Hooks, AppliedVersions ─→ NodeReport
//               Heartbeat: the node's Lease and the Node's status
//
// NetworkView, AppliedVersions and host_status.h decide and are pure; this class connects them, and
// decides itself what outdates an own attachment and when its hooks are due. Everything runs on the
// loop of the Runtime.
//
// Promises
//   1. Nothing is watched or carried before the node has a NodeReport in the API.
//   2. While the API server does not answer, the fabric stays as it is, also across restarts of the
//      agent. What the fabric holds from before is removed only after every watch has delivered its
//      first list.
//   3. An interface found at start is adopted, not made again.
//   4. A status is written only after every watch has delivered its first list, and only when it
//      changes.
//   5. Stopping leaves the fabric as it is.
//   6. postCreateExec runs at least once for each interface made, also for one made by an audit. It
//      may run twice: for an adopted interface whose status has no report it runs again, because an
//      agent may have died between making the interface and reporting the hook. (If an interface is
//      made anew and its agent dies before the hook, the status still has the first report and the
//      hook is not run again.) postDeleteExec runs at most once, and not at all for an attachment
//      that was deleted while no agent ran.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "features/networks/agent/agent_metrics.h"
#include "features/networks/agent/applied_versions.h"
#include "features/networks/agent/carrier.h"
#include "features/networks/agent/heartbeat.h"
#include "features/networks/agent/hooks.h"
#include "features/networks/agent/informers.h"
#include "features/networks/agent/network_view.h"
#include "features/networks/agent/node_report.h"
#include "features/networks/agent/status_writer.h"
#include "foundation/base/string_map.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"
#include "node/fabric/fabric.h"

namespace fairlead::agent {

struct AgentOptions {
  std::string node;
  Ip host;  // where other nodes send the tunnelled packets for this one
  Duration audit_interval = 30s;
  HookLimits hooks;
  NodeInfo info;  // for the Node's status
  // Called when the fabric begins to carry an attachment, except one that was implemented before
  // its network became relevant here. For load tests.
  std::function<void(const Attachment&)> carried;
  // Called before and after an audit, which needs more memory than anything else: a chance to give
  // unused memory back.
  std::function<void()> make_room;
  // Called after every audit.
  std::function<void()> audited;
};

class Agent final : AttachmentEvents, Carrier::Listener {
 public:
  // All outlive the agent.
  struct Parts {
    runtime::Runtime& runtime;
    client::RestClient& client;
    fabric::Fabric& fabric;
    runtime::Processes& processes;
    AgentMetrics& metrics;
  };
  Agent(Parts parts, AgentOptions options);
  ~Agent() override;

  // Until cancelled.
  Task<void> run();

  // True after the first audit with complete knowledge: the fabric carries what is desired, except
  // what it failed to make, which the statuses tell.
  bool ready() const { return ready_; }
  Task<Result<>> wait_ready();

  // Why the API refuses this node (its Node is missing, say); empty: no refusal is known.
  const std::string& refusal() const { return heartbeat_.refusal(); }
  // How many watches fail at present; all of them while the node is refused.
  std::size_t failing_watches() const {
    return refusal().empty() ? informers_.failing() : informers_.count();
  }

  // Attachments on hosts whose address family differs from this host's, a line for each: no tunnel
  // leads there.
  std::vector<std::string> unreachable() const;

  const NetworkView& view() const { return view_; }
  const Informers& informers() const { return informers_; }

 private:
  // An attachment of this node, from when it is first seen until the fabric has dropped it.
  struct Own {
    Attachment attachment;  // as seen last
    HostStatus known;       // its status in the API, as last seen or written
    std::uint64_t known_version = 0;
    std::optional<fabric::Station> made;  // what the fabric carries for it
    std::string error;                    // the fabric's last error; empty: it succeeded
    std::shared_ptr<const networks::ExecReport> report;
    bool hook_due = false;  // its interface was made, and postCreateExec not yet run for it
    bool gone = false;
  };

  void replaced(const Source& source, std::vector<Attachment> all, std::uint64_t version) override;
  void put(const Source& source, Attachment attachment) override;
  void erased(const Source& source, Attachment last) override;
  void reached(const Source& source, std::uint64_t version) override;
  void settled(const Carrier::Settled& settled) override;
  void auditing() override;
  void audited(bool clean) override;

  void warn_of_reach(const Attachment& attachment) const;
  void put_own(const Attachment& attachment);
  void lose_own(const std::string& uid);
  // Hands what changed in the view, at `version`, to carrier, statuses and informers.
  void follow_view(std::uint64_t version);
  void follow_relevance(std::uint64_t version);
  void leave(const Network& network, std::uint64_t version);
  void note_change_of_own(const Attachment& attachment);
  // Those of `ids` that the fabric carries or may carry.
  std::vector<std::string> carried_of(const std::vector<std::string>& ids) const;
  bool outdated(const std::string& id, const std::optional<fabric::Station>& station) const;
  void note_outdated(fabric::Vni vni, std::uint64_t version, std::vector<std::string> ids);

  void settled_own(Own& own, const Carrier::Settled& settled);
  HostStatus wanted_status(const Own& own) const;
  std::optional<StatusWrite> plan_status(const std::string& uid) const;
  void status_written(const Json& object);
  Task<void> follow_and_report();

  runtime::Runtime& runtime_;
  AgentMetrics& metrics_;
  AgentOptions options_;
  NetworkView view_;
  AppliedVersions applied_;
  StringMap<Own> own_;                                        // by uid
  std::map<std::string, std::string, std::less<>> own_uids_;  // by key, of those not gone
  std::uint64_t first_version_ = 0;  // of the first list of this node's own
  std::uint64_t followed_ = 0;       // the view's relevance() that the informers are at
  bool complete_ = false;
  bool ready_ = false;
  bool clean_ = false;  // an audit has removed everything undesired that earlier agents left
  runtime::Signal ready_signal_;
  StatusWriter statuses_;
  Hooks hooks_;
  Carrier carrier_;
  NodeReport node_report_;
  Heartbeat heartbeat_;
  Informers informers_;
};

}  // namespace fairlead::agent
