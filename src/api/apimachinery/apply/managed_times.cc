// Telling whether two objects differ in more than the times of their managedFields.
#include "api/apimachinery/apply/managed_fields.h"
#include "api/apimachinery/apply/typed_walk.h"

namespace fairlead::apimachinery {
namespace {

bool equal_except(const JsonObject& a, const JsonObject& b, std::string_view ignored) {
  const auto relevant = [&](const JsonObject& object) {
    return object.size() - (object.contains(ignored) ? 1 : 0);
  };
  if (relevant(a) != relevant(b)) return false;
  for (const auto& member : a) {
    if (member.key() == ignored) continue;
    const Json* other = b.if_contains(member.key());
    if (!other || !equal_values(member.value(), *other)) return false;
  }
  return true;
}

bool same_entries(const Json* a, const Json* b) {
  const JsonArray* left = a ? a->if_array() : nullptr;
  const JsonArray* right = b ? b->if_array() : nullptr;
  if (!left || !right) return !left && !right;
  if (left->size() != right->size()) return false;
  for (std::size_t i = 0; i < left->size(); ++i) {
    const JsonObject* old_entry = (*left)[i].if_object();
    const JsonObject* new_entry = (*right)[i].if_object();
    if (!old_entry || !new_entry || !equal_except(*old_entry, *new_entry, "time")) return false;
  }
  return true;
}

}  // namespace

bool same_but_for_managed_times(const Json& live, const Json& object) {
  const JsonObject* before = live.if_object();
  const JsonObject* after = object.if_object();
  if (!before || !after || !equal_except(*before, *after, "metadata")) return false;
  const Json* old_metadata = before->if_contains("metadata");
  const Json* new_metadata = after->if_contains("metadata");
  if (!old_metadata || !new_metadata) return !old_metadata && !new_metadata;
  if (!old_metadata->is_object() || !new_metadata->is_object()) return false;
  return equal_except(old_metadata->get_object(), new_metadata->get_object(), "managedFields") &&
         same_entries(old_metadata->get_object().if_contains("managedFields"),
                      new_metadata->get_object().if_contains("managedFields"));
}

}  // namespace fairlead::apimachinery
