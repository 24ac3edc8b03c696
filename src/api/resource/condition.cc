#include "api/resource/condition.h"

namespace fairlead::resource {

const Json* find_condition(const Json& object, std::string_view type) {
  const Json* list = wire::find(object, "status.conditions");
  const JsonArray* conditions = list ? list->if_array() : nullptr;
  if (!conditions) return nullptr;
  for (const Json& condition : *conditions)
    if (wire::find_string(condition, "type") == type) return &condition;
  return nullptr;
}

bool set_condition(Json& object, const Condition& wanted, Moment now) {
  const Json* known = find_condition(object, wanted.type);
  JsonObject made;
  if (known) made = known->get_object();
  const bool same = known && wire::find_string(*known, "status") == wanted.status;
  if (!same || !made.contains("lastTransitionTime")) made["lastTransitionTime"] = rfc3339(now);
  made["type"] = wanted.type;
  made["status"] = wanted.status;
  made["reason"] = wanted.reason;
  made["message"] = wanted.message;
  if (wanted.observed_generation) made["observedGeneration"] = *wanted.observed_generation;
  if (known && known->get_object() == made) return false;
  JsonObject& status = wire::member_object(object.get_object(), "status");
  Json& list = status["conditions"];
  if (!list.is_array()) list.emplace_array();
  for (Json& condition : list.get_array()) {
    if (wire::find_string(condition, "type") != wanted.type) continue;
    condition = std::move(made);
    return true;
  }
  list.get_array().push_back(std::move(made));
  return true;
}

}  // namespace fairlead::resource
