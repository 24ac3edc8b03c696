// AddressInterlock: addresses and MACs are what the server gave, whoever writes the status.
//
// A node writes the status of its attachments. If it could write addresses, it could claim those of
// other nodes' attachments, which nobody would then carry. What it says of them is put back; the
// rest of the write counts.
#pragma once

#include "apiserver/object_writer.h"
#include "ipam/network_index.h"
#include "runtime/runtime.h"

namespace fairlead::ipam {

class AddressInterlock final : public apiserver::Admission {
 public:
  AddressInterlock(runtime::Runtime& runtime, const NetworkIndex& index)
      : runtime_(runtime), index_(index) {}
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  runtime::Runtime& runtime_;
  const NetworkIndex& index_;
};

}  // namespace fairlead::ipam
