#include "resource/condition.h"

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
  JsonObject made{{"type", wanted.type},
                  {"status", wanted.status},
                  {"lastTransitionTime", rfc3339(now)},
                  {"reason", wanted.reason},
                  {"message", wanted.message}};
  if (wanted.observed_generation) made["observedGeneration"] = *wanted.observed_generation;
  const Json* before = find_condition(object, wanted.type);
  if (before && wire::find_string(*before, "status") == wanted.status)
    if (const Json* since = wire::find(*before, "lastTransitionTime"))
      made["lastTransitionTime"] = *since;
  if (before && before->is_object() && before->get_object() == made) return false;
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
