// QuarantineKeeper: frees a released address once nobody can send to it any more.
//
// A released IPLock names the nodes it waits for. A NodeReport says up to which resourceVersion its
// node has applied the removals of each virtual network. A node has dropped the address when it has
// reported the release or a later version, when it has left the network (it has no attachment there
// and has reported the removal of its last one), or when its NodeReport is deleted. When all nodes
// have, the lock is deleted. An administrator can force that by removing the finalizer.
//
// A node removes its entry for a network a minute after leaving it. A lock that waits for long is
// therefore rewritten at intervals without the nodes that have dropped the address.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/control/work_queue.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class QuarantineKeeper {
 public:
  QuarantineKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                   apiserver::ObjectWriter& writer,
                   std::optional<control::WorkQueueMetrics> queue_metrics = {});

  // Until cancelled.
  Task<void> run();

  // The nodes that released addresses may wait for: those with a NodeReport.
  std::vector<std::string> reporting_nodes() const;
  // The node was deleted: deletes its NodeReport, so that no lock waits for it any more.
  Task<Result<>> forget_node(std::string node);

 private:
  struct Applied {
    store::Place own{};  // of its own attachments
    std::map<Vni, store::Place> networks;
    store::Place elsewhere{};  // in those not named above
    bool operator==(const Applied&) const = default;
    // The version reported for a network, and whether the network has an entry of its own.
    std::pair<store::Place, bool> at(Vni vni) const {
      const auto found = networks.find(vni);
      return found == networks.end() ? std::pair(elsewhere, false) : std::pair(found->second, true);
    }
  };
  static Applied applied_by(const watchcache::Object& report);
  void notice_report(const watchcache::Event& event);
  void rebuild();
  void consider(const LockFacts& lock);
  bool over(const LockFacts& lock) const;
  bool dropped(const std::string& node, const LockFacts& lock) const;
  void note_latecomers(const LockFacts& lock);
  const std::set<std::string>& latecomers(const LockFacts& lock) const;
  bool waits_for_fewer(const LockFacts& lock) const;
  bool concerns(const LockFacts& lock, const std::string& node) const;
  std::set<std::string> still_awaited(const LockFacts& lock) const;
  Task<Result<>> let_go(std::string lock_key);
  Task<Result<>> wait_for_fewer(std::string lock_key);
  Task<void> shorten_lists();

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  apiserver::ObjectWriter& writer_;
  std::map<std::string, Applied, std::less<>> applied_;  // by node
  // By key of a released lock: nodes that came into the network after its list was decided and
  // before it was released.
  std::map<std::string, std::set<std::string>> latecomers_;
  control::WorkQueue<std::string> queue_;  // locks whose quarantine is over
};

}  // namespace fairlead::ipam
