#include "api/identity/node_role.h"

#include <algorithm>
#include <utility>

#include "api/identity/role_rules.h"

namespace fairlead::identity {
namespace {

using resource::kCreate;
using resource::kDelete;
using resource::kDeleteCollection;
using resource::Kind;
using resource::kList;
using resource::kWatch;
using resource::NodeAccess;
using resource::Verbs;
using Own = NodeAccess::Own;
using Placement = NodeFacts::Placement;

std::string_view required_value(const Attributes& wanted, std::string_view path) {
  for (const FieldTerm& term : wanted.field_selector)
    if (term.equals && term.path == path) return term.value;
  return {};
}

// A name without a namespace selects from all of them: that is not one object.
bool names_one(const Kind& kind, const Attributes& wanted) {
  return !wanted.name.empty() && (!wanted.namespace_.empty() || !kind.namespaced);
}

bool is_home(const NodeAccess& access, std::string_view namespace_) {
  return access.namespaces.empty() ||
         std::ranges::find(access.namespaces, namespace_) != access.namespaces.end();
}

Decision decide_named(const NodeAccess& access, const Attributes& wanted, Verbs verb,
                      std::string_view node) {
  if (!is_home(access, wanted.namespace_))
    return Decision::deny("a node's " + access.noun + " is in " + access.namespaces.front());
  // The name of a create may not be known yet; admit_write() looks at the object.
  if (wanted.name == node || (verb == kCreate && wanted.name.empty())) return Decision::allow();
  return Decision::deny("a node may use only the " + access.noun + " of its own name");
}

Decision decide_shared_object(const Kind& kind, const Attributes& wanted, Verbs verb,
                              std::string_view node, const NodeFacts& facts) {
  const Placement placement = facts.placement(kind, node, wanted.namespace_, wanted.name);
  // A watch of what is absent is asked again before it shows anything
  // (api/apiserver/watch_right.h).
  if (placement != Placement::elsewhere) return Decision::allow();
  if (verb != kWatch) {
    const std::uint32_t value = facts.shared_value_of(kind, wanted.namespace_, wanted.name);
    if (value != 0 && facts.shares(kind, node, value)) return Decision::allow();
  }
  return Decision::deny("the " + kind.node.noun + " is not relevant to this node");
}

// Objects chosen by a selector: the node's own, or those that share a value with one of them.
Decision decide_selection(const Kind& kind, const NodeAccess::Rights& rights,
                          const Attributes& wanted, Verbs verb, std::string_view node,
                          const NodeFacts& facts) {
  // Asked before every event of a watch: what is allowed is found without making text.
  const NodeAccess& access = kind.node;
  if (required_value(wanted, access.node_field) == node) return Decision::allow();
  const bool may_share = rights.shared & verb;
  const std::uint32_t value =
      may_share ? shared_value(required_value(wanted, access.shared_field)) : 0;
  if (value != 0 && facts.shares(kind, node, value)) return Decision::allow();
  if (value != 0)
    return Decision::deny(access.shared_noun + " " + std::to_string(value) +
                          " is not relevant to this node");
  std::string reason =
      "a node must select its own " + access.noun + "s (" + access.node_field + ")";
  if (may_share) reason += " or a " + access.shared_noun + " (" + access.shared_field + ")";
  return Decision::deny(std::move(reason));
}

Decision decide_placed(const Kind& kind, const NodeAccess::Rights& rights, const Attributes& wanted,
                       Verbs verb, std::string_view node, const NodeFacts* facts) {
  if (!facts) return Decision::deny("nothing is known about this node");
  const bool one = names_one(kind, wanted);
  if (rights.shared & verb)
    return one ? decide_shared_object(kind, wanted, verb, node, *facts)
               : decide_selection(kind, rights, wanted, verb, node, *facts);
  if (!one && (verb & (kList | kWatch | kDeleteCollection)))
    return decide_selection(kind, rights, wanted, verb, node, *facts);
  // What is absent leads to a 404, or is created: admit_write() looks at the object.
  if (facts->placement(kind, node, wanted.namespace_, wanted.name) != Placement::elsewhere)
    return Decision::allow();
  return Decision::deny("the " + kind.node.noun + " is on another node");
}

// By the request alone one object can be any node's; admit_write() looks at its list.
Decision decide_listed(const Kind& kind, const Attributes& wanted) {
  if (names_one(kind, wanted)) return Decision::allow();
  return Decision::deny("a node may write only one " + kind.node.noun + " at a time, by its name");
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

// Before and after the write it is on the node; it comes and goes only by verbs that the kind
// grants.
bool stays_on_node(const NodeAccess& access, const Json* current, const Json* desired,
                   std::string_view node) {
  const NodeAccess::Rights* objects = access.rights_of("");
  const Verbs own = objects ? objects->own : 0;
  const bool before = current ? string_at(current, access.node_field) == node : own & kCreate;
  const bool after = desired ? string_at(desired, access.node_field) == node : own & kDelete;
  return before && after;
}

// Before and after the write the object is this node's too; nodes neither make nor delete it.
bool stays_listed(const NodeAccess& access, const Json* current, const Json* desired,
                  std::string_view node) {
  const auto is_listed = [&](const Json* object) {
    const Json* found = object ? wire::find(*object, access.nodes_field) : nullptr;
    const JsonArray* names = found ? found->if_array() : nullptr;
    if (!names || names->empty()) return object != nullptr;
    return std::ranges::find(*names, Json(node)) != names->end();
  };
  return is_listed(current) && is_listed(desired);
}

}  // namespace

Decision decide_for_node(const Kind& kind, const Attributes& wanted, Verbs verb,
                         std::string_view node, const NodeFacts* facts) {
  const NodeAccess::Rights* rights = kind.node.rights_of(wanted.subresource);
  if (!rights) return Decision::deny({});
  if (rights->every & verb) return Decision::allow();
  if (!((rights->own | rights->shared) & verb)) return Decision::deny({});
  switch (kind.node.own) {
    case Own::none:
      break;
    case Own::named:
      return decide_named(kind.node, wanted, verb, node);
    case Own::placed:
      return decide_placed(kind, *rights, wanted, verb, node, facts);
    case Own::listed:
      return decide_listed(kind, wanted);
  }
  return Decision::deny({});
}

Decision admit_node_write(const Kind& kind, const Json* current, const Json* desired,
                          std::string_view node) {
  const NodeAccess& access = kind.node;
  switch (access.own) {
    case Own::none:
      return Decision::deny("a node may not write this");
    case Own::named:
      if (string_at(desired ? desired : current, "metadata.name") != node)
        return Decision::deny("a node may write only what has its own name");
      break;
    case Own::placed:
      if (!stays_on_node(access, current, desired, node))
        return Decision::deny("the " + access.noun + " is on another node");
      break;
    case Own::listed:
      if (!stays_listed(access, current, desired, node))
        return Decision::deny("the " + access.noun + " is not this node's");
      break;
  }
  return binds_only_to_itself(current, desired, node)
             ? Decision::allow()
             : Decision::deny("a node may add no finalizers, and no owner but its own Node");
}

std::vector<ResourceRule> node_rules(const Kind& kind, std::string_view node,
                                     std::string_view namespace_, bool& incomplete) {
  std::vector<ResourceRule> rules;
  for (const NodeAccess::Rights& rights : kind.node.rights) {
    std::string name = kind.plural;
    if (!rights.subresource.empty()) name.append("/").append(rights.subresource);
    const auto add = [&](Verbs verbs, std::vector<std::string> names) {
      rules.push_back({verb_names(verbs), {kind.group}, {name}, std::move(names)});
    };
    if (rights.every) add(rights.every, {});
    const Verbs some = rights.own | rights.shared;
    if (!some || !is_home(kind.node, namespace_)) continue;
    incomplete = true;
    if (kind.node.own == Own::named) {
      add(some, {std::string(node)});
    } else {
      add(some, {});
    }
  }
  return rules;
}

}  // namespace fairlead::identity
