#include "api/apimachinery/patch/merge_patch.h"

#include "api/apimachinery/apply/typed_walk.h"

namespace fairlead::apimachinery {

void apply_merge_patch(Json& target, const Json& patch) {
  const JsonObject* changes = patch.if_object();
  if (!changes) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  JsonObject& object = target.get_object();
  for (const auto& change : *changes) {
    if (change.value().is_null()) {
      object.stable_erase(change.key());
    } else {
      apply_merge_patch(object[change.key()], change.value());
    }
  }
}

Json make_merge_patch(const Json& from, const Json& to) {
  const JsonObject& old_members = from.get_object();
  const JsonObject& new_members = to.get_object();
  JsonObject patch;
  for (const auto& member : old_members) {
    if (!new_members.contains(member.key())) patch[member.key()] = nullptr;
  }
  for (const auto& member : new_members) {
    const Json* old_value = old_members.if_contains(member.key());
    if (old_value && equal_values(*old_value, member.value())) continue;
    if (old_value && old_value->is_object() && member.value().is_object()) {
      patch[member.key()] = make_merge_patch(*old_value, member.value());
    } else {
      patch[member.key()] = member.value();
    }
  }
  return patch;
}

}  // namespace fairlead::apimachinery
