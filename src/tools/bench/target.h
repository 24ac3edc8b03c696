// The API under load, from a kubeconfig: where it is, how to prove who one is.
#pragma once

#include <memory>
#include <string>

#include "api/identity/kubeconfig.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::bench {

struct Target {
  identity::ClientConfig config;
  runtime::Endpoint endpoint;
  bool tls = true;
  std::string authority;
  std::string base_path;      // before every path; usually empty
  std::string authorization;  // "Bearer …"; empty with a client certificate alone

  // What to show and demand in handshakes, offering only `alpn`. Null when plain.
  std::shared_ptr<const runtime::TlsCredentials> credentials(std::string alpn) const;
};

// Reads the file at `path`. Fails with what is wrong in it.
Result<Target> load_target(runtime::Files& files, const std::string& path);

}  // namespace fairlead::bench
