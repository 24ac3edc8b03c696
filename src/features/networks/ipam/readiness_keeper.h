// ReadinessKeeper: updates the condition Ready of attachments when their node changes: its agent
// falls silent or is back, or its Node, and with it its NodeReport, is deleted.
//
// It runs in every server and observes reports and attachments. At every change of either, what the
// attachment says about its agent is compared with the NodeReport, so that a condition written by a
// server that was behind is found, too. The attachments of such nodes are then updated in one pass,
// in transactions of forty, one after the other, so that other requests are served even when a
// thousand nodes fall silent at once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/control/loop.h"
#include "features/networks/ipam/network_state.h"
#include "features/networks/ipam/readiness.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class ReadinessKeeper {
 public:
  ReadinessKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                  apiserver::ObjectWriter& writer,
                  std::optional<control::WorkQueueMetrics> queue_metrics = {});

  // Until cancelled.
  Task<void> run();

 private:
  void notice_report(const watchcache::Event& event);
  void notice_attachment(const watchcache::Object& attachment);
  void rebuild();
  std::vector<std::string> attachments_on(const std::set<std::string>& nodes) const;
  Task<void> update_all(control::Batch<std::string>& nodes);
  Task<Result<>> update(std::set<std::string> nodes);
  apiserver::WriteItem item_for(const std::string& key) const;

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  apiserver::ObjectWriter& writer_;
  std::size_t node_field_ = 0;  // places in kind.selectable
  std::size_t vni_field_ = 0;
  control::WorkQueue<std::string> queue_;  // nodes whose attachments are to be checked
};

}  // namespace fairlead::ipam
