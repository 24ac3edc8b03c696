// Authorizer: whether a user may do what a request asks.
//
// RoleAuthorizer knows Fairlead's built-in roles; a delegating one (SubjectAccessReview) has the
// same interface. As with Authenticator, the usual answers come from authorize_now() without a
// coroutine.
//
// Some rights depend on the object (a node writes only the status of what runs on it). They are
// judged twice: authorize() from what the request says and NodeFacts knows, then admit_write() with
// the objects themselves, in the same transaction that writes. A server must call both, and ask
// authorize() again before every event of an open watch: what is allowed follows what runs where.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity/user.h"
#include "api/resource/catalog.h"
#include "foundation/base/result.h"
#include "foundation/runtime/task.h"
#include "foundation/wire/json.h"

namespace fairlead::identity {

// One term of a field selector, decoded: path = value or path != value.
struct FieldTerm {
  std::string_view path;
  std::string_view value;
  bool equals = true;
};

// What a request wants, as Kubernetes' RequestInfo has it. Views into the request.
struct Attributes {
  const User* user = nullptr;
  std::string_view verb;  // get list watch create update patch delete deletecollection; method in
                          // lower case for non-resource paths
  bool is_resource = true;
  std::string_view group;
  std::string_view version;
  std::string_view resource;     // plural
  std::string_view subresource;  // "status", or empty
  std::string_view namespace_;   // empty: all, or the kind has none
  // Also set for lists and watches whose selector is metadata.name=<name>, and for creates whose
  // body was read already.
  std::string_view name;
  std::string_view path;  // non-resource requests
  std::span<const FieldTerm> field_selector;
};

struct Decision {
  bool allowed = false;
  std::string
      reason;  // for the 403, without the user's name: "node n1 may not …"; empty when allowed

  static Decision allow() { return {true, {}}; }
  static Decision deny(std::string reason) { return {false, std::move(reason)}; }
};

// The text of the 403 Status, as Kubernetes words it:
//   leases.coordination.k8s.io "a" is forbidden: User "x" cannot get resource "leases" in API group
//   "coordination.k8s.io" in the namespace "default": <reason>
std::string forbidden_message(const Attributes& wanted, const Decision& decision);

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // nullopt: ask authorize().
  virtual std::optional<Result<Decision>> authorize_now(const Attributes& attributes) = 0;
  virtual Task<Result<Decision>> authorize(const Attributes& attributes);
};

// What the server knows about the objects that are placed on nodes (resource::NodeAccess), for the
// node role; answered from its cache. REQUIRES: `kind` is one of them.
class NodeFacts {
 public:
  enum class Placement { here, elsewhere, absent };
  virtual ~NodeFacts() = default;
  // Where the object of that name is. `absent` lets the request through to its 404.
  virtual Placement placement(const resource::Kind& kind, std::string_view node,
                              std::string_view namespace_, std::string_view name) const = 0;
  // Whether an object on `node` has this value of the kind's shared field.
  virtual bool shares(const resource::Kind& kind, std::string_view node,
                      std::uint32_t value) const = 0;
  // The value of the object of that name; 0: none.
  virtual std::uint32_t shared_value_of(const resource::Kind& kind, std::string_view namespace_,
                                        std::string_view name) const = 0;
};

// A value of a shared field as selectors spell it: a positive whole number; 0 when it is none.
std::uint32_t shared_value(std::string_view text);

// SelfSubjectRulesReview's shapes.
struct ResourceRule {
  std::vector<std::string> verbs, groups, resources, names;
};
struct PathRule {
  std::vector<std::string> verbs, paths;
};
struct RuleList {
  std::vector<ResourceRule> resources;
  std::vector<PathRule> paths;
  bool incomplete = false;  // rights that depend on objects or selectors are not listed fully
};

class RoleAuthorizer final : public Authorizer {
 public:
  // What a node may do follows from the kinds of `catalog`. `facts` may be null: nodes then see and
  // write nothing that is placed on nodes. Both must outlive this.
  RoleAuthorizer(const resource::Catalog& catalog, const NodeFacts* facts);
  std::optional<Result<Decision>> authorize_now(const Attributes& wanted) override;
  Decision decide(const Attributes& wanted) const;
  RuleList rules_for(const User& user, std::string_view namespace_) const;

 private:
  std::vector<const resource::Kind*> node_kinds_;  // those that nodes may use
  const NodeFacts* facts_;
};

// Asks its members in order (the built-in roles, then the host cluster): what one allows is
// allowed. A member that cannot answer ends it: there is no permission then, and no refusal either.
class UnionAuthorizer final : public Authorizer {
 public:
  // They must outlive this. REQUIRES: at least one.
  explicit UnionAuthorizer(std::vector<Authorizer*> members) : members_(std::move(members)) {}
  std::optional<Result<Decision>> authorize_now(const Attributes& wanted) override;
  Task<Result<Decision>> authorize(const Attributes& wanted) override;

 private:
  std::vector<Authorizer*> members_;
};

// The second look, at the objects: `current` is what the store holds (null on create), `desired`
// what would be stored (null on delete), both of `kind`. Only the node role is restricted here.
// Pure.
Decision admit_write(const resource::Kind& kind, const Attributes& wanted, const Json* current,
                     const Json* desired);

}  // namespace fairlead::identity
