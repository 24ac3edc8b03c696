// The condition Ready of a NetworkAttachment: what it is, decided on the rest of its status and on
// what is known of its node. Pure.
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
    silent,   // it has not been heard for a while
    unknown,  // no agent has reported from there, or its Node was deleted
  };
  State state = State::present;
  std::string silent_since;  // RFC 3339
};

// The first thing that is missing, in the order in which an attachment comes into being.
resource::Condition ready_condition(const Json& attachment, const AgentWord& agent);

// What `attachment`, as it is stored, says of its agent. A look at the text: it must cost next to
// nothing, and may err where a user's own text contains the words.
AgentWord::State told_state(std::string_view stored);
// Whether it says anything of being ready; it does not if an older server wrote it.
bool tells_readiness(std::string_view stored);

}  // namespace fairlead::ipam
