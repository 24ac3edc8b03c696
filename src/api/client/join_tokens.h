// Join tokens, made, listed and deleted over the API by an administrator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "api/identity/token.h"

namespace fairlead::client {

struct NewJoinToken {
  std::optional<Duration> life;  // none: without end
  std::string node;              // the only one that may join with it; empty: any
  std::string description;
  bool replaces_nodes = false;  // may take over the name of a node with another key
};

// `ca`: the authority of the cluster, PEM, whose key the token pins. Removes tokens that have
// expired, too.
Task<Result<identity::JoinToken>> create_join_token(RestClient& api, std::string ca,
                                                    NewJoinToken wanted);
Task<Result<std::vector<identity::JoinTokenRecord>>> list_join_tokens(RestClient& api);
// Fails with not_found, naming the token.
Task<Result<>> remove_join_token(RestClient& api, std::string id);

}  // namespace fairlead::client
