#include "api/identity/authorizer.h"

#include <charconv>
#include <utility>

#include "api/identity/role_rules.h"

namespace fairlead::identity {
namespace {

using Placement = NodeFacts::Placement;

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

std::string_view required_value(const Attributes& wanted, std::string_view path) {
  for (const FieldTerm& term : wanted.field_selector)
    if (term.equals && term.path == path) return term.value;
  return {};
}

// A virtual network's number as selectors spell it; 0 when it is none.
std::uint32_t parse_vni(std::string_view text) {
  std::uint32_t vni = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), vni);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.front() != '0' ? vni : 0;
}

bool is_node_lease_namespace(std::string_view name) {
  return name == kNodeLeaseNamespace || name == kKubeNodeLeaseNamespace;
}

// A name without a namespace selects from all of them: that is not one attachment.
bool names_one(const Attributes& wanted) {
  return !wanted.name.empty() && !wanted.namespace_.empty();
}

Decision decide_read(const Attributes& wanted, Verbs verb, std::string_view node,
                     const NodeFacts& facts) {
  if (names_one(wanted)) {
    const Placement placement = facts.placement(node, wanted.namespace_, wanted.name);
    // A watch of what is absent is asked again before it shows anything
    // (api/apiserver/watch_right.h).
    if (placement != Placement::elsewhere) return Decision::allow();
    if (verb != kWatch) {
      const std::uint32_t vni = facts.network_of(wanted.namespace_, wanted.name);
      if (vni != 0 && facts.relevant(node, vni)) return Decision::allow();
    }
    return Decision::deny("the attachment is not relevant to this node");
  }
  if (required_value(wanted, "spec.node") == node) return Decision::allow();
  const std::uint32_t vni = parse_vni(required_value(wanted, "status.addressVNI"));
  if (vni == 0)
    return Decision::deny(
        "a node must select its own attachments (spec.node) or a virtual network "
        "(status.addressVNI)");
  if (facts.relevant(node, vni)) return Decision::allow();
  return Decision::deny("virtual network " + std::to_string(vni) + " is not relevant to this node");
}

Decision decide_condition(Condition condition, const Attributes& wanted, Verbs verb,
                          std::string_view node, const NodeFacts* facts) {
  switch (condition) {
    case Condition::always:
      return Decision::allow();
    case Condition::own_name:
      // The name of a create may not be known yet; admit_write() looks at the object.
      if (wanted.name == node || (verb == kCreate && wanted.name.empty())) return Decision::allow();
      return Decision::deny("a node may use only the object of its own name");
    case Condition::own_lease:
      if (!is_node_lease_namespace(wanted.namespace_))
        return Decision::deny("a node's lease is in " + std::string(kNodeLeaseNamespace));
      if (wanted.name == node || (verb == kCreate && wanted.name.empty())) return Decision::allow();
      return Decision::deny("a node may use only the lease of its own name");
    case Condition::relevant_attachment:
      if (!facts) return Decision::deny("nothing is known about this node");
      return decide_read(wanted, verb, node, *facts);
    case Condition::own_attachment:
      if (!facts) return Decision::deny("nothing is known about this node");
      if (facts->placement(node, wanted.namespace_, wanted.name) != Placement::elsewhere)
        return Decision::allow();
      return Decision::deny("the attachment is on another node");
  }
  return Decision::deny("no rule allows it");
}

Decision decide_path(const Attributes& wanted, const Roles& roles) {
  const std::string_view verb = wanted.verb == "head" ? "get" : wanted.verb;
  for (const PathGrant& grant : path_grants())
    if (grant.verb == verb && path_matches(grant.path, wanted.path) && grants(grant.to, roles))
      return Decision::allow();
  return Decision::deny({});
}

std::string_view string_at(const Json* object, std::string_view path) {
  return object ? wire::find_string(*object, path) : std::string_view();
}

