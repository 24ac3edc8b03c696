// SubnetInterlock: decides, in the very transaction that creates or deletes a Subnet, which Subnets
// of its virtual network may be used. Every such transaction compares and writes the guard of the
// VNI, so of two rivals that come at once one is decided after the other, on any number of servers.
//
// A Subnet that conflicts is accepted and told in its status who is in the way; when that one goes,
// the same transaction validates whoever of its namespace waited longest. Those of other namespaces
// follow once nothing of the old one is left in the network. Nobody else writes a Subnet's status.
#pragma once

#include "api/apiserver/object_writer.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class SubnetInterlock final : public apiserver::Admission {
 public:
  SubnetInterlock(runtime::Runtime& runtime, const NetworkState& networks)
      : runtime_(runtime), networks_(networks) {}
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  apiserver::Answer<> judge(const Proposal& proposal, store::Transaction& transaction);
  apiserver::Answer<> let_others_follow(const Proposal& proposal, store::Transaction& transaction);
  apiserver::Answer<> guard(const Proposal& proposal, Vni vni, store::Transaction& transaction);

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
};

}  // namespace fairlead::ipam
