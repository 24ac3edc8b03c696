// NodeLifecycle: notices when a node's agent falls silent, and when it is back.
//
// An agent renews its Lease in kube-node-lease every ten seconds, as kubelets do; behind a host
// cluster, where Leases and Nodes are the host's, it renews its report: the object that a kind of a
// feature has for that (resource::NodeAccess::Liveness). An agent that does not renew for the grace
// period is marked silent: in its report, which features follow, and, if this server stores Nodes,
// in the Node's condition Ready.
//
// Runs in every server. A server that could not see renewals (it was stopped, its store did not
// answer) marks no agent silent. Neither is an agent marked that never renewed anything, because it
// is of an older version.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "api/control/work_queue.h"
#include "api/controllers/heartbeats.h"
#include "api/resource/catalog.h"
#include "api/resource/condition.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::controllers {

struct NodeLifecycleOptions {
  Duration grace = 40s;
};

// What the condition Ready of a Node says.
struct NodeVerdict {
  enum class State { never_heard, alive, silent };
  State state = State::alive;
  std::string silent_since;  // RFC 3339
};
// Pure.
resource::Condition node_ready(std::string_view node, const NodeVerdict& verdict);

class NodeLifecycle {
 public:
  NodeLifecycle(runtime::Runtime& runtime, const resource::Catalog& catalog,
                watchcache::WatchCache& cache, apiserver::ObjectWriter& writer,
                control::EventRecorder& events, metrics::Registry& metrics,
                NodeLifecycleOptions options = {},
                std::optional<control::WorkQueueMetrics> queue_metrics = {});

  // Until cancelled.
  Task<void> run();

 private:
  void notice(const resource::Kind& kind, const watchcache::Event& event);
  void heard(const std::string& node);
  void rebuild();
  watchcache::ObjectRef report_of(const std::string& node) const;
  bool is_marked(const watchcache::Object& report) const;
  std::size_t marked() const;
  NodeVerdict verdict(const std::string& node) const;
  // When it was last heard, by its own clock.
  std::string last_heard(const std::string& node) const;
  // The clock is looked at eight times in the time of grace.
  Duration look_interval() const { return options_.grace / 8; }
  Task<void> look_at_clock();
  Task<Result<>> reconcile(std::string node);
  Task<Result<>> mark_report(const watchcache::Object& report, NodeVerdict verdict);
  Task<Result<>> mark_node(const watchcache::Object& node, NodeVerdict verdict);
  void tell(const std::string& node, const resource::Condition& ready);

  runtime::Runtime& runtime_;
  const resource::Kind* nodes_;    // null: the host's
  const resource::Kind* leases_;   // null: the host's
  const resource::Kind* reports_;  // null: no kind has them
  const resource::NodeAccess::Liveness liveness_;
  std::size_t silent_field_ = 0;  // places in kind.selectable
  std::size_t renew_field_ = 0;
  watchcache::WatchCache& cache_;
  apiserver::ObjectWriter& writer_;
  control::EventRecorder& events_;
  NodeLifecycleOptions options_;
  Heartbeats heartbeats_;  // of those that ever renewed
  Heartbeats newcomers_;   // Nodes of which nothing was heard yet
  Instant last_look_{};
  control::WorkQueue<std::string> queue_;
};

}  // namespace fairlead::controllers
