// Patches of every kind against a live object: the input is two JSON values, the object and the
// patch, with a line end between them. What must hold whatever they are:
//
//   - the live object stays as it was, and the same patch gives the same result again;
//   - a result is JSON that can be written and read, and no larger than what went into it allows;
//   - a refusal is a 4xx with a message;
//   - merge patches and applies carried out twice give what they gave once;
//   - no directive of a strategic patch ends up in the object;
//   - managedFields can be read, and nobody owns a field that is not there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/apimachinery/apply/managed_fields.h"
#include "api/apimachinery/apply/server_side_apply.h"
#include "api/apimachinery/apply/typed_walk.h"
#include "api/apimachinery/patch/json_patch.h"
#include "api/apimachinery/patch/merge_patch.h"
#include "api/apimachinery/patch/strategic_merge.h"
#include "api/resource/core/core_kinds.h"
#include "api/resource/schema/validation.h"
#include "foundation/base/check.h"

using namespace fairlead;                // NOLINT
using namespace fairlead::apimachinery;  // NOLINT

namespace {

const Writer kFirst{"first", "", "2024-01-01T00:00:00Z"};
const Writer kFuzz{"fuzz", "", "2024-01-02T00:00:00Z"};
const Writer kRival{"rival", "", "2024-01-03T00:00:00Z"};

const resource::Kind& service() {
  static const resource::Kind kind = resource::service_kind();
  return kind;
}

std::size_t size_of(const Json& value) { return wire::encode_json(value).size(); }

void check_json(const Json& value, std::size_t most) {
  const std::string text = wire::encode_json(value);
  CHECK(text.size() <= most);
  wire::JsonParseOptions options;
  options.max_depth = 1'000;
  const auto again = wire::parse_json(text, options);
  CHECK(again && again->duplicates.empty());
  CHECK(wire::encode_json(again->value) == text);
}

void check_refusal(const Status& status) {
  CHECK(status.code >= 400 && status.code < 500);
  CHECK(!status.message.empty());
}

bool is_directive(std::string_view key) {
  return key == "$patch" || key == "$retainKeys" || key.starts_with("$setElementOrder/") ||
         key.starts_with("$deleteFromPrimitiveList/");
}

// Whether any key below fulfils the condition.
template <class Condition>
bool any_key(const Json& value, Condition condition) {
  if (value.is_array())
    return std::ranges::any_of(value.get_array(),
                               [&](const Json& item) { return any_key(item, condition); });
  if (!value.is_object()) return false;
  return std::ranges::any_of(value.get_object(), [&](const auto& member) {
    return condition(std::string_view(member.key())) || any_key(member.value(), condition);
  });
}

// Merge patches cannot say null; inside lists it stands for itself.
Json without_nulls(const Json& value) {
  if (!value.is_object()) return value;
  JsonObject kept;
  for (const auto& [key, member] : value.get_object())
    if (!member.is_null()) kept[key] = without_nulls(member);
  return kept;
}

void try_json_patch(const Json& live, const Json& patch) {
  const auto patched = apply_json_patch(live, patch);
  const auto again = apply_json_patch(live, patch);
  CHECK(patched.has_value() == again.has_value());
  if (!patched) return check_refusal(patched.error());
  CHECK(wire::encode_json(*patched) == wire::encode_json(*again));
  check_json(*patched, size_of(live) + size_of(patch) + 2 * kMaxJsonPatchCopyBytes);
  CHECK(patch.is_array());
  const bool only_tests = std::ranges::all_of(patch.get_array(), [](const Json& operation) {
    return wire::find_string(operation, "op") == "test";
  });
  if (only_tests) CHECK(wire::encode_json(*patched) == wire::encode_json(live));
}

void try_merge_patch(const Json& live, const Json& patch) {
  Json merged = live;
  apply_merge_patch(merged, patch);
  check_json(merged, size_of(live) + size_of(patch));
  Json twice = merged;
  apply_merge_patch(twice, patch);
  CHECK(twice == merged);
  if (!live.is_object() || !merged.is_object()) return;
  Json unchanged = merged;
  apply_merge_patch(unchanged, JsonObject{});
  CHECK(unchanged == merged);
  Json rebuilt = live;
  apply_merge_patch(rebuilt, make_merge_patch(live, merged));
  CHECK(without_nulls(rebuilt) == without_nulls(merged));
  CHECK(make_merge_patch(merged, merged) == Json(JsonObject{}));
}

bool fits(const Json& object) {
  return resource::check_schema(service().schema, object, nullptr).empty();
}

void try_strategic_merge(const Json& live, const Json& patch) {
  const auto merged = apply_strategic_merge(service().schema, live, patch);
  const auto again = apply_strategic_merge(service().schema, live, patch);
  CHECK(merged.has_value() == again.has_value());
  if (!merged) return check_refusal(merged.error());
  CHECK(*merged == *again);
  check_json(*merged, size_of(live) + size_of(patch));
  // Inside lists of members that the schema does not know nothing is a directive.
  if (any_key(live, is_directive)) return;
  for (const char* known : {"metadata.labels", "metadata.annotations", "spec.ports"})
    if (const Json* part = wire::find(*merged, known); part && fits(*merged))
      CHECK(!any_key(*part, is_directive));
}

// As the server takes an object before it looks at who owns what: defaults, and no members that
// the schema does not know. False: it is refused then.
bool admit(Json& object) {
  JsonObject& members = object.get_object();
  members["apiVersion"] = "v1";
  members["kind"] = "Service";
  if (Json& metadata = members["metadata"]; !metadata.is_object()) metadata = JsonObject{};
  (void)resource::unknown_fields(service().schema, object, true);
  resource::apply_defaults(service().schema, object);
  return resource::check_schema(service().schema, object, nullptr).empty();
}

// No members that are only kept (preserve_unknown): how those are owned has no schema to go by.
bool all_known(const resource::Schema& schema, const Json& value) {
  if (value.is_array())
    return !schema.items || std::ranges::all_of(value.get_array(), [&](const Json& item) {
      return all_known(*schema.items, item);
    });
  if (!value.is_object() || schema.values) return true;
  return std::ranges::all_of(value.get_object(), [&](const auto& member) {
    const resource::Field* field = schema.find(member.key());
    return member.key() == "managedFields" || (field && all_known(field->schema, member.value()));
  });
}

// What managedFields say is well-formed, nobody is in it twice or for nothing, and everybody's
// fields are fields of the object. The structs of a built-in type (spec) count as such: who applies
// an empty one owns it, as on kube-apiserver. Who writes into them does not.
void check_ownership(const Json& object) {
  const Json* list = wire::find(object, "metadata.managedFields");
  if (!list || !all_known(service().schema, object)) return;
  const auto entries = parse_managed_fields(*list);
  CHECK(entries.has_value());
  CHECK(Json(encode_managed_fields(*entries)) == *list);
  const FieldSet all = compare_objects(service().schema, JsonObject(), object).changed;
  for (const ManagedEntry& entry : *entries) {
    CHECK(!entry.fields.empty());
    CHECK(entry.fields.subtract(all).empty());
    if (!entry.apply) CHECK(!entry.fields.contains({"f:spec"}));
  }
  for (std::size_t i = 0; i < entries->size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      CHECK(!(*entries)[i].same_identity((*entries)[other]));
}

bool owns_anything(const Json& object, const Writer& writer) {
  return std::ranges::any_of(live_entries(object), [&](const ManagedEntry& entry) {
    return entry.apply && entry.manager == writer.manager;
  });
}

// An object as the store has it: what was sent, in the name of `kFirst`. Nothing: it is refused.
std::optional<Json> stored_object(const Json& sent) {
  Json object = sent;
  if (!admit(object)) return std::nullopt;
  object.get_object()["metadata"].get_object().erase("managedFields");
  track_create(service(), object, kFirst);
  check_ownership(object);
  return object;
}

void try_apply(const Json& stored, const Json& config) {
  const std::size_t most = 20 * (size_of(stored) + size_of(config)) + 1'000;
  const auto created = server_side_apply(service(), nullptr, config, {kFuzz, false});
  if (!created) {
    check_refusal(created.error());
  } else {
    check_json(*created, most);
    if (fits(*created)) check_ownership(*created);
  }
  const auto polite = server_side_apply(service(), &stored, config, {kFuzz, false});
  const auto applied = server_side_apply(service(), &stored, config, {kFuzz, true});
  if (!polite) check_refusal(polite.error());
  if (!applied) return check_refusal(applied.error());
  // Force changes nothing but who wins.
  CHECK(polite.has_value() || polite.error().code == 409);
  if (polite) CHECK(same_but_for_managed_times(*polite, *applied));
  check_json(*applied, most);
  // An apply that went through goes through again, and changes nothing then.
  const auto again = server_side_apply(service(), &*applied, config, {kFuzz, false});
  CHECK(again.has_value());
  if (!fits(*applied)) return;  // what follows is refused
  check_ownership(*applied);
  CHECK(same_but_for_managed_times(*applied, *again));
  // A rival that wants the same has no quarrel.
  const auto shared = server_side_apply(service(), &*applied, config, {kRival, false});
  CHECK(shared.has_value());
  check_ownership(*shared);
  // Whoever applies nothing owns nothing any more.
  const Json nothing = JsonObject{{"apiVersion", "v1"}, {"kind", "Service"}};
  const auto gone = server_side_apply(service(), &*applied, nothing, {kFuzz, false});
  CHECK(gone.has_value());
  CHECK(!owns_anything(*gone, kFuzz));
  check_ownership(*gone);
}

void try_tracking(const Json& stored, const Json& sent) {
  Json same = stored;
  track_update(service(), stored, same, kFuzz);
  CHECK(same_but_for_managed_times(stored, same));
  Json updated = sent;
  if (!admit(updated)) return;
  updated.get_object()["metadata"].get_object().erase("managedFields");
  track_update(service(), stored, updated, kFuzz);
  check_ownership(updated);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t split = text.find('\n');
  if (split == std::string_view::npos) return 0;
  wire::JsonParseOptions options;
  options.max_depth = 40;
  const auto live = wire::parse_json(text.substr(0, split), options);
  const auto patch = wire::parse_json(text.substr(split + 1), options);
  if (!live || !patch) return 0;
  const std::string before = wire::encode_json(live->value);
  try_json_patch(live->value, patch->value);
  try_merge_patch(live->value, patch->value);
  if (live->value.is_object()) {
    try_strategic_merge(live->value, patch->value);
    if (patch->value.is_object()) {
      Json config = patch->value;
      config.get_object()["apiVersion"] = "v1";
      config.get_object()["kind"] = "Service";
      // Whatever else the store holds (metadata is an object in any case), nothing may crash.
      Json any = live->value;
      if (Json& metadata = any.get_object()["metadata"]; !metadata.is_object())
        metadata = JsonObject{};
      (void)server_side_apply(service(), &any, config, {kFuzz, true});
      Json replaced = patch->value;
      if (Json& metadata = replaced.get_object()["metadata"]; !metadata.is_object())
        metadata = JsonObject{};
      track_update(service(), any, replaced, kFuzz);
      if (const std::optional<Json> stored = stored_object(live->value)) {
        const std::string stored_before = wire::encode_json(*stored);
        // Members that the schema does not know are taken out before an apply.
        (void)resource::unknown_fields(service().schema, config, true);
        try_apply(*stored, config);
        try_tracking(*stored, patch->value);
        CHECK(wire::encode_json(*stored) == stored_before);
      }
    }
  }
  CHECK(wire::encode_json(live->value) == before);
  return 0;
}
