// How join tokens are kept: as Secrets in kube-system, so that every server of a cluster knows
// them, and an administrator can see and delete them with kubectl. They hold a digest of the token,
// never the token itself: a copy of the store is not enough to join.
#pragma once

#include <string>
#include <string_view>

#include "api/identity/token.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::identity {

inline constexpr std::string_view kJoinTokenNamespace = "kube-system";
inline constexpr std::string_view kJoinTokenType = "fairlead.dev/join-token";
std::string join_token_secret_name(std::string_view id);
Json encode_join_token_secret(const JoinTokenRecord& record);
// Fails with invalid if the Secret is not a join token.
Result<JoinTokenRecord> decode_join_token_secret(const Json& secret);

}  // namespace fairlead::identity