// Nodes keep nothing from being deleted: of what they write, they may say only that it goes
// with their own Node. What is there already (the garbage collector's own finalizer) may stay.
bool binds_only_to_itself(const Json* current, const Json* desired, std::string_view node) {
  if (!desired) return true;
  const auto part = [](const Json* object, std::string_view path) {
    const Json* found = object ? wire::find(*object, path) : nullptr;
    return found && found->is_array() && !found->get_array().empty() ? *found : Json();
  };
  const Json finalizers = part(desired, "metadata.finalizers");
  if (!finalizers.is_null() && finalizers != part(current, "metadata.finalizers")) return false;
  const Json owners = part(desired, "metadata.ownerReferences");
  if (owners.is_null() || owners == part(current, "metadata.ownerReferences")) return true;
  for (const Json& owner : owners.get_array()) {
    const Json* blocks = wire::find(owner, "blockOwnerDeletion");
    const bool may_block = blocks && blocks->is_bool() && blocks->get_bool();
    if (may_block || wire::find_string(owner, "kind") != "Node" ||
        wire::find_string(owner, "name") != node)
      return false;
  }
  return true;
}

std::vector<std::string> texts(std::initializer_list<std::string_view> views) {
  return {views.begin(), views.end()};
}

// The wildcard of a role spelled out: group "*" means every group, but the core group without
// secrets.
std::vector<ResourceRule> list_rule(const RoleRule& rule, std::string_view node) {
  const bool own = rule.condition == Condition::own_name || rule.condition == Condition::own_lease;
  std::vector<std::string> names;
  if (own) names.emplace_back(node);
  if (rule.group == "*") {
    return {{verb_names(rule.verbs),
             texts({""}),
             texts({"configmaps", "endpoints", "events", "namespaces", "nodes", "services"}),
             {}},
            {verb_names(rule.verbs),
             texts({kFairleadGroup, "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
                    "k8s.cni.cncf.io"}),
             texts({"*"}),
             {}}};
  }
  std::string resource(rule.resource);
  if (!rule.subresource.empty() && rule.subresource != "*")
    resource.append("/").append(rule.subresource);
  return {{verb_names(rule.verbs), texts({rule.group}), {std::move(resource)}, std::move(names)}};
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

Decision RoleAuthorizer::decide(const Attributes& wanted) const {
  if (!wanted.user) return Decision::deny("no user");
  const Roles roles = roles_of(*wanted.user);
  if (roles.admin) return Decision::allow();
  if (!wanted.is_resource) return decide_path(wanted, roles);
  const Verbs verb = verb_bit(wanted.verb);
  Decision denied = Decision::deny({});
  for (const RoleRule& rule : role_rules()) {
    if (!grants(rule.grantee, roles) || !matches(rule, wanted, verb)) continue;
    Decision decision = decide_condition(rule.condition, wanted, verb, roles.node, facts_);
    if (decision.allowed) return decision;
    denied = std::move(decision);
  }
  return denied;
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
  for (const RoleRule& rule : role_rules()) {
    if (!grants(rule.grantee, roles)) continue;
    if (rule.condition == Condition::own_lease && !is_node_lease_namespace(namespace_)) continue;
    list.incomplete |= rule.condition != Condition::always;
    for (ResourceRule& listed : list_rule(rule, roles.node))
      list.resources.push_back(std::move(listed));
  }
  for (const PathGrant& grant : path_grants())
    if (grants(grant.to, roles))
      list.paths.push_back({{std::string(grant.verb)}, {std::string(grant.path)}});
  return list;
}

Decision admit_write(const Attributes& wanted, const Json* current, const Json* desired) {
  if (!wanted.user) return Decision::deny("no user");
  const Roles roles = roles_of(*wanted.user);
  // Several roles: the others were granted the write without looking at objects.
  if (roles.node.empty() || roles.admin || roles.controller) return Decision::allow();
  const std::string_view node = roles.node;
  if (wanted.group == kFairleadGroup && wanted.resource == "networkattachments") {
    const bool here =
        string_at(current, "spec.node") == node && string_at(desired, "spec.node") == node;
    return here ? Decision::allow() : Decision::deny("the attachment is on another node");
  }
  if (wanted.resource == "leases" || (wanted.resource == "nodes" && wanted.group.empty()) ||
      (wanted.resource == "nodereports" && wanted.group == kFairleadGroup)) {
    const Json* object = desired ? desired : current;
    if (string_at(object, "metadata.name") != node)
      return Decision::deny("a node may write only what has its own name");
    return binds_only_to_itself(current, desired, node)
               ? Decision::allow()
               : Decision::deny("a node may add no finalizers, and no owner but its own Node");
  }
  const bool review =
      wanted.group == "authorization.k8s.io" || wanted.group == "authentication.k8s.io";
  return review ? Decision::allow() : Decision::deny("a node may not write this");
}

}  // namespace fairlead::identity
