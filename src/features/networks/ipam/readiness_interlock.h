// ReadinessInterlock: keeps the condition Ready of NetworkAttachments, in the very write that
// changes what it says: created, addressed, implemented, failed. So it costs no write of its own,
// nobody else can write it, and agents need not know of it. Tells as Events what became of an
// attachment on its node; agents write none.
//
// What changes without a write of the attachment (its agent falls silent, its Node is deleted) is
// ReadinessKeeper's.
#pragma once

#include "api/apiserver/object_writer.h"
#include "api/client/event_recorder.h"
#include "features/networks/ipam/network_state.h"
#include "features/networks/ipam/readiness.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

// What the NodeReport of that node says.
AgentWord agent_word(const NetworkState& networks, std::string_view node);

class ReadinessInterlock final : public apiserver::Admission {
 public:
  ReadinessInterlock(runtime::Runtime& runtime, const NetworkState& networks,
                     client::EventRecorder& events)
      : runtime_(runtime), networks_(networks), events_(events) {}
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  class Tale;

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  client::EventRecorder& events_;
};

}  // namespace fairlead::ipam
