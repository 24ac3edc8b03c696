#include "api/apimachinery/patch/strategic_merge.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/apimachinery/apply/typed_shape.h"
#include "api/apimachinery/apply/typed_walk.h"
#include "api/apimachinery/patch/strategic_list.h"

namespace fairlead::apimachinery {
namespace {

using resource::Schema;

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

Answer<> retain_keys(JsonObject& target, const JsonObject& patch, const Json& directive) {
  const JsonArray* keep = directive.if_array();
  if (!keep) return refuse(bad_request("invalid patch format of the patch for $retainKeys"));
  const auto kept = [&](std::string_view name) {
    return std::any_of(keep->begin(), keep->end(), [&](const Json& item) {
      return item.is_string() && std::string_view(item.get_string()) == name;
    });
  };
  for (const auto& member : patch) {
    if (member.key().starts_with('$') || member.value().is_null()) continue;
    if (!kept(member.key())) {
      return refuse(bad_request(fmt::format("patch has field {} which is not in its $retainKeys",
                                            std::string_view(member.key()))));
    }
  }
  std::vector<std::string> extra;
  for (const auto& member : target) {
    if (!kept(member.key())) extra.emplace_back(member.key());
  }
  for (const std::string& name : extra) target.stable_erase(name);
  return {};
}

// Members of a list directive of this object: "$setElementOrder/ports" → ports.
template <class Visit>
Answer<> each_list_directive(const JsonObject& patch, std::string_view prefix, Visit visit) {
  for (const auto& member : patch) {
    if (!std::string_view(member.key()).starts_with(prefix)) continue;
    const JsonArray* list = member.value().if_array();
    if (!list) {
      return refuse(bad_request(
          fmt::format("the value of {} must be a list", std::string_view(member.key()))));
    }
    visit(std::string_view(member.key()).substr(prefix.size()), *list);
  }
  return {};
}

Answer<> merge_object(const Schema* schema, JsonObject& target, const JsonObject& patch);

Answer<> merge_list_member(const Schema& schema, Json& target, const JsonArray& patch,
                           const JsonArray* order) {
  if (!target.is_array()) target.emplace_array();
  const auto merge_item = [&](JsonObject& item, const JsonObject& changes) {
    return merge_object(schema.items.get(), item, changes);
  };
  return merge_strategic_list(schema, target.get_array(), patch, order, merge_item);
}

Answer<> merge_member(const Schema* schema, JsonObject& target, std::string_view name,
                      const Json& change, const JsonArray* order) {
  if (change.is_null()) {
    target.stable_erase(name);
    return {};
  }
  const bool may_merge =
      !schema || schema->type == Schema::Type::object || schema->type == Schema::Type::any;
  if (change.is_object() && may_merge) {
    Json& value = target[name];
    if (!value.is_object()) value.emplace_object();
    return merge_object(schema, value.get_object(), change.get_object());
  }
  if (change.is_array() && schema && schema->patch_merge) {
    return merge_list_member(*schema, target[name], change.get_array(), order);
  }
  target[name] = change;
  return {};
}

const JsonArray* order_of(const JsonObject& patch, std::string_view name) {
  const Json* order = patch.if_contains(fmt::format("{}{}", kOrderPrefix, name));
  return order ? order->if_array() : nullptr;
}

Answer<> apply_directive(JsonObject& target, const JsonObject& patch, const Json& directive) {
  const std::string_view verb =
      directive.is_string() ? std::string_view(directive.get_string()) : "";
  if (verb != "replace" && verb != "delete") {
    return refuse(bad_request(
        fmt::format("unknown patch type found: {} in map", wire::encode_json(directive))));
  }
  target.clear();
  if (verb == "delete") return {};
  for (const auto& member : patch) {
    if (member.key() != kDirective) target[member.key()] = member.value();
  }
  return {};
}

Answer<> merge_object(const Schema* schema, JsonObject& target, const JsonObject& patch) {
  const Json* directive = patch.if_contains(kDirective);
  const bool merges = directive && directive->is_string() && directive->get_string() == "merge";
  if (directive && !merges) return apply_directive(target, patch, *directive);
  if (const Json* keys = patch.if_contains(kRetainKeys)) {
    if (auto done = retain_keys(target, patch, *keys); !done) return done;
  }
  auto deleted =
      each_list_directive(patch, kDeletePrefix, [&](std::string_view name, const JsonArray& gone) {
        Json* list = target.if_contains(name);
        if (list && list->is_array()) remove_primitives(list->get_array(), gone);
      });
  if (!deleted) return deleted;
  for (const auto& member : patch) {
    const std::string_view name = member.key();
    if (name.starts_with(kDeletePrefix) || name.starts_with(kOrderPrefix) || name == kDirective ||
        name == kRetainKeys) {
      continue;
    }
    auto done = merge_member(member_schema(schema, name), target, name, member.value(),
                             order_of(patch, name));
    if (!done) return done;
  }
  // An order given without a list only rearranges.
  return each_list_directive(
      patch, kOrderPrefix, [&](std::string_view name, const JsonArray& order) {
        const Schema* list_schema = member_schema(schema, name);
        Json* list = target.if_contains(name);
        if (patch.contains(name) || !list || !list->is_array() || !list_schema) return;
        const JsonArray before = list->get_array();
        order_strategic_list(*list_schema, list->get_array(), order, before);
      });
}

}  // namespace

Answer<Json> apply_strategic_merge(const Schema& schema, const Json& live, const Json& patch) {
  if (!patch.is_object()) {
    return refuse(bad_request("error decoding patch: a strategic merge patch must be an object"));
  }
  Json object = live;
  if (!object.is_object()) object.emplace_object();
  if (auto done = merge_object(&schema, object.get_object(), patch.get_object()); !done) {
    return std::unexpected(std::move(done).error());
  }
  return object;
}

}  // namespace fairlead::apimachinery
