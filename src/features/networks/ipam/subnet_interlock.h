// SubnetInterlock: the admission that decides, in the transaction that creates or deletes a Subnet,
// which Subnets of its virtual network are valid. Every such transaction compares and writes the
// guard of the VNI, so that two at once are decided one after the other, on any number of servers.
//
// A Subnet that conflicts is accepted, and its status names the Subnet it conflicts with. When that
// one is deleted, the same transaction validates the Subnet of its namespace that waited longest.
// Subnets of other namespaces follow once the old namespace has no address left in the network.
// Nobody else writes a Subnet's status.
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
