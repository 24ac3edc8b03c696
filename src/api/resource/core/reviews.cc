#include "api/resource/core/reviews.h"

#include "api/resource/core/core_kind.h"

namespace fairlead::resource {
namespace {

constexpr const char* kAuthorization = "authorization.k8s.io";
constexpr const char* kAuthentication = "authentication.k8s.io";

Kind review(const char* group, std::string name, std::string singular, Schema schema) {
  std::string plural = singular + "s";
  Kind kind = core_kind(group, std::move(name), std::move(plural), std::move(singular));
  kind.namespaced = false;
  kind.stored = false;
  kind.schema = std::move(schema);
  return kind;
}

Field resource_attributes() {
  return field("resourceAttributes",
               object("A request for a resource. Give this or nonResourceAttributes.",
                      {field("group", string("API group of the resource; \"*\" means all.")),
                       field("name", string("Name of the object; empty means all.")),
                       field("namespace", string("Namespace of the request; empty means none, or "
                                                 "all of them.")),
                       field("resource", string("Plural name of the resource.")),
                       field("subresource", string("Such as status; empty means none.")),
                       field("verb", string("get, list, watch, create, update, patch, delete, "
                                            "deletecollection; \"*\" means all.")),
                       field("version", string("API version; \"*\" means all."))}));
}

Field path_attributes() {
  return field("nonResourceAttributes",
               object("A request for a path outside the resources.",
                      {field("path", string("Path of the request.")),
                       field("verb", string("HTTP method in lower case."))}));
}

Field access_status() {
  return field("status",
               object("The answer, filled in by the server.",
                      {required_field("allowed", boolean("Whether the request would be allowed.")),
                       field("denied", boolean("Whether it is denied whatever others say.")),
                       field("evaluationError", string("What went wrong while deciding.")),
                       field("reason", string("Why, for people."))}));
}

SchemaBuilder extra() { return map_of(string_list("Values."), "Further facts about the user."); }

Field subject_spec() {
  return required_field(
      "spec",
      object("Who wants to do what.",
             {field("extra", extra()), field("groups", string_list("Groups of the user.")),
              path_attributes(), resource_attributes(), field("uid", string("Id of the user.")),
              field("user", string("Name of the user."))}));
}

Schema user_info(std::string description) {
  return object(std::move(description),
                {field("extra", extra()), field("groups", string_list("Groups of the user.")),
                 field("uid", string("Id that tells users of one name apart.")),
                 field("username", string("Name of the user."))});
}

Schema own_access() {
  return core_object("Asks whether the one who asks may do something.",
                     {required_field("spec", object("What one wants to do.",
                                                    {path_attributes(), resource_attributes()})),
                      access_status()});
}

Schema own_rules() {
  const Schema resource_rule =
      object("Verbs on resources.", {field("apiGroups", string_list("Groups of the resources.")),
                                     field("resourceNames", string_list("Names; empty means all.")),
                                     field("resources", string_list("Resources of the groups.")),
                                     required_field("verbs", string_list("What is allowed."))});
  const Schema path_rule =
      object("Verbs on paths.", {field("nonResourceURLs", string_list("Paths, with * at the end.")),
                                 required_field("verbs", string_list("What is allowed."))});
  return core_object(
      "Lists what the one who asks may do in a namespace.",
      {required_field("spec", object("Where.", {field("namespace", string("The namespace."))})),
       field("status",
             object("The answer, filled in by the server.",
                    {field("evaluationError", string("What went wrong while listing.")),
                     required_field("incomplete", boolean("Whether more may be allowed.")),
                     required_field("nonResourceRules", list(path_rule, "Paths.")),
                     required_field("resourceRules", list(resource_rule, "Resources."))}))});
}

Schema token_review() {
  return core_object(
      "Asks whose token this is.",
      {required_field("spec",
                      object("The token.",
                             {field("audiences", string_list("Whom the token must be meant for.")),
                              field("token", string("The token itself."))})),
       field("status", object("The answer, filled in by the server.",
                              {field("audiences", string_list("Whom the token is meant for.")),
                               field("authenticated", boolean("Whether the token proves a user.")),
                               field("error", string("Why it does not.")),
                               field("user", user_info("Whom it proves."))}))});
}

Schema own_identity() {
  return core_object("Asks who the one who asks is.",
                     {field("status", object("The answer, filled in by the server.",
                                             {field("userInfo", user_info("Who asks."))}))});
}

}  // namespace

const Catalog& review_catalog() {
  static const Catalog catalog = [] {
    std::vector<Kind> kinds;
    kinds.push_back(
        review(kAuthorization, "SelfSubjectAccessReview", "selfsubjectaccessreview", own_access()));
    kinds.push_back(
        review(kAuthorization, "SelfSubjectRulesReview", "selfsubjectrulesreview", own_rules()));
    kinds.push_back(review(
        kAuthorization, "SubjectAccessReview", "subjectaccessreview",
        core_object("Asks whether a user may do something.", {subject_spec(), access_status()})));
    kinds.push_back(review(kAuthorization, "LocalSubjectAccessReview", "localsubjectaccessreview",
                           core_object("Asks whether a user may do something in this namespace.",
                                       {subject_spec(), access_status()})));
    kinds.back().namespaced = true;
    kinds.push_back(review(kAuthentication, "TokenReview", "tokenreview", token_review()));
    kinds.push_back(
        review(kAuthentication, "SelfSubjectReview", "selfsubjectreview", own_identity()));
    return Catalog(std::move(kinds));
  }();
  return catalog;
}

}  // namespace fairlead::resource
