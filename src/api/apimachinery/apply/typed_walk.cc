// What an object looks like through its schema; the walks over one or two objects. Merging and
// removing are in typed_merge.cc.
#include "api/apimachinery/apply/typed_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/apimachinery/apply/typed_shape.h"

namespace fairlead::apimachinery {
namespace {

using resource::Schema;

std::string field_element(std::string_view name) {
  std::string element;
  element.reserve(name.size() + 2);
  element += "f:";
  element += name;
  return element;
}

// Items of one key, in both versions of a list.
struct ItemPair {
  std::vector<const Json*> before;
  std::vector<const Json*> after;
};
using ItemPairs = std::map<std::string, ItemPair>;

void index_items(const Schema& list, const Json* value, std::vector<const Json*> ItemPair::* side,
                 ItemPairs& out) {
  const JsonArray* items = value ? value->if_array() : nullptr;
  if (!items) return;
  for (const Json& item : *items) {
    if (auto element = item_element(list, item)) (out[*element].*side).push_back(&item);
  }
}

// --- applied_fields

FieldSet fields_of(const Schema* schema, const Json& value);

FieldSet fields_of_map(const Schema* schema, const JsonObject& object) {
  std::vector<FieldNode> nodes;
  nodes.reserve(object.size());
  for (const auto& member : object) {
    const Json& value = member.value();
    const Schema* below = member_schema(schema, member.key());
    FieldNode node{field_element(member.key()), false, fields_of(below, value)};
    const bool empty_object = value.is_object() && value.get_object().empty();
    node.member = shape_of(below, value) == ValueShape::leaf || empty_object ||
                  !is_declared(schema, member.key());
    nodes.push_back(std::move(node));
  }
  return FieldSet::from_nodes(std::move(nodes));
}

FieldSet fields_of_list(const Schema& schema, const Json& value) {
  ItemPairs items;
  index_items(schema, &value, &ItemPair::after, items);
  std::vector<FieldNode> nodes;
  nodes.reserve(items.size());
  for (auto& [element, pair] : items) {
    FieldNode node{element, true, {}};
    // Items that share a key are owned as one.
    if (pair.after.size() == 1) node.below = fields_of(schema.items.get(), *pair.after.front());
    nodes.push_back(std::move(node));
  }
  return FieldSet::from_nodes(std::move(nodes));
}

FieldSet fields_of(const Schema* schema, const Json& value) {
  switch (shape_of(schema, value)) {
    case ValueShape::map:
      return fields_of_map(schema, value.get_object());
    case ValueShape::list:
      return fields_of_list(*schema, value);
    case ValueShape::leaf:
      break;
  }
  return {};
}

// --- compare_objects

// Everything in a value that is there on one side only: each path, parents included.
FieldSet everything_in(const Schema* schema, const Json& value) {
  std::vector<FieldNode> nodes;
  switch (shape_of(schema, value)) {
    case ValueShape::map:
      nodes.reserve(value.get_object().size());
      for (const auto& member : value.get_object()) {
        nodes.push_back({field_element(member.key()), true,
                         everything_in(member_schema(schema, member.key()), member.value())});
      }
      break;
    case ValueShape::list: {
      ItemPairs items;
      index_items(*schema, &value, &ItemPair::after, items);
      for (auto& [element, pair] : items) {
        FieldNode node{element, true, {}};
        if (pair.after.size() == 1) {
          node.below = everything_in(schema->items.get(), *pair.after.front());
        }
        nodes.push_back(std::move(node));
      }
      break;
    }
    case ValueShape::leaf:
      break;
  }
  return FieldSet::from_nodes(std::move(nodes));
}

struct Difference {
  bool modified = false;  // the value itself, as a leaf
  FieldSet removed;
  FieldSet changed;
};

Difference compare_values(const Schema* schema, const Json& before, const Json& after);

// Collects the two sides of one level.
struct LevelDifference {
  std::vector<FieldNode> removed;
  std::vector<FieldNode> changed;

  void compare(std::string element, const Schema* schema, const Json* before, const Json* after) {
    if (!before) {
      changed.push_back({std::move(element), true, everything_in(schema, *after)});
    } else if (!after) {
      removed.push_back({std::move(element), true, everything_in(schema, *before)});
    } else {
      Difference below = compare_values(schema, *before, *after);
      if (!below.removed.empty()) removed.push_back({element, false, std::move(below.removed)});
      if (below.modified || !below.changed.empty()) {
        changed.push_back({std::move(element), below.modified, std::move(below.changed)});
      }
    }
  }

