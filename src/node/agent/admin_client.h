// Questions to a running agent through its admin socket.
#pragma once

#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "node/agent/explanation.h"

namespace fairlead::agent {

// The sockets of agents on this host that use the default place, whether or not anybody listens.
// Fails with forbidden if this user may not look.
Result<std::vector<std::string>> default_admin_sockets(runtime::Files& files);

// GET /why/KIND/OBJECT. Fails with not_found if that agent knows nothing of it, with invalid if
// `object` cannot be the name of one, with forbidden if this user may not ask it, and with
// unavailable if nobody answers.
Task<Result<Explanation>> ask_why(runtime::Runtime& runtime, std::string socket, std::string kind,
                                  std::string object);

}  // namespace fairlead::agent
