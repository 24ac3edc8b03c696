// Impersonation: kubectl --as. What the Impersonate-* headers ask for, and which rights the caller
// must have for it, by Kubernetes' rules. Pure; the API server asks its authorizer for each right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/identity/authenticator.h"
#include "api/identity/authorizer.h"
#include "api/identity/user.h"
#include "foundation/base/result.h"

namespace fairlead::identity {

// The verb "impersonate" on one of these:
//   users, groups                       core group, by name
//   serviceaccounts                     core group, by namespace and name, for a user
//                                       system:serviceaccount:NAMESPACE:NAME
//   uids, userextras/KEY                authentication.k8s.io, by value
struct ImpersonationRight {
  std::string group;
  std::string resource;
  std::string subresource;
  std::string namespace_name;
  std::string name;

  // Views into this and `caller`.
  Attributes attributes(const User& caller) const;
  bool operator==(const ImpersonationRight&) const = default;
};

struct Impersonation {
  User user;  // as the request goes on, with the groups that such a user has by itself
  std::vector<ImpersonationRight> rights;  // every one is needed
};

// Nothing without such headers. Fails with invalid for a group, uid or extra without a user.
Result<std::optional<Impersonation>> requested_impersonation(HeaderFields headers);

// Whether a header belongs to it.
bool is_impersonation_header(std::string_view name);

}  // namespace fairlead::identity
