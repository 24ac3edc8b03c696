// Questions to a running agent through its admin socket.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "node/agent/explanation.h"

namespace fairlead::agent {

// The sockets of agents on this host that use the default place, whether or not anybody listens.
// Fails with forbidden if this user may not look.
Result<std::vector<std::string>> default_admin_sockets(runtime::Files& files);

// A page of the admin socket, or, with a body, something to be done (POST). Fails with what the
// agent answered (invalid, not_found, unavailable), with forbidden if this user may not ask it, and
// with unavailable if nobody answers.
Task<Result<std::string>> ask_agent(runtime::Runtime& runtime, std::string socket, std::string path,
                                    std::optional<std::string> body = {});

// The socket to ask: the one that was named, else the only one in the default place. Fails, naming
// what to give, if there are several or none.
Result<std::string> choose_admin_socket(runtime::Files& files, const std::string& named);

// GET /why/KIND/OBJECT. Fails with not_found if that agent knows nothing of it, with invalid if
// `object` cannot be the name of one, with forbidden if this user may not ask it, and with
// unavailable if nobody answers.
Task<Result<Explanation>> ask_why(runtime::Runtime& runtime, std::string socket, std::string kind,
                                  std::string object);

}  // namespace fairlead::agent
