// Where an API is, as a kubeconfig says it: "https://10.0.0.1:6443/base". Pure.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::client {

struct ServerUrl {
  bool tls = true;
  runtime::Endpoint endpoint;  // with the scheme's own port if none is given
  std::string authority;       // as given: what requests name
  std::string path;            // before every path; without a slash at the end
};

Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace fairlead::client
