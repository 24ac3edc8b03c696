#include "api/identity/impersonation.h"

#include <algorithm>
#include <utility>

#include "api/identity/header_text.h"

namespace fairlead::identity {
namespace {

constexpr std::string_view kPrefix = "Impersonate-";
constexpr std::string_view kExtraPrefix = "Impersonate-Extra-";
constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kServiceAccountsGroup = "system:serviceaccounts";

// What the headers say, without what follows from it.
User said(HeaderFields headers) {
  User user;
  for (const auto& [field, value] : headers) {
    if (!is_impersonation_header(field) || value.empty()) continue;
    if (same_header(field, "Impersonate-User")) {
      if (user.name.empty()) user.name = value;
    } else if (same_header(field, "Impersonate-Group")) {
      user.groups.push_back(value);
    } else if (same_header(field, "Impersonate-Uid")) {
      if (user.uid.empty()) user.uid = value;
    } else if (header_begins(field, kExtraPrefix) && field.size() > kExtraPrefix.size()) {
      user.extra[extra_key(std::string_view(field).substr(kExtraPrefix.size()))].push_back(value);
    }
  }
  return user;
}

struct ServiceAccount {
  std::string namespace_name;
  std::string name;
};

std::optional<ServiceAccount> service_account(std::string_view user) {
  if (!user.starts_with(kServiceAccountPrefix)) return std::nullopt;
  const std::string_view rest = user.substr(kServiceAccountPrefix.size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size() ||
      rest.find(':', colon + 1) != std::string_view::npos)
    return std::nullopt;
  return ServiceAccount{std::string(rest.substr(0, colon)), std::string(rest.substr(colon + 1))};
}

std::vector<ImpersonationRight> rights_for(const User& user,
                                           const std::optional<ServiceAccount>& account) {
  std::vector<ImpersonationRight> rights;
  if (account) {
    rights.push_back({.group = {},
                      .resource = "serviceaccounts",
                      .subresource = {},
                      .namespace_name = account->namespace_name,
                      .name = account->name});
  } else {
    rights.push_back({{}, "users", {}, {}, user.name});
  }
  for (const std::string& group : user.groups) rights.push_back({{}, "groups", {}, {}, group});
  for (const auto& [key, values] : user.extra)
    for (const std::string& value : values)
      rights.push_back({std::string(kAuthenticationGroup), "userextras", key, {}, value});
  if (!user.uid.empty())
    rights.push_back({std::string(kAuthenticationGroup), "uids", {}, {}, user.uid});
  return rights;
}

}  // namespace

bool is_impersonation_header(std::string_view name) { return header_begins(name, kPrefix); }

Attributes ImpersonationRight::attributes(const User& caller) const {
  return {.user = &caller,
          .verb = "impersonate",
          .is_resource = true,
          .group = group,
          .version = "v1",
          .resource = resource,
          .subresource = subresource,
          .namespace_ = namespace_name,
          .name = name,
          .path = {},
          .field_selector = {}};
}

Result<std::optional<Impersonation>> requested_impersonation(HeaderFields headers) {
  User user = said(headers);
  if (user.name.empty()) {
    if (user.groups.empty() && user.uid.empty() && user.extra.empty()) return std::nullopt;
    return fail(Code::invalid, "groups, uid or extras to impersonate, but no Impersonate-User");
  }
  const std::optional<ServiceAccount> account = service_account(user.name);
  std::vector<ImpersonationRight> rights = rights_for(user, account);
  // The groups of a service account follow from its name.
  if (account && user.groups.empty()) {
    user.groups.emplace_back(kServiceAccountsGroup);
    user.groups.push_back(std::string(kServiceAccountsGroup) + ":" + account->namespace_name);
  }
  if (user.name == kAnonymousUser && !user.in_group(kUnauthenticatedGroup))
    user.groups.emplace_back(kUnauthenticatedGroup);
  return Impersonation{with_authenticated_group(std::move(user)), std::move(rights)};
}

}  // namespace fairlead::identity
