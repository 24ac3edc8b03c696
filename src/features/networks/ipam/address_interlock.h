// AddressInterlock: the admission that assigns addresses in the transaction that creates a
// NetworkAttachment, with their locks. So most attachments have their addresses in the answer to
// their creation, for the price of one write, one watch event and one commit.
//
// What cannot be assigned at once is left to AddressController: the Subnet does not exist yet, it
// is full, the fixed address is taken, or other attachments already wait.
#pragma once

#include "api/apiserver/object_writer.h"
#include "features/networks/ipam/address_controller.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class AddressInterlock final : public apiserver::Admission {
 public:
  AddressInterlock(runtime::Runtime& runtime, const NetworkState& networks,
                   AddressController& addresses)
      : runtime_(runtime), networks_(networks), addresses_(addresses) {}
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  class Reservation;
  void give(const Proposal& proposal, store::Transaction& transaction);
  void keep_what_was_given(const Proposal& proposal) const;
  void add_lock(Assignment& assignment, bool v4, store::Transaction& transaction) const;
  void compare_subnet(const Assignment& assignment, store::Transaction& transaction) const;

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  AddressController& addresses_;
};

}  // namespace fairlead::ipam
