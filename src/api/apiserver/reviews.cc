#include "api/apiserver/reviews.h"

#include <string>

#include "api/apimachinery/request/write_options.h"
#include "api/apiserver/write_plan.h"
#include "api/resource/core/reviews.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::refuse;
using identity::Attributes;
using identity::Decision;
using identity::User;

const resource::Kind* find_review(const apimachinery::RequestInfo& info) {
  return resource::review_catalog().find(info.group, info.version, info.resource);
}

JsonArray text_array(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::vector<std::string> text_list(const Json& value, std::string_view path) {
  std::vector<std::string> texts;
  if (const Json* list = wire::find(value, path); list && list->is_array())
    for (const Json& entry : list->get_array())
      if (entry.is_string()) texts.emplace_back(entry.get_string());
  return texts;
}

Json user_json(const User& user) {
  JsonObject json{{"username", user.name}, {"groups", text_array(user.groups)}};
  if (!user.uid.empty()) json["uid"] = user.uid;
  JsonObject extra;
  for (const auto& [key, values] : user.extra) extra[key] = text_array(values);
  if (!extra.empty()) json["extra"] = std::move(extra);
  return json;
}

// The views point into `spec`.
Attributes attributes_in(const User& user, const Json& spec) {
  Attributes attributes;
  attributes.user = &user;
  if (wire::find(spec, "nonResourceAttributes")) {
    attributes.is_resource = false;
    attributes.verb = wire::find_string(spec, "nonResourceAttributes.verb");
    attributes.path = wire::find_string(spec, "nonResourceAttributes.path");
    return attributes;
  }
  attributes.verb = wire::find_string(spec, "resourceAttributes.verb");
  attributes.group = wire::find_string(spec, "resourceAttributes.group");
  attributes.version = wire::find_string(spec, "resourceAttributes.version");
  attributes.resource = wire::find_string(spec, "resourceAttributes.resource");
  attributes.subresource = wire::find_string(spec, "resourceAttributes.subresource");
  attributes.namespace_ = wire::find_string(spec, "resourceAttributes.namespace");
  attributes.name = wire::find_string(spec, "resourceAttributes.name");
  return attributes;
}

Json rules_json(const identity::RuleList& rules) {
  JsonArray resources, paths;
  for (const identity::ResourceRule& rule : rules.resources)
    resources.push_back(JsonObject{{"verbs", text_array(rule.verbs)},
                                   {"apiGroups", text_array(rule.groups)},
                                   {"resources", text_array(rule.resources)},
                                   {"resourceNames", text_array(rule.names)}});
  for (const identity::PathRule& rule : rules.paths)
    paths.push_back(
        JsonObject{{"verbs", text_array(rule.verbs)}, {"nonResourceURLs", text_array(rule.paths)}});
  return JsonObject{{"resourceRules", std::move(resources)},
                    {"nonResourceRules", std::move(paths)},
                    {"incomplete", rules.incomplete}};
}

}  // namespace

std::vector<apimachinery::ServedResource> served_reviews() {
  std::vector<apimachinery::ServedResource> served;
  for (const auto& kind : resource::review_catalog().kinds())
    served.push_back(apimachinery::review_resource(kind->group, kind->version, kind->kind,
                                                   kind->plural, kind->namespaced));
  return served;
}

bool Reviews::serves(const apimachinery::RequestInfo& info) { return find_review(info) != nullptr; }

Task<Result<>> Reviews::serve(Request& request, WallTime now) {
  const resource::Kind& type = *find_review(request.info);
  if (request.info.verb != "create")
    co_return co_await send_status(
        request,
        apimachinery::method_not_allowed(apimachinery::group_resource(type), request.info.verb));
  const auto format = apimachinery::body_format(request.header("Content-Type"));
  if (!format) co_return co_await send_status(request, format.error());
  Answer<Body> body = decode_body(request.exchange.request().body, *format);
  if (!body) co_return co_await send_status(request, body.error());
  Json& review = body->value;
  if (!review.is_object())
    co_return co_await send_status(request,
                                   apimachinery::bad_request("the request has no review as body"));
  Answer<Json> status = co_await answer(request, review, now);
  if (!status) co_return co_await send_status(request, status.error());
  JsonObject& members = review.get_object();
  members["apiVersion"] = type.api_version();
  members["kind"] = type.kind;
  if (!members.contains("metadata"))
    members["metadata"] = JsonObject{{"creationTimestamp", nullptr}};
  members["status"] = std::move(*status);
  co_return co_await send_json(request, 201, review);
}

Task<Answer<Json>> Reviews::answer(Request& request, const Json& review, WallTime now) {
  const std::string_view kind = find_review(request.info)->kind;
  static const Json kEmpty = JsonObject{};
  const Json* spec = wire::find(review, "spec");
  if (!spec || !spec->is_object()) spec = &kEmpty;
  if (kind == "SelfSubjectReview") co_return JsonObject{{"userInfo", user_json(*request.user)}};
  if (kind == "TokenReview") co_return co_await token(*spec, now);
  if (kind == "SelfSubjectAccessReview") co_return co_await access(*request.user, *spec);
  if (kind == "SelfSubjectRulesReview") {
    const auto* roles = dynamic_cast<const identity::RoleAuthorizer*>(&authorizer_);
    if (!roles)
      co_return JsonObject{
          {"resourceRules", JsonArray{}}, {"nonResourceRules", JsonArray{}}, {"incomplete", true}};
    co_return rules_json(roles->rules_for(*request.user, wire::find_string(*spec, "namespace")));
  }
  User subject{.name = std::string(wire::find_string(*spec, "user")),
               .uid = std::string(wire::find_string(*spec, "uid")),
               .groups = text_list(*spec, "groups"),
               .extra = {}};
  if (subject.name.empty() && subject.groups.empty())
    co_return refuse(apimachinery::bad_request("spec.user or spec.groups must be given"));
  co_return co_await access(subject, *spec);
}

Task<Answer<Json>> Reviews::access(const User& user, const Json& spec) {
  if (!wire::find(spec, "resourceAttributes") == !wire::find(spec, "nonResourceAttributes"))
    co_return refuse(apimachinery::bad_request(
        "exactly one of spec.resourceAttributes and spec.nonResourceAttributes must be given"));
  const Attributes attributes = attributes_in(user, spec);
  std::optional<Result<Decision>> decision = authorizer_.authorize_now(attributes);
  if (!decision) decision = co_await authorizer_.authorize(attributes);
  if (!*decision) co_return refuse(apimachinery::status_of(decision->error()));
  JsonObject status{{"allowed", (*decision)->allowed}};
  if (!(*decision)->reason.empty()) status["reason"] = (*decision)->reason;
  co_return status;
}

Task<Answer<Json>> Reviews::token(const Json& spec, WallTime now) {
  const std::string_view given = wire::find_string(spec, "token");
  if (given.empty()) co_return refuse(apimachinery::bad_request("spec.token must be given"));
  const std::pair<std::string, std::string> header{"Authorization", "Bearer " + std::string(given)};
  static const runtime::PeerInfo kNobody;
  const identity::AuthRequest question{
      .peer = &kNobody, .headers = std::span(&header, 1), .now = now};
  std::optional<Result<identity::UserRef>> found = authenticator_.authenticate_now(question);
  if (!found) found = co_await authenticator_.authenticate(question);
  if (!*found || !**found || (**found)->name == identity::kAnonymousUser)
    co_return JsonObject{{"authenticated", false}};
  co_return JsonObject{{"authenticated", true}, {"user", user_json(***found)}};
}

}  // namespace fairlead::apiserver
