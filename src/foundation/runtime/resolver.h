// Names to addresses, through getaddrinfo on a blocking thread. An endpoint that already is an
// address never leaves the loop.
#pragma once

#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/socket_address.h"

namespace fairlead::runtime {

// In the order the system prefers them; never empty. Fails with unavailable.
Task<Result<std::vector<SocketAddress>>> resolve(Runtime& runtime, Endpoint endpoint);

// The same, blocking: for listening, at start-up.
Result<std::vector<SocketAddress>> resolve_now(const Endpoint& endpoint);

}  // namespace fairlead::runtime
