#include "api/resource/core/core_kind.h"

namespace fairlead::resource {

Kind core_kind(std::string group, std::string name, std::string plural, std::string singular) {
  Kind kind;
  kind.group = std::move(group);
  kind.version = "v1";
  kind.kind = std::move(name);
  kind.plural = std::move(plural);
  kind.singular = std::move(singular);
  kind.strategic_merge = true;
  kind.unconditional_update = true;
  return kind;
}

void keep_old_member(Json& object, const Json* old, std::string_view name) {
  JsonObject* members = object.if_object();
  if (!members) return;
  const Json* before = old ? wire::find(*old, name) : nullptr;
  if (before) {
    (*members)[name] = *before;
  } else if (const auto member = members->find(name); member != members->end()) {
    members->stable_erase(member);
  }
}

bool flag_at(const Json& object, std::string_view path) {
  const Json* value = wire::find(object, path);
  return value && value->is_bool() && value->get_bool();
}

std::optional<std::int64_t> integer_at(const Json& object, std::string_view path) {
  const Json* value = wire::find(object, path);
  return value && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

std::string port_text(const Json* port) {
  if (!port || port->is_null()) return "";
  if (const boost::json::string* name = port->if_string()) return std::string(*name);
  return wire::encode_json(*port);
}

void check_port_number(const std::string& field, const Json* port, FieldErrors& errors) {
  const bool good =
      port && port->is_int64() && port->get_int64() >= 1 && port->get_int64() <= 65'535;
  if (!good) {
    errors.push_back(
        invalid(field, port ? *port : Json(0), "must be between 1 and 65535, inclusive"));
  }
}

void check_immutable_data(const Json& object, const Json& old,
                          const std::vector<std::string>& members, FieldErrors& errors) {
  if (!flag_at(old, "immutable")) return;
  constexpr std::string_view kWords = "field is immutable when `immutable` is set";
  if (!flag_at(object, "immutable")) {
    errors.push_back(forbidden("immutable", std::string(kWords)));
  }
  for (const std::string& member : members) {
    if (members_at(object, member) != members_at(old, member)) {
      errors.push_back(forbidden(member, std::string(kWords)));
    }
  }
}

}  // namespace fairlead::resource
