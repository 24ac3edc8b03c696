// How commands on the server's own machine reach the running server: with DIR/admin.kubeconfig.
#pragma once

#include <string>

#include "api/identity/kubeconfig.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::client {

// Fails naming the file, and what to do when there is none.
Result<identity::ClientConfig> read_admin_kubeconfig(runtime::Runtime& runtime,
                                                     const std::string& folder);

}  // namespace fairlead::client
