// The rights of nodes. They follow from what each kind says (resource::NodeAccess) and from which
// objects are on the node (NodeFacts); no kind is named here. Pure.
#pragma once

#include <vector>

#include "api/identity/authorizer.h"
#include "api/resource/kind.h"
#include "api/resource/verbs.h"

namespace fairlead::identity {

// What the node may do with the objects of `kind`, judged by the request alone. `facts` null: only
// kinds whose objects are not placed on nodes.
Decision decide_for_node(const resource::Kind& kind, const Attributes& wanted, resource::Verbs verb,
                         std::string_view node, const NodeFacts* facts);

// The second look of admit_write(), at the objects.
Decision admit_node_write(const resource::Kind& kind, const Json* current, const Json* desired,
                          std::string_view node);

// The rules of `kind` for SelfSubjectRulesReview. `incomplete` is set when one of them depends on
// objects or selectors.
std::vector<ResourceRule> node_rules(const resource::Kind& kind, std::string_view node,
                                     std::string_view namespace_, bool& incomplete);

}  // namespace fairlead::identity
