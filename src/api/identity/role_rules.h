// The rights of the built-in roles as a table: what RoleAuthorizer decides by and what rules_for()
// lists.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/identity/user.h"

namespace fairlead::identity {

// Verbs as bits, so that a rule names several.
using Verbs = std::uint32_t;
enum : Verbs {
  kGet = 1,
  kList = 2,
  kWatch = 4,
  kCreate = 8,
  kUpdate = 16,
  kPatch = 32,
  kDelete = 64,
  kDeleteCollection = 128,
  kOtherVerb = 256,  // impersonate and whatever else: admins only
};
inline constexpr Verbs kRead = kGet | kList | kWatch;
inline constexpr Verbs kModify = kUpdate | kPatch;
inline constexpr Verbs kWrite = kCreate | kModify | kDelete | kDeleteCollection;

Verbs verb_bit(std::string_view verb);
std::vector<std::string> verb_names(Verbs verbs);

enum class Grantee { authenticated, viewer, controller, node };

// What must hold beyond the match; all but `always` are the node role's.
enum class Condition {
  always,
  own_name,             // the object is named after the node
  own_lease,            // the same, in a node-lease namespace
  relevant_attachment,  // it runs on the node or shares a virtual network with it
  own_attachment,       // it runs on the node
};

struct RoleRule {
  Grantee grantee;
  Verbs verbs;
  std::string_view group;        // "*": any
  std::string_view resource;     // "*": any but secrets
  std::string_view subresource;  // "*": any or none; "": none
  Condition condition = Condition::always;
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
