// Carrier: brings the fabric to what the view desires, and keeps it there.
//
// Changes are applied in batches, failures tried again after 200 ms to 30 s, and everything is
// audited now and then, and at once when the fabric says that it was disturbed. Nothing that the
// fabric has from before is removed by an audit until allow_audits(): before that, what is desired
// is not known completely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/client/work_queue.h"
#include "features/networks/agent/agent_metrics.h"
#include "features/networks/agent/network_view.h"
#include "foundation/base/string_map.h"
#include "foundation/runtime/runtime.h"
#include "node/fabric/fabric.h"

namespace fairlead::agent {

class Carrier {
 public:
  struct Settled {
    const std::string& id;
    const fabric::Station* station;  // what the fabric carries now; null: nothing
    Result<> result;
    bool made_interface = false;  // it was not there before; also if `result` is a failure
    bool first = false;           // it was not carried before
    std::uint64_t version = 0;    // up to which it was known (NetworkView::known_up_to)
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void settled(const Settled& settled) = 0;
    // An audit begins.
    virtual void auditing() = 0;
    // The fabric carries what is desired, but for what settled() told to have failed. `clean`: and
    // nothing else.
    virtual void audited(bool clean) = 0;
  };

  Carrier(runtime::Runtime& runtime, fabric::Fabric& fabric, const NetworkView& view,
          AgentMetrics& metrics, Duration audit_interval, Listener& listener);

  // What is desired of `id` may have changed.
  void changed(const std::string& id) { work_.add(id); }
  void allow_audits();

  // The station that the fabric was last told to carry; null: none.
  const fabric::Station* target(const std::string& id) const;
  // The fabric has it, or may have it.
  bool may_carry(const std::string& id) const { return carried_.contains(id); }
  std::vector<std::string> carried_in(fabric::Vni vni) const;
  std::size_t waiting() const { return work_.depth(); }

  // Until cancelled; the fabric stays as it is.
  Task<void> run();

 private:
  Task<Result<>> open();
  Task<void> apply(std::vector<std::string> ids);
  Task<void> audit();
  Task<void> audit_regularly();
  Task<void> audit_when_disturbed();
  void failed(const fabric::Outcome& outcome);
  void set_target(const std::string& id, const fabric::Station* station);
  void count();

  runtime::Runtime& runtime_;
  fabric::Fabric& fabric_;
  const NetworkView& view_;
  AgentMetrics& metrics_;
  Duration audit_interval_;
  Listener& listener_;
  client::WorkQueue<std::string> work_;  // ids; the empty one stands for an audit
  fabric::Desired target_;               // changes only between calls of the fabric
  std::size_t local_targets_ = 0;
  StringMap<fabric::Vni> carried_;
  bool audits_allowed_ = false;
};

}  // namespace fairlead::agent
