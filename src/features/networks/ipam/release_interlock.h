// ReleaseInterlock: the admission that releases an attachment's addresses in the transaction that
// deletes the NetworkAttachment.
//
// A released lock stays, and its address stays taken, until every node that may carry the virtual
// network has reported that it dropped the attachment (QuarantineKeeper). The lock's revision is
// the moment of release, because both are one commit.
#pragma once

#include "api/apiserver/object_writer.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class ReleaseInterlock final : public apiserver::Admission {
 public:
  ReleaseInterlock(runtime::Runtime& runtime, const NetworkState& networks)
      : runtime_(runtime), networks_(networks) {}
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  apiserver::Answer<> refuse_if_held(const Proposal& proposal, const LockFacts& lock) const;
  apiserver::Answer<> admit_lock(const Proposal& proposal, store::Transaction& transaction) const;

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
};

}  // namespace fairlead::ipam
