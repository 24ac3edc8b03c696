// NetworksNode: a node's part of virtual networks, a NodeFeature. Watches the attachments that
// concern the node, has the fabric carry them, runs their hooks and writes the status of the node's
// own attachments.
//
//   Informers ─→ NetworkView ─→ Carrier ─→ Fabric
//                                  │ outcomes
//               StatusWriter ←─ NetworksNode ─→ Hooks, AppliedVersions ─→ NodeReporter
//
// NetworkView, OwnAttachments, AppliedVersions and host_status.h decide and are pure; this class
// connects them. Everything runs on the loop of the Runtime.
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
#include "features/networks/node/applied_versions.h"
#include "features/networks/node/carrier.h"
#include "features/networks/node/hooks.h"
#include "features/networks/node/informers.h"
#include "features/networks/node/network_view.h"
#include "features/networks/node/networks_metrics.h"
#include "features/networks/node/node_reporter.h"
#include "features/networks/node/own_attachments.h"
#include "features/networks/node/status_writer.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"
#include "node/agent/node_feature.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

struct NetworksOptions {
  Ip host;  // where other nodes send the tunnelled packets for this one
  Duration audit_interval = 30s;
  HookLimits hooks;
  // Called when the fabric begins to carry an attachment, except one that was implemented before
  // its network became relevant here. For load tests.
  std::function<void(const Attachment&)> carried;
};

class NetworksNode final : public agent::NodeFeature, AttachmentEvents, Carrier::Listener {
 public:
  // Both outlive the feature, or are kept by `owned`.
  struct Parts {
    fabric::Fabric& fabric;
    runtime::Processes& processes;
    std::shared_ptr<const void> owned{};
  };
  // REQUIRES: context.api.
  NetworksNode(const agent::NodeContext& context, Parts parts, NetworksOptions options);
  ~NetworksNode() override;

  std::string_view name() const override { return "networks"; }
  Task<void> run() override;
  // Ready after the first audit with complete knowledge: the fabric carries what is desired, except
  // what it failed to make, which the statuses tell.
  agent::Readiness readiness() const override;
  // Of this node's own attachments.
  std::vector<std::string_view> kinds() const override { return {"attachment"}; }
  Result<agent::Explanation> why(std::string_view kind, std::string_view object) const override;

  // How many watches fail at present; all of them while the API refuses this node.
  std::size_t failing_watches() const {
    return heartbeat_.refusal().empty() ? informers_.failing() : informers_.count();
  }

  // Attachments on hosts whose address family differs from this host's, a line for each: no tunnel
  // leads there.
  std::vector<std::string> unreachable() const;

  agent::Summary summary() const override;
  const NetworkView& view() const { return view_; }
  const Informers& informers() const { return informers_; }

 private:
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

  void settled_own(const Carrier::Settled& settled);
  OwnAttachments::Surroundings surroundings(const OwnAttachments::Own& own) const;
  std::optional<StatusWrite> plan_status(const std::string& uid) const;
  void status_written(const Json& object);
  Task<void> follow_and_report();

  void add_metrics(metrics::Registry& registry, std::string_view fabric);

  std::shared_ptr<const void> owned_;
  fabric::Fabric& fabric_;
  agent::NodeContext context_;
  runtime::Runtime& runtime_;
  agent::Heartbeat& heartbeat_;
  NetworksMetrics metrics_;
  NetworksOptions options_;
  NetworkView view_;
  AppliedVersions applied_;
  OwnAttachments own_;
  std::uint64_t first_version_ = 0;  // of the first list of this node's own
  std::uint64_t followed_ = 0;       // the view's relevance() that the informers are at
  bool complete_ = false;
  bool ready_ = false;
  bool clean_ = false;  // an audit has removed everything undesired that earlier agents left
  runtime::Signal clean_signal_;
  StatusWriter statuses_;
  Hooks hooks_;
  Carrier carrier_;
  NodeReporter node_report_;
  Informers informers_;
};

// The feature as the agent is told of it. What `parts` refer to outlives the agent.
agent::FeaturePlan networks_feature(NetworksOptions options, NetworksNode::Parts parts);

}  // namespace fairlead::networks
