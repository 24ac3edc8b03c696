#include "api/delegation/review_messages.h"

#include <string>
#include <utility>
#include <vector>

#include "api/identity/authenticator.h"

namespace fairlead::delegation {
namespace {

using identity::Attributes;
using identity::User;

JsonArray text_array(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::vector<std::string> text_list(const Json* list) {
  std::vector<std::string> texts;
  if (list && list->is_array())
    for (const Json& entry : list->get_array())
      if (entry.is_string()) texts.emplace_back(entry.get_string());
  return texts;
}

bool is_true(const Json& value, std::string_view path) {
  const Json* found = wire::find(value, path);
  return found && found->is_bool() && found->get_bool();
}

void add(JsonObject& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object[name] = text;
}

std::string_view asked_name(const Attributes& wanted) {
  return wanted.verb == "create" && wanted.subresource.empty() ? std::string_view() : wanted.name;
}

// Length first: no two different lists of texts give the same bytes.
void append(std::string& bytes, std::string_view text) {
  bytes.append(std::to_string(text.size())).append(":").append(text);
}

void append(std::string& bytes, const std::vector<std::string>& texts) {
  bytes.append(std::to_string(texts.size())).append("[");
  for (const std::string& text : texts) append(bytes, text);
}

}  // namespace

Json encode_token_review(std::string_view token, std::string_view audience) {
  JsonObject spec{{"token", token}};
  if (!audience.empty()) spec["audiences"] = JsonArray{Json(audience)};
  return JsonObject{{"apiVersion", "authentication.k8s.io/v1"},
                    {"kind", "TokenReview"},
                    {"spec", std::move(spec)}};
}

Result<identity::UserRef> decode_token_review(const Json& review) {
  const Json* status = wire::find(review, "status");
  if (!status || !status->is_object()) return fail(Code::corrupt, "the TokenReview has no status");
  if (!is_true(*status, "authenticated")) return identity::UserRef();
  User user{.name = std::string(wire::find_string(*status, "user.username")),
            .uid = std::string(wire::find_string(*status, "user.uid")),
            .groups = text_list(wire::find(*status, "user.groups")),
            .extra = {}};
  if (user.name.empty()) return fail(Code::corrupt, "the TokenReview names no user");
  if (const Json* extra = wire::find(*status, "user.extra"); extra && extra->is_object())
    for (const auto& [key, values] : extra->get_object())
      user.extra[std::string(key)] = text_list(&values);
  return std::make_shared<const User>(identity::with_authenticated_group(std::move(user)));
}

Json encode_access_review(const Attributes& wanted) {
  const User& user = *wanted.user;
  JsonObject spec;
  add(spec, "user", user.name);
  add(spec, "uid", user.uid);
  if (!user.groups.empty()) spec["groups"] = text_array(user.groups);
  JsonObject extra;
  for (const auto& [key, values] : user.extra) extra[key] = text_array(values);
  if (!extra.empty()) spec["extra"] = std::move(extra);
  JsonObject asked;
  add(asked, "verb", wanted.verb);
  if (wanted.is_resource) {
    add(asked, "group", wanted.group);
    add(asked, "version", wanted.version);
    add(asked, "resource", wanted.resource);
    add(asked, "subresource", wanted.subresource);
    add(asked, "namespace", wanted.namespace_);
    add(asked, "name", asked_name(wanted));
    spec["resourceAttributes"] = std::move(asked);
  } else {
    add(asked, "path", wanted.path);
    spec["nonResourceAttributes"] = std::move(asked);
  }
  return JsonObject{{"apiVersion", "authorization.k8s.io/v1"},
                    {"kind", "SubjectAccessReview"},
                    {"spec", std::move(spec)}};
}

Result<identity::Decision> decode_access_review(const Json& review) {
  const Json* status = wire::find(review, "status");
  if (!status || !status->is_object())
    return fail(Code::corrupt, "the SubjectAccessReview has no status");
  if (is_true(*status, "allowed") && !is_true(*status, "denied"))
    return identity::Decision::allow();
  std::string_view reason = wire::find_string(*status, "reason");
  if (reason.empty()) reason = wire::find_string(*status, "evaluationError");
  return identity::Decision::deny(std::string(reason));
}

identity::Digest access_key(const Attributes& wanted) {
  const User& user = *wanted.user;
  std::string bytes = wanted.is_resource ? "r" : "p";
  append(bytes, user.name);
  append(bytes, user.uid);
  append(bytes, user.groups);
  append(bytes, std::to_string(user.extra.size()));
  for (const auto& [key, values] : user.extra) {
    append(bytes, key);
    append(bytes, values);
  }
  append(bytes, wanted.verb);
  if (!wanted.is_resource) {
    append(bytes, wanted.path);
    return identity::sha256(bytes);
  }
  for (const std::string_view part : {wanted.group, wanted.version, wanted.resource,
                                      wanted.subresource, wanted.namespace_, asked_name(wanted)})
    append(bytes, part);
  return identity::sha256(bytes);
}

}  // namespace fairlead::delegation
