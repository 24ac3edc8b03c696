#include "api/apiserver/audit_log.h"

#include <algorithm>

#include "foundation/base/time_text.h"
#include "foundation/wire/utf8.h"

namespace fairlead::apiserver {
namespace {

Json user_record(const identity::User& user) {
  JsonArray groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  return JsonObject{{"username", user.name}, {"groups", std::move(groups)}};
}

Json object_reference(const apimachinery::RequestInfo& info) {
  JsonObject reference{{"resource", info.resource}, {"apiVersion", info.version}};
  if (!info.group.empty()) reference["apiGroup"] = info.group;
  if (!info.namespace_name.empty()) reference["namespace"] = info.namespace_name;
  if (!info.name.empty()) reference["name"] = info.name;
  if (!info.subresource.empty()) reference["subresource"] = info.subresource;
  return reference;
}

// The beginning of what a client sent: all of it that anybody needs who proved who they are.
std::string_view beginning(std::string_view text, const Request& request) {
  const bool known = request.user && request.user->name != identity::kAnonymousUser;
  std::size_t end = std::min<std::size_t>(text.size(), known ? 8'192 : 512);
  while (end > 0 && end < text.size() && (text[end] & 0xC0) == 0x80) --end;  // whole characters
  return text.substr(0, end);
}

// A transaction may have Secrets among its objects.
void hide_secrets(Json& body) {
  Json* operations = wire::find(body, "operations");
  if (!operations || !operations->is_array()) return;
  for (Json& operation : operations->get_array()) {
    Json* object = wire::find(operation, "object");
    if (!object || wire::find_string(*object, "kind") != "Secret") continue;
    for (const std::string_view member : {"data", "stringData"}) object->get_object().erase(member);
    // kubectl apply keeps a copy of all of it here.
    if (Json* metadata = wire::find(*object, "metadata"); metadata && metadata->is_object())
      metadata->get_object().erase("annotations");
  }
}

}  // namespace

bool AuditLog::wants_body(const Request& request) const {
  return level_ == AuditLevel::request && request.info.is_resource &&
         request.info.resource != "secrets" && !request.info.resource.ends_with("reviews");
}

void AuditLog::record(const Request& request, std::string_view body, WallTime received,
                      WallTime answered) {
  JsonObject event{{"kind", "Event"},
                   {"apiVersion", "audit.k8s.io/v1"},
                   {"level", level_ == AuditLevel::request ? "Request" : "Metadata"},
                   {"auditID", request.audit_id},
                   {"stage", "ResponseComplete"},
                   {"requestURI", beginning(request.exchange.request().target, request)},
                   {"verb", request.info.verb},
                   {"user", request.user ? user_record(*request.user) : Json(JsonObject{})},
                   {"sourceIPs", JsonArray{Json(request.exchange.peer().address)}},
                   {"userAgent", beginning(request.header("User-Agent"), request)},
                   {"responseStatus", JsonObject{{"code", request.answered}}},
                   {"requestReceivedTimestamp", rfc3339_micro(received)},
                   {"stageTimestamp", rfc3339_micro(answered)}};
  if (request.info.is_resource) event["objectRef"] = object_reference(request.info);
  if (request.omitted_body > 0)
    event["annotations"] = JsonObject{{"audit.k8s.io/truncated", "true"}};
  if (!body.empty()) {
    auto parsed = wire::parse_json(body);
    if (parsed) {
      hide_secrets(parsed->value);
      event["requestObject"] = std::move(parsed->value);
    } else if (request.info.resource != "transactions" && wire::is_utf8(body)) {
      event["requestObject"] = body;
    }
  }
  sink_(wire::encode_json(Json(std::move(event))) + "\n");
}

}  // namespace fairlead::apiserver
