// The URL of an API as in a kubeconfig: "https://10.0.0.1:6443/base". Pure.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::client {

struct ServerUrl {
  bool tls = true;
  runtime::Endpoint endpoint;  // with the scheme's default port if none is given
  std::string authority;       // as given; the Host of requests
  std::string path;            // prefix of every path, without a slash at its end
};

Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace fairlead::client
