// Carrier: makes the fabric carry what the view desires, and keeps it so.
//
// Changes are applied in batches; failures are retried with a back-off from 200 ms to 30 s. The
// whole fabric is audited at intervals, and at once when it reports a disturbance. No audit runs,
// and so nothing from before is removed, until allow_audits(): before that the desired state is not
// known completely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/control/work_queue.h"
#include "features/networks/node/network_view.h"
#include "features/networks/node/networks_metrics.h"
#include "foundation/base/string_map.h"
#include "foundation/runtime/runtime.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

class Carrier {
 public:
  struct Settled {
    const std::string& id;
    const fabric::Station* station;  // what the fabric carries now; null: nothing for this id
    Result<> result;
    bool made_interface = false;  // the interface is new; may be set although `result` is a failure
    bool first = false;           // the station was not carried before
    std::uint64_t version = 0;    // NetworkView::known_up_to() of the state applied
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void settled(const Settled& settled) = 0;
    // An audit begins.
    virtual void auditing() = 0;
    // An audit ended: the fabric carries what is desired, except what settled() reported as failed.
    // `clean`: and it carries nothing else.
    virtual void audited(bool clean) = 0;
  };

  Carrier(runtime::Runtime& runtime, fabric::Fabric& fabric, const NetworkView& view,
          NetworksMetrics& metrics, Duration audit_interval, Listener& listener);

  // The desired state of `id` may have changed.
  void changed(const std::string& id) { work_.add(id); }
  void allow_audits();

  // The station that the fabric was last told to carry; null: none.
  const fabric::Station* target(const std::string& id) const;
  // The fabric carries `id` or, after a failure, may carry it.
  bool may_carry(const std::string& id) const { return carried_.contains(id); }
  std::vector<std::string> carried_in(fabric::Vni vni) const;
  std::size_t waiting() const { return work_.depth(); }

  // Until cancelled, which leaves the fabric as it is.
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
  NetworksMetrics& metrics_;
  Duration audit_interval_;
  Listener& listener_;
  control::WorkQueue<std::string> work_;  // ids; the empty one stands for an audit
  fabric::Desired target_;                // changes only between calls of the fabric
  std::size_t local_targets_ = 0;
  StringMap<fabric::Vni> carried_;
  bool audits_allowed_ = false;
};

}  // namespace fairlead::networks
