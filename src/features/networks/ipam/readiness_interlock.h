// ReadinessInterlock: the admission that keeps the condition Ready of NetworkAttachments, in the
// same write that changes its cause (created, addressed, implemented, failed). So it costs no write
// of its own, nobody else can write it, and agents need not know of it. It also records the Events
// about an attachment on its node; agents write none.
//
// Causes that are no write of the attachment (its agent falls silent, its Node is deleted) are left
// to ReadinessKeeper.
#pragma once

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "features/networks/ipam/network_state.h"
#include "features/networks/ipam/readiness.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

// What that node's NodeReport says about its agent.
AgentWord agent_word(const NetworkState& networks, std::string_view node);

class ReadinessInterlock final : public apiserver::Admission {
 public:
  ReadinessInterlock(runtime::Runtime& runtime, const NetworkState& networks,
                     control::EventRecorder& events)
      : runtime_(runtime), networks_(networks), events_(events) {}
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  control::EventRecorder& events_;
};

}  // namespace fairlead::ipam
