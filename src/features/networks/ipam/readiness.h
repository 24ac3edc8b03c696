// The condition Ready of a NetworkAttachment, computed from the rest of its status and from what is
// known of its node. Pure.
#pragma once

#include <string>
#include <string_view>

#include "api/resource/condition.h"
#include "api/resource/timestamp.h"
#include "foundation/wire/json.h"

namespace fairlead::ipam {

// What the server knows of the agent of an attachment's node.
struct AgentWord {
  enum class State {
    present,
    silent,   // its heartbeat is overdue
    unknown,  // no agent has reported from there, or its Node was deleted
  };
  State state = State::present;
  std::string silent_since;  // RFC 3339
};

// The first thing that is missing, in the order in which an attachment comes into being.
resource::Condition ready_condition(const Json& attachment, const AgentWord& agent);

// What the stored attachment says about its agent. A search in its text, because it must cost next
// to nothing; it may be wrong where a user's own text contains the same words.
AgentWord::State told_state(std::string_view stored);
// Whether it has the condition Ready; it does not if an older server wrote it.
bool tells_readiness(std::string_view stored);

}  // namespace fairlead::ipam
