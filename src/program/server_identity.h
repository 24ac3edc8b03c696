// The server's identity: its certificate authority, the admin's token and kubeconfig, and the
// authenticators, all from the data folder and the flags.
#pragma once

#include <memory>
#include <string>

#include "api/identity/authenticator.h"
#include "api/identity/authority.h"
#include "foundation/runtime/runtime.h"
#include "program/server_config.h"

namespace fairlead::program {

// Each is asked after this server's own of the same kind; null: there is none.
struct FurtherAuthenticators {
  std::shared_ptr<identity::Authenticator> request_headers;
  std::shared_ptr<identity::Authenticator> certificates;
  std::shared_ptr<identity::Authenticator> tokens;
};

class ServerIdentity {
 public:
  // Loads or makes everything. `node_registered`: see identity::X509Authenticator.
  static Result<std::unique_ptr<ServerIdentity>> open(
      runtime::Runtime& runtime, const ServerConfig& config,
      identity::X509Authenticator::NodeRegistered node_registered, FurtherAuthenticators further);

  identity::Authority& authority() { return *authority_; }
  identity::Authenticator& authenticator() { return *authenticator_; }

  // PEM of further authorities: from now on handshakes ask for client certificates of theirs too.
  void set_further_authorities(const std::string& pem);

  // DIR/admin.kubeconfig for the address that is really listened on.
  Result<> write_kubeconfig(const std::string& server_url);

  // Renews and reloads certificates; about once a minute, until cancelled.
  Task<void> maintain();

 private:
  ServerIdentity(runtime::Runtime& runtime, std::string folder);
  Result<> open_authority(const ServerConfig& config);
  Result<> open_admin_token();
  Result<> make_authenticator(const ServerConfig& config,
                              identity::X509Authenticator::NodeRegistered node_registered,
                              FurtherAuthenticators further);
  Task<void> maintain_once();
  Result<std::string> read_flag_file(const std::string& path, std::string_view flag);

  runtime::Runtime& runtime_;
  std::string folder_;
  std::string client_authorities_;  // of the flags, PEM
  std::unique_ptr<identity::Authority> authority_;
  std::string admin_token_;
  std::unique_ptr<identity::Authenticator> authenticator_;
};

}  // namespace fairlead::program
