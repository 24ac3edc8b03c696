#include "api/identity/authorizer.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "api/identity/node_role.h"
#include "api/identity/role_rules.h"
#include "api/resource/fairlead_group.h"

namespace fairlead::identity {
namespace {

using resource::Verbs;

// Kinds whose content is secret: no wildcard includes them.
bool is_secret(std::string_view group, std::string_view resource) {
  return group.empty() && resource == "secrets";
}

bool matches(const RoleRule& rule, const Attributes& wanted, Verbs verb) {
  if (!(rule.verbs & verb)) return false;
  if (rule.group != "*" && rule.group != wanted.group) return false;
  if (rule.resource == "*" ? is_secret(wanted.group, wanted.resource)
                           : rule.resource != wanted.resource)
    return false;
  return rule.subresource == "*" || rule.subresource == wanted.subresource;
}

Decision decide_path(const Attributes& wanted, const Roles& roles) {
  const std::string_view verb = wanted.verb == "head" ? "get" : wanted.verb;
  for (const PathGrant& grant : path_grants())
    if (grant.verb == verb && path_matches(grant.path, wanted.path) && grants(grant.to, roles))
      return Decision::allow();
  return Decision::deny({});
}

std::vector<std::string> texts(std::initializer_list<std::string_view> views) {
  return {views.begin(), views.end()};
}

// The wildcard of a role spelled out: group "*" means every group, but the core group without
// secrets.
std::vector<ResourceRule> list_rule(const RoleRule& rule) {
  if (rule.group == "*") {
    return {{verb_names(rule.verbs),
             texts({""}),
             texts({"configmaps", "endpoints", "events", "namespaces", "nodes", "services"}),
             {}},
            {verb_names(rule.verbs),
             texts({resource::kFairleadGroup, "coordination.k8s.io", "discovery.k8s.io",
                    "events.k8s.io", "k8s.cni.cncf.io"}),
             texts({"*"}),
             {}}};
  }
  std::string resource(rule.resource);
  if (!rule.subresource.empty() && rule.subresource != "*")
    resource.append("/").append(rule.subresource);
  return {{verb_names(rule.verbs), texts({rule.group}), {std::move(resource)}, {}}};
}

}  // namespace

Task<Result<Decision>> Authorizer::authorize(const Attributes& attributes) {
  std::optional<Result<Decision>> outcome = authorize_now(attributes);
  if (outcome) co_return std::move(*outcome);
  co_return fail(Code::internal, "authorizer gave no answer");
}

std::string forbidden_message(const Attributes& wanted, const Decision& decision) {
  const std::string user = wanted.user ? wanted.user->name : std::string(kAnonymousUser);
  std::string message;
  if (!wanted.is_resource) {
    message = "forbidden: User \"" + user + "\" cannot " + std::string(wanted.verb) + " path \"" +
              std::string(wanted.path) + "\"";
  } else {
    std::string qualified(wanted.resource);
    if (!wanted.group.empty()) qualified.append(".").append(wanted.group);
    std::string resource(wanted.resource);
    if (!wanted.subresource.empty()) resource.append("/").append(wanted.subresource);
    message = qualified;
    if (!wanted.name.empty()) message.append(" \"").append(wanted.name).append("\"");
    message += " is forbidden: User \"" + user + "\" cannot " + std::string(wanted.verb) +
               " resource \"" + resource + "\" in API group \"" + std::string(wanted.group) + "\"";
    if (wanted.namespace_.empty())
      message += " at the cluster scope";
    else
      message.append(" in the namespace \"").append(wanted.namespace_).append("\"");
  }
  if (!decision.reason.empty()) message += ": " + decision.reason;
  return message;
}

std::uint32_t shared_value(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.front() != '0' ? value : 0;
}

RoleAuthorizer::RoleAuthorizer(const resource::Catalog& catalog, const NodeFacts* facts)
    : facts_(facts) {
  for (const auto& kind : catalog.kinds())
    if (!kind->node.rights.empty()) node_kinds_.push_back(kind.get());
}

Decision RoleAuthorizer::decide(const Attributes& wanted) const {
  if (!wanted.user) return Decision::deny("no user");
  const Roles roles = roles_of(*wanted.user);
  if (roles.admin) return Decision::allow();
  if (!wanted.is_resource) return decide_path(wanted, roles);
  const Verbs verb = verb_bit(wanted.verb);
  for (const RoleRule& rule : role_rules())
    if (grants(rule.grantee, roles) && matches(rule, wanted, verb)) return Decision::allow();
  if (roles.node.empty()) return Decision::deny({});
  for (const resource::Kind* kind : node_kinds_)
    if (kind->plural == wanted.resource && kind->group == wanted.group)
      return decide_for_node(*kind, wanted, verb, roles.node, facts_);
  return Decision::deny({});
}

std::optional<Result<Decision>> RoleAuthorizer::authorize_now(const Attributes& attributes) {
  return decide(attributes);
}

std::optional<Result<Decision>> UnionAuthorizer::authorize_now(const Attributes& wanted) {
  std::optional<Result<Decision>> decision;
  for (Authorizer* member : members_) {
    decision = member->authorize_now(wanted);
    if (!decision || !*decision || (*decision)->allowed) return decision;
  }
  return decision;
}

Task<Result<Decision>> UnionAuthorizer::authorize(const Attributes& wanted) {
  std::optional<Result<Decision>> decision;
  for (Authorizer* member : members_) {
    decision = member->authorize_now(wanted);
    if (!decision) {
      Task<Result<Decision>> asking = member->authorize(wanted);
      decision.emplace(co_await asking);
    }
    if (!*decision || (*decision)->allowed) break;
  }
  co_return std::move(*decision);
}

RuleList RoleAuthorizer::rules_for(const User& user, std::string_view namespace_) const {
  const Roles roles = roles_of(user);
  RuleList list;
  if (roles.admin) {
    list.resources.push_back({{"*"}, {"*"}, {"*"}, {}});
    list.paths.push_back({{"*"}, {"*"}});
    return list;
  }
  const auto add = [&list](std::vector<ResourceRule> rules) {
    std::ranges::move(rules, std::back_inserter(list.resources));
  };
  for (const RoleRule& rule : role_rules())
    if (grants(rule.grantee, roles)) add(list_rule(rule));
  if (!roles.node.empty())
    for (const resource::Kind* kind : node_kinds_)
      add(node_rules(*kind, roles.node, namespace_, list.incomplete));
  for (const PathGrant& grant : path_grants())
    if (grants(grant.to, roles))
      list.paths.push_back({{std::string(grant.verb)}, {std::string(grant.path)}});
  return list;
}

Decision admit_write(const resource::Kind& kind, const Attributes& wanted, const Json* current,
                     const Json* desired) {
  if (!wanted.user) return Decision::deny("no user");
  const Roles roles = roles_of(*wanted.user);
  // Several roles: the others were granted the write without looking at objects.
  if (roles.node.empty() || roles.admin || roles.controller) return Decision::allow();
  return admit_node_write(kind, current, desired, roles.node);
}

}  // namespace fairlead::identity
