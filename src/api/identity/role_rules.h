// The rights of the built-in roles as a table: what RoleAuthorizer decides by and what rules_for()
// lists. Those of nodes are not here: each kind says them (resource::NodeAccess, node_role.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity/user.h"
#include "api/resource/verbs.h"

namespace fairlead::identity {

using resource::Verbs;

Verbs verb_bit(std::string_view verb);
std::vector<std::string> verb_names(Verbs verbs);

enum class Grantee { authenticated, viewer, controller };

struct RoleRule {
  Grantee grantee;
  Verbs verbs;
  std::string_view group;        // "*": any
  std::string_view resource;     // "*": any but secrets
  std::string_view subresource;  // "*": any or none; "": none
};
std::span<const RoleRule> role_rules();

struct PathGrant {
  enum class To { everyone, authenticated, observers };  // observers: viewer and controller
  To to;
  std::string_view verb;  // "get" includes head
  std::string_view path;  // a trailing * stands for anything
};
std::span<const PathGrant> path_grants();

bool grants(Grantee grantee, const Roles& roles);
bool grants(PathGrant::To to, const Roles& roles);
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace fairlead::identity
