// An agent's way to its API: where the servers are and how it shows who it is, read from the files
// of `fairlead join` or from a kubeconfig, and kept current while it runs.
#pragma once

#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "api/identity/kubeconfig.h"
#include "foundation/runtime/runtime.h"
#include "node/agent/checklist.h"

namespace fairlead::agent {

// At most one of them is set; without any the agent has no API.
struct CredentialFiles {
  std::string kubeconfig;
  std::string join_dir;

  bool empty() const { return kubeconfig.empty() && join_dir.empty(); }
};

struct ApiAccess {
  identity::ClientConfig config;
  std::vector<runtime::Endpoint> further_servers;
  std::string joined_as;  // the node that the join folder is of; empty with a kubeconfig
};

// REQUIRES: !from.empty(). Errors name the file.
Result<ApiAccess> read_access(runtime::Files& files, const CredentialFiles& from);

// For `fairlead agent --check`: can they be read, and is the certificate valid now? Changes
// nothing. REQUIRES: !from.empty().
void check_credentials(runtime::Files& files, const CredentialFiles& from, WallTime now,
                       Checklist& checks);

// Until cancelled: every hour the certificate in the join folder is renewed if that is due, and the
// files are read again in any case, because somebody else may renew those of a kubeconfig.
Task<void> keep_credentials(runtime::Runtime& runtime, client::RestClient& client,
                            CredentialFiles from);

}  // namespace fairlead::agent
