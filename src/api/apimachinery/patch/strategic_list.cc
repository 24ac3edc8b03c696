#include "api/apimachinery/patch/strategic_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/apimachinery/apply/typed_walk.h"

namespace fairlead::apimachinery {
namespace {

using resource::Schema;

constexpr std::string_view kDirective = "$patch";

std::string_view merge_key(const Schema& schema) {
  if (!schema.patch_merge_key.empty()) return schema.patch_merge_key;
  return schema.map_keys.empty() ? std::string_view() : std::string_view(schema.map_keys.front());
}

// What identifies an item: its key field, or for a list of plain values the value itself.
const Json* identity(std::string_view key, const Json& item) {
  if (!item.is_object()) return item.is_structured() ? nullptr : &item;
  return key.empty() ? nullptr : item.get_object().if_contains(key);
}

bool same_item(std::string_view key, const Json& a, const Json& b) {
  const Json* left = identity(key, a);
  const Json* right = identity(key, b);
  return left && right && equal_values(*left, *right);
}

std::ptrdiff_t index_of(std::string_view key, const JsonArray& list, const Json& item) {
  const auto it = std::find_if(list.begin(), list.end(),
                               [&](const Json& other) { return same_item(key, other, item); });
  return it == list.end() ? -1 : it - list.begin();
}

std::string_view directive_of(const Json& item) {
  const JsonObject* object = item.if_object();
  const Json* directive = object ? object->if_contains(kDirective) : nullptr;
  return directive && directive->is_string() ? std::string_view(directive->get_string()) : "";
}

JsonArray without_directives(const JsonArray& patch) {
  JsonArray plain;
  for (const Json& item : patch) {
    if (directive_of(item).empty()) plain.push_back(item);
  }
  return plain;
}

Answer<> apply_item_directives(std::string_view key, JsonArray& list, const JsonArray& patch) {
  for (const Json& item : patch) {
    if (!item.is_object() || !item.get_object().contains(kDirective)) continue;
    const std::string_view verb = directive_of(item);
    if (verb == "replace") {
      list.clear();
    } else if (verb == "delete") {
      if (!identity(key, item)) {
        return refuse(bad_request(fmt::format("delete patch type with no merge key defined: {}",
                                              wire::encode_json(item))));
      }
      JsonArray left;
      for (const Json& old : list) {
        if (!same_item(key, old, item)) left.push_back(old);
      }
      list = std::move(left);
    } else if (verb != "merge") {
      return refuse(bad_request(
          fmt::format("unknown patch type found: {} in list", wire::encode_json(item))));
    }
  }
  return {};
}

Answer<> merge_one(std::string_view key, JsonArray& list, const Json& item,
                   const MergeItem& merge_item) {
  if (item.is_object() && !identity(key, item)) {
    return refuse(bad_request(fmt::format("map: {} does not contain declared merge key: {}",
                                          wire::encode_json(item), key)));
  }
  const std::ptrdiff_t index = index_of(key, list, item);
  if (!item.is_object()) {
    if (index < 0) list.push_back(item);
    return {};
  }
  if (index < 0) list.push_back(JsonObject());
  Json& target = index < 0 ? list.back() : list[static_cast<std::size_t>(index)];
  if (!target.is_object()) target.emplace_object();
  return merge_item(target.get_object(), item.get_object());
}

}  // namespace

void remove_primitives(JsonArray& list, const JsonArray& gone) {
  JsonArray left;
  for (const Json& item : list) {
    const bool removed = std::any_of(gone.begin(), gone.end(),
                                     [&](const Json& other) { return equal_values(item, other); });
    if (!removed) left.push_back(item);
  }
  list = std::move(left);
}

void order_strategic_list(const Schema& schema, JsonArray& list, const JsonArray& order,
                          const JsonArray& before) {
  const std::string_view key = merge_key(schema);
  struct Place {
    const Json* item;
    std::ptrdiff_t ordered;   // in `order`, or -1
    std::ptrdiff_t previous;  // in `before`, or -1
  };
  std::vector<Place> ordered;
  std::vector<Place> others;
  for (const Json& item : list) {
    Place place{&item, index_of(key, order, item), index_of(key, before, item)};
    (place.ordered >= 0 ? ordered : others).push_back(place);
  }
  // Places in the list break ties, so that the order is total.
  std::sort(ordered.begin(), ordered.end(), [](const Place& a, const Place& b) {
    return std::tie(a.ordered, a.item) < std::tie(b.ordered, b.item);
  });
  std::sort(others.begin(), others.end(), [](const Place& a, const Place& b) {
    return std::tie(a.previous, a.item) < std::tie(b.previous, b.item);
  });
  JsonArray out;
  std::size_t next_other = 0;
  for (const Place& place : ordered) {
    while (next_other < others.size() && place.previous >= 0 && others[next_other].previous >= 0 &&
           others[next_other].previous < place.previous) {
      out.push_back(*others[next_other++].item);
    }
    out.push_back(*place.item);
  }
  while (next_other < others.size()) out.push_back(*others[next_other++].item);
  list = std::move(out);
}

Answer<> merge_strategic_list(const Schema& schema, JsonArray& list, const JsonArray& patch,
                              const JsonArray* order, const MergeItem& merge_item) {
  // Matching items by key is quadratic; honest lists are short.
  constexpr std::size_t kMaxItems = 1'024;
  if (list.size() > kMaxItems || patch.size() > kMaxItems) {
    return refuse(request_entity_too_large("too many list items for a strategic merge patch"));
  }
  const std::string_view key = merge_key(schema);
  const JsonArray before = list;
  if (auto done = apply_item_directives(key, list, patch); !done) return done;
  const JsonArray plain = without_directives(patch);
  for (const Json& item : plain) {
    if (auto done = merge_one(key, list, item, merge_item); !done) return done;
  }
  order_strategic_list(schema, list, order ? *order : plain, before);
  return {};
}

}  // namespace fairlead::apimachinery
