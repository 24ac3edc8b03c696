// For tests of rights: what somebody wants to do, and a model of what is on which node.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/identity/authorizer.h"

namespace fairlead::identity::testing {

// A model of the server's knowledge: objects of the kind `plural` by namespace/name, with the node
// they are on and the value they share.
class World final : public NodeFacts {
 public:
  explicit World(std::string its_plural) : plural(std::move(its_plural)) {}
  struct Placed {
    std::string node;
    std::uint32_t value = 0;
  };
  Placement placement(const resource::Kind& kind, std::string_view node,
                      std::string_view namespace_, std::string_view name) const override {
    EXPECT_EQ(kind.plural, plural);
    const auto found = objects.find(key(namespace_, name));
    if (found == objects.end()) return Placement::absent;
    return found->second.node == node ? Placement::here : Placement::elsewhere;
  }
  bool shares(const resource::Kind&, std::string_view node, std::uint32_t value) const override {
    for (const auto& [name, object] : objects)
      if (object.node == node && object.value == value) return true;
    return false;
  }
  std::uint32_t shared_value_of(const resource::Kind&, std::string_view namespace_,
                                std::string_view name) const override {
    const auto found = objects.find(key(namespace_, name));
    return found == objects.end() ? 0 : found->second.value;
  }
  static std::string key(std::string_view namespace_, std::string_view name) {
    return std::string(namespace_) + "/" + std::string(name);
  }
  const std::string plural;
  std::map<std::string, Placed> objects = {
      {"default/mine", {"n1", 5}},    {"default/neighbour", {"n2", 5}},
      {"default/foreign", {"n2", 6}}, {"default/unassigned", {"n2", 0}},
      {"default/pending", {"n1", 0}},
  };
};

struct Wish {
  const char* verb;
  const char* group;
  const char* resource;
  const char* subresource = "";
  const char* namespace_ = "";
  const char* name = "";
  std::vector<FieldTerm> selector = {};
};

inline Attributes attributes(const User& user, const Wish& wish) {
  Attributes wanted;
  wanted.user = &user;
  wanted.verb = wish.verb;
  wanted.group = wish.group;
  wanted.version = "v1";
  wanted.resource = wish.resource;
  wanted.subresource = wish.subresource;
  wanted.namespace_ = wish.namespace_;
  wanted.name = wish.name;
  wanted.field_selector = wish.selector;
  return wanted;
}

inline User member(std::string name, std::vector<std::string> groups) {
  groups.emplace_back(kAuthenticatedGroup);
  return {std::move(name), {}, std::move(groups), {}};
}

struct Expectation {
  Wish wish;
  bool allowed;
};

inline void expect_all(const resource::Catalog& catalog, const World& world, const User& user,
                       const std::vector<Expectation>& expectations) {
  const RoleAuthorizer authorizer(catalog, &world);
  for (const auto& [wish, allowed] : expectations) {
    const Attributes wanted = attributes(user, wish);
    const Decision decision = authorizer.decide(wanted);
    EXPECT_EQ(decision.allowed, allowed) << forbidden_message(wanted, decision);
  }
}

}  // namespace fairlead::identity::testing
