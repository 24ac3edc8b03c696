// User: who a request comes from, and which of Fairlead's few roles that gives.
//
// Made by an Authenticator, judged by an Authorizer, written to the audit log. Shared and
// immutable: one User serves every request of a connection or token.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::identity {

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool in_group(std::string_view group) const;
  bool operator==(const User&) const = default;
};
using UserRef = std::shared_ptr<const User>;

// Names that Kubernetes gives a meaning.
inline constexpr std::string_view kAnonymousUser = "system:anonymous";
inline constexpr std::string_view kMastersGroup = "system:masters";
inline constexpr std::string_view kAuthenticatedGroup = "system:authenticated";
inline constexpr std::string_view kUnauthenticatedGroup = "system:unauthenticated";
inline constexpr std::string_view kNodesGroup = "system:nodes";
inline constexpr std::string_view kNodeUserPrefix = "system:node:";
// Groups of Fairlead's own, for certificates (O=) and token files.
inline constexpr std::string_view kAdminsGroup = "fairlead:admins";
inline constexpr std::string_view kViewersGroup = "fairlead:viewers";
inline constexpr std::string_view kControllersGroup = "fairlead:controllers";
// The user of DIR/admin.token and DIR/admin.kubeconfig.
inline constexpr std::string_view kAdminUser = "fairlead:admin";

// A user may have several roles; what any of them allows is allowed.
struct Roles {
  bool admin = false;       // system:masters or fairlead:admins
  bool viewer = false;      // fairlead:viewers
  bool controller = false;  // fairlead:controllers
  std::string_view node;  // of system:node:<name> in group system:nodes; empty: not a node. A view
                          // into the user's name.
  bool authenticated = false;
};
Roles roles_of(const User& user);

// The identity that a node's certificate carries.
User node_user(std::string_view node_name);
// The node that `user` speaks for; empty unless both the name and the group say so.
std::string_view node_of(const User& user);
// A DNS-1123 subdomain of at most 253 bytes: what may stand after "system:node:".
bool is_node_name(std::string_view text);

UserRef anonymous_user();

}  // namespace fairlead::identity
