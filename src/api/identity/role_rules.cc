#include "api/identity/role_rules.h"

#include <array>
#include <utility>

#include "api/identity/join.h"
#include "api/resource/fairlead_group.h"

namespace fairlead::identity {

using namespace resource;  // the verbs

namespace {

constexpr std::array<std::pair<std::string_view, Verbs>, 8> kVerbNames{{
    {"get", kGet},
    {"list", kList},
    {"watch", kWatch},
    {"create", kCreate},
    {"update", kUpdate},
    {"patch", kPatch},
    {"delete", kDelete},
    {"deletecollection", kDeleteCollection},
}};

using enum Grantee;

constexpr RoleRule kRoleRules[] = {
    // Anyone who proved who they are may ask what they may do. A transaction is judged by its
    // parts.
    {authenticated, kCreate, "authorization.k8s.io", "selfsubjectaccessreviews", ""},
    {authenticated, kCreate, "authorization.k8s.io", "selfsubjectrulesreviews", ""},
    {authenticated, kCreate, "authentication.k8s.io", "selfsubjectreviews", ""},
    {authenticated, kCreate, kFairleadGroup, "transactions", ""},

    {viewer, kRead, "*", "*", "*"},

    {controller, kRead, "*", "*", "*"},
    {controller, kWrite, kFairleadGroup, "*", "*"},
    {controller, kModify, "", "services", "status"},
    {controller, kModify, "", "nodes", "status"},
    {controller, kWrite, "coordination.k8s.io", "leases", ""},
    {controller, kCreate | kModify, "", "events", ""},
    {controller, kCreate | kModify, "events.k8s.io", "events", ""},
};

using To = PathGrant::To;
constexpr PathGrant kPathGrants[] = {
    {To::everyone, "get", "/healthz"},        {To::everyone, "get", "/healthz/*"},
    {To::everyone, "get", "/livez"},          {To::everyone, "get", "/livez/*"},
    {To::everyone, "get", "/readyz"},         {To::everyone, "get", "/readyz/*"},
    {To::everyone, "get", "/version"},        {To::everyone, "get", "/version/"},
    {To::everyone, "get", kJoinCaPath},       {To::everyone, "post", kJoinPath},
    {To::authenticated, "get", "/"},          {To::authenticated, "get", "/api"},
    {To::authenticated, "get", "/api/*"},     {To::authenticated, "get", "/apis"},
    {To::authenticated, "get", "/apis/*"},    {To::authenticated, "get", "/openapi"},
    {To::authenticated, "get", "/openapi/*"}, {To::observers, "get", "/metrics"},
};

}  // namespace

Verbs verb_bit(std::string_view verb) {
  for (const auto& [name, bit] : kVerbNames)
    if (name == verb) return bit;
  return kOtherVerb;
}

std::vector<std::string> verb_names(Verbs verbs) {
  std::vector<std::string> names;
  for (const auto& [name, bit] : kVerbNames)
    if (verbs & bit) names.emplace_back(name);
  return names;
}

std::span<const RoleRule> role_rules() { return kRoleRules; }
std::span<const PathGrant> path_grants() { return kPathGrants; }

bool grants(Grantee grantee, const Roles& roles) {
  switch (grantee) {
    case Grantee::authenticated:
      return roles.authenticated;
    case Grantee::viewer:
      return roles.viewer;
    case Grantee::controller:
      return roles.controller;
  }
  return false;
}

bool grants(PathGrant::To to, const Roles& roles) {
  switch (to) {
    case To::everyone:
      return true;
    case To::authenticated:
      return roles.authenticated;
    case To::observers:
      return roles.viewer || roles.controller;
  }
  return false;
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.ends_with('*')) return path.starts_with(pattern.substr(0, pattern.size() - 1));
  return path == pattern;
}

}  // namespace fairlead::identity
