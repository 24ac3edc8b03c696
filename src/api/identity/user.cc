#include "api/identity/user.h"

#include <algorithm>

namespace fairlead::identity {

bool User::in_group(std::string_view group) const {
  return std::ranges::find(groups, group) != groups.end();
}

Roles roles_of(const User& user) {
  Roles roles;
  for (const std::string& group : user.groups) {
    if (group == kMastersGroup || group == kAdminsGroup) roles.admin = true;
    if (group == kViewersGroup) roles.viewer = true;
    if (group == kControllersGroup) roles.controller = true;
    if (group == kAuthenticatedGroup) roles.authenticated = true;
  }
  roles.node = node_of(user);
  return roles;
}

User node_user(std::string_view node_name) {
  return {.name = std::string(kNodeUserPrefix).append(node_name),
          .uid = {},
          .groups = {std::string(kNodesGroup), std::string(kAuthenticatedGroup)},
          .extra = {}};
}

std::string_view node_of(const User& user) {
  const std::string_view name = user.name;
  if (!name.starts_with(kNodeUserPrefix) || !user.in_group(kNodesGroup)) return {};
  return name.substr(kNodeUserPrefix.size());
}

bool is_node_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  char before = '.';
  for (const char c : text) {
    if (c == '.') {
      if (!alphanumeric(before)) return false;
    } else if (c == '-') {
      if (before == '.') return false;
    } else if (!alphanumeric(c)) {
      return false;
    }
    before = c;
  }
  return alphanumeric(before);
}

UserRef anonymous_user() {
  static const UserRef user = std::make_shared<const User>(User{
      .name = std::string(kAnonymousUser),
      .uid = {},
      .groups = {std::string(kUnauthenticatedGroup)},
      .extra = {},
  });
  return user;
}

}  // namespace fairlead::identity
