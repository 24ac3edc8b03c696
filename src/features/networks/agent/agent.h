// Agent: the connection agent of one node. Follows the attachments that concern the node, has the
// fabric carry them, runs their hooks and writes back what became of this node's own.
//
//   Informers ─→ NetworkView ─→ Carrier ─→ Fabric
//                                  │ outcomes
//               StatusWriter ←─ Agent ─→ Hooks, AppliedVersions ─→ NodeReport
//
// Decisions are in NetworkView, AppliedVersions, host_status.h and hooks.h, which are pure; this
// class connects them. Everything runs on the loop of the Runtime.
//
// Promises
//   1. What the API server does not answer changes nothing: the fabric stays as it was told last,
//      also across restarts of the agent. Only complete knowledge removes anything.
//   2. An interface found at start is adopted: not made again.
//   3. A status is written only when it would say something else than it does.
//   4. Stopping leaves the fabric as it is.
//   5. postCreateExec runs whenever an interface was made, also by an audit. It runs again for an
//      interface that is adopted and of which the status has no report: an agent may have died
//      between the two. So it runs at least once, and may run twice. (An interface that is made
//      anew under an agent which dies at once keeps the report of the first.) postDeleteExec runs
//      at most once: of what was deleted while no agent ran nothing is known.
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
  // Told whatever the fabric has come to carry, but for what was there before its network became
  // relevant here. For loads.
  std::function<void(const Attachment&)> carried;
  // Called before an audit and before what follows from it, which take more memory than anything
  // else: what was needed so far may go.
  std::function<void()> make_room;
  // Told after every audit.
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

  // True once everything relevant is known and the fabric was brought to it and audited.
  bool ready() const { return ready_; }
  Task<Result<>> wait_ready();

  // Why the API does not take this node for one of its own; empty: it does, as far as is known.
  const std::string& refusal() const { return heartbeat_.refusal(); }
  // Watches that do not get through at present: all of them while the node is refused.
  std::size_t failing_watches() const {
    return refusal().empty() ? informers_.failing() : informers_.count();
  }

  // Attachments of others that no tunnel leads to from here, a line for each.
  std::vector<std::string> unreachable() const;

  const NetworkView& view() const { return view_; }
  const Informers& informers() const { return informers_; }

 private:
  // One of this node's own, from when it is first seen until nothing of it is left.
  struct Own {
    Attachment attachment;  // as seen last
    HostStatus known;       // what its status says, as far as we know
    std::uint64_t known_version = 0;
    std::optional<fabric::Station> made;  // what the fabric carries for it
    std::string error;                    // what the fabric said last
    std::shared_ptr<const resource::ExecReport> report;
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
  // What an informer's word at `version` means for the fabric and the informers.
  void follow_view(std::uint64_t version);
  void follow_relevance(std::uint64_t version);
  void leave(const Network& network, std::uint64_t version);
  void note_change_of_own(const Attachment& attachment);
  // Those of them that the fabric has, or may have.
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
  bool clean_ = false;  // nothing of before is left in the fabric
  runtime::Signal ready_signal_;
  StatusWriter statuses_;
  Hooks hooks_;
  Carrier carrier_;
  NodeReport node_report_;
  Heartbeat heartbeat_;
  Informers informers_;
};

}  // namespace fairlead::agent