  Difference finish() {
    return {false, FieldSet::from_nodes(std::move(removed)),
            FieldSet::from_nodes(std::move(changed))};
  }
};

using MemberFilter = std::function<bool(std::string_view)>;

Difference compare_maps(const Schema* schema, const JsonObject& before, const JsonObject& after,
                        const MemberFilter& looked_at = {}) {
  LevelDifference level;
  for (const auto& member : after) {
    if (looked_at && !looked_at(member.key())) continue;
    const Json* old_value = before.if_contains(member.key());
    // Scalars that stayed are the common case; they need no element.
    if (old_value && !old_value->is_structured() && !member.value().is_structured() &&
        equal_values(*old_value, member.value())) {
      continue;
    }
    level.compare(field_element(member.key()), member_schema(schema, member.key()), old_value,
                  &member.value());
  }
  for (const auto& member : before) {
    if (after.contains(member.key()) || (looked_at && !looked_at(member.key()))) continue;
    level.compare(field_element(member.key()), member_schema(schema, member.key()), &member.value(),
                  nullptr);
  }
  return level.finish();
}

bool same_items(const std::vector<const Json*>& a, const std::vector<const Json*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Json* x, const Json* y) { return equal_values(*x, *y); });
}

// Items that share a key with others are compared as one leaf.
void compare_items(LevelDifference& level, const std::string& element, const Schema* items,
                   const ItemPair& pair) {
  const auto& [before, after] = pair;
  if (before.size() <= 1 && after.size() <= 1) {
    level.compare(element, items, before.empty() ? nullptr : before.front(),
                  after.empty() ? nullptr : after.front());
  } else if (before.size() >= 2 && after.size() >= 2) {
    if (!same_items(before, after)) level.changed.push_back({element, true, {}});
  } else if (before.size() >= 2) {
    if (after.empty()) {
      level.removed.push_back({element, true, {}});
    } else {
      level.compare(element, items, nullptr, after.front());
    }
  } else {
    if (!before.empty()) {
      level.removed.push_back({element, false, everything_in(items, *before.front())});
    }
    level.changed.push_back({element, true, {}});
  }
}

Difference compare_lists(const Schema& schema, const Json& before, const Json& after) {
  ItemPairs items;
  index_items(schema, &before, &ItemPair::before, items);
  index_items(schema, &after, &ItemPair::after, items);
  LevelDifference level;
  for (const auto& [element, pair] : items) {
    compare_items(level, element, schema.items.get(), pair);
  }
  return level.finish();
}

Difference compare_values(const Schema* schema, const Json& before, const Json& after) {
  const ValueShape old_shape = shape_of(schema, before);
  const ValueShape new_shape = shape_of(schema, after);
  if (old_shape == ValueShape::map && new_shape == ValueShape::map) {
    return compare_maps(schema, before.get_object(), after.get_object());
  }
  if (old_shape == ValueShape::list && new_shape == ValueShape::list) {
    return compare_lists(*schema, before, after);
  }
  if (old_shape == ValueShape::leaf && new_shape == ValueShape::leaf) {
    return {!equal_values(before, after), {}, {}};
  }
  // The value changed its shape: what was below is gone, what is below now is new.
  return {true, everything_in(schema, before), everything_in(schema, after)};
}

}  // namespace

FieldSet applied_fields(const Schema& schema, const Json& object) {
  return fields_of(&schema, object);
}

Comparison compare_objects(const Schema& schema, const Json& old_object, const Json& new_object,
                           const MemberFilter& looked_at) {
  Difference difference =
      compare_maps(&schema, old_object.as_object(), new_object.as_object(), looked_at);
  return {std::move(difference.removed), std::move(difference.changed)};
}

Result<std::string> item_element(const Schema& list, const Json& item) {
  if (list.list_type == Schema::ListType::set) {
    if (item.is_structured() || item.is_null()) {
      return fail(Code::invalid, "an item of a set must be a plain value");
    }
    return "v:" + wire::encode_json(item);
  }
  const JsonObject* object = item.if_object();
  if (!object) return fail(Code::invalid, "an item of a keyed list must be an object");
  JsonObject keys;
  for (const std::string& name : list.map_keys) {
    if (const Json* value = object->if_contains(name)) {
      keys[name] = *value;
    } else if (const resource::Field* field = list.items ? list.items->find(name) : nullptr;
               field && field->schema.default_value) {
      keys[name] = *field->schema.default_value;
    }
  }
  if (keys.empty()) {
    return fail(Code::invalid,
                fmt::format("an item lacks its key field {}", fmt::join(list.map_keys, ", ")));
  }
  return key_element(keys);
}

bool equal_values(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_double() || b.is_double()) return a.to_number<double>() == b.to_number<double>();
    if (a.is_uint64() && b.is_uint64()) return a.get_uint64() == b.get_uint64();
    if (a.is_int64() && b.is_int64()) return a.get_int64() == b.get_int64();
    const bool a_signed = a.is_int64();
    const std::int64_t negative = a_signed ? a.get_int64() : b.get_int64();
    const std::uint64_t other = a_signed ? b.get_uint64() : a.get_uint64();
    return negative >= 0 && static_cast<std::uint64_t>(negative) == other;
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_object()) {
    const JsonObject& left = a.get_object();
    const JsonObject& right = b.get_object();
    if (left.size() != right.size()) return false;
    return std::all_of(left.begin(), left.end(), [&](const auto& member) {
      const Json* other = right.if_contains(member.key());
      return other && equal_values(member.value(), *other);
    });
  }
  if (a.is_array()) {
    const JsonArray& left = a.get_array();
    const JsonArray& right = b.get_array();
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), equal_values);
  }
  return a == b;
}

}  // namespace fairlead::apimachinery
