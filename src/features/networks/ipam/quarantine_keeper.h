// QuarantineKeeper: frees a released address once nobody can send to it any more.
//
// A released IPLock names the nodes it waits for. A node tells in its NodeReport the
// resourceVersion up to which it has applied the removals of each virtual network. It has dropped
// the address when it reported the release or a later moment, when it left the network (it has no
// attachment there and reported the removal of its last one), or when its NodeReport is gone. When
// all have, the lock is let go. An administrator can force it by taking the finalizer away.
//
// Nodes take a report back a minute after they left a network. A lock that waits for long is
// therefore written again, now and then, without those that have dropped the address.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/client/work_queue.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class QuarantineKeeper {
 public:
  QuarantineKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                   apiserver::ObjectWriter& writer,
                   std::optional<client::WorkQueueMetrics> queue_metrics = {});

  // Until cancelled.
  Task<void> run();

  // The nodes that released addresses may wait for: those with a NodeReport.
  std::vector<std::string> reporting_nodes() const;
  // The node is gone for good: its NodeReport goes, and nothing waits for it any more.
  Task<Result<>> forget_node(std::string node);

 private:
  struct Applied {
    store::Place own{};  // of its own attachments
    std::map<Vni, store::Place> networks;
    store::Place elsewhere{};  // in those not named above
    bool operator==(const Applied&) const = default;
    // What it says of a network, and whether by name.
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
  Task<apiserver::Answer<>> let_go(std::string lock_key);
  Task<apiserver::Answer<>> wait_for_fewer(std::string lock_key);
  Task<void> work();
  Task<void> shorten_lists();

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  apiserver::ObjectWriter& writer_;
  std::map<std::string, Applied, std::less<>> applied_;  // by node
  // By key of a released lock: nodes that came into the network after its list was decided and
  // before it was released.
  std::map<std::string, std::set<std::string>> latecomers_;
  client::WorkQueue<std::string> queue_;  // locks whose quarantine is over
};

}  // namespace fairlead::ipam
