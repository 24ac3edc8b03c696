#include "node/fabric/ovs/restart.h"

namespace fairlead::fabric::ovs {

RestartStep next_restart_step(const RestartView& view) {
  const bool alone = view.bridges.size() == 1 && view.bridges.front() == view.bridge;
  const bool wanted = alone && view.datapath_type != "netdev";
  // What somebody else said about bridges of others is left to whoever said it.
  if (view.waits && !wanted) return view.ours ? RestartStep::go_on : RestartStep::nothing;
  if (view.waits && view.started) return RestartStep::go_on;
  return wanted && !view.waits ? RestartStep::wait : RestartStep::nothing;
}

}  // namespace fairlead::fabric::ovs
