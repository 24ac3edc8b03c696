#pragma once

#include <string>

#include "api/identity/kubeconfig.h"

namespace fairlead::identity {

// The configuration of the current context in the kubeconfig at `path`. Relative paths in it are
// relative to its folder. Errors in its content do not name the file: callers name their flag.
Result<ClientConfig> read_kubeconfig(const std::string& path, const ReadFile& read);

}  // namespace fairlead::identity
