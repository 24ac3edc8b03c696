#include <fmt/format.h>

#include <map>
#include <set>

#include "api/apimachinery/apply/typed_shape.h"
#include "api/apimachinery/apply/typed_walk.h"

namespace fairlead::apimachinery {
namespace {

using resource::Schema;

Result<Json> merge_values(const Schema* schema, const Json& live, const Json& config);

Result<Json> merge_maps(const Schema* schema, const JsonObject& live, const JsonObject& config) {
  JsonObject out = live;
  for (const auto& member : config) {
    const Json* old_value = live.if_contains(member.key());
    if (!old_value) {
      out[member.key()] = member.value();
      continue;
    }
    auto merged = merge_values(member_schema(schema, member.key()), *old_value, member.value());
    if (!merged) return fail(merged.error().context(std::string_view(member.key())));
    out[member.key()] = std::move(*merged);
  }
  return out;
}

struct KeyedItem {
  std::string element;
  const Json* value = nullptr;
};

Result<std::vector<KeyedItem>> keyed_items(const Schema& schema, const JsonArray& list,
                                           bool strict) {
  std::vector<KeyedItem> items;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto element = item_element(schema, list[i]);
    if (!element && strict) return fail(element.error().context(fmt::format("element {}", i)));
    if (!element) element = fmt::format("i:{}", i);  // stays where it is, matches nothing
    if (!seen.insert(*element).second && strict) {
      return fail(Code::invalid,
                  fmt::format("duplicate entries for key {}", element_text(*element)));
    }
    items.push_back({std::move(*element), &list[i]});
  }
  return items;
}

// Items only in `live` keep their place before the next shared item; the order of shared items is
// the one of `config`.
class ListMerger {
 public:
  ListMerger(const Schema& schema, std::vector<KeyedItem> live, std::vector<KeyedItem> config)
      : schema_(schema), live_(std::move(live)), config_(std::move(config)) {
    for (const KeyedItem& item : live_) {
      const auto [it, fresh] = in_live_.emplace(item.element, item.value);
      if (!fresh) it->second = nullptr;  // repeated: nothing to merge with
    }
    for (const KeyedItem& item : config_) in_config_.insert(item.element);
  }

  Result<Json> merge() {
    const std::vector<std::string_view> stops = next_shared();
    for (std::size_t i = 0; i < config_.size(); ++i) {
      take_live_before(stops[i]);
      FL_CHECKED(take(config_[i]));
    }
    take_live_before({});
    return Json(std::move(out_));
  }

 private:
  // For each item of `config` the first one from there on that `live` has too; empty for none.
  std::vector<std::string_view> next_shared() const {
    std::vector<std::string_view> stops(config_.size());
    std::string_view next;
    for (std::size_t i = config_.size(); i-- > 0;) {
      if (in_live_.contains(config_[i].element)) next = config_[i].element;
      stops[i] = next;
    }
    return stops;
  }

  // Copies live-only items up to `stop`; shared ones come when `config` names them.
  void take_live_before(std::string_view stop) {
    for (; next_live_ < live_.size() && live_[next_live_].element != stop; ++next_live_) {
      const KeyedItem& item = live_[next_live_];
      if (!in_config_.contains(item.element)) out_.push_back(*item.value);
    }
  }

  Result<> take(const KeyedItem& item) {
    const auto it = in_live_.find(item.element);
    if (it == in_live_.end() || !it->second) {
      out_.push_back(*item.value);
      return {};
    }
    FL_TRY(Json merged, merge_values(schema_.items.get(), *it->second, *item.value));
    out_.push_back(std::move(merged));
    return {};
  }

  const Schema& schema_;
  std::vector<KeyedItem> live_;
  std::vector<KeyedItem> config_;
  std::map<std::string, const Json*> in_live_;
  std::set<std::string> in_config_;
  std::size_t next_live_ = 0;
  JsonArray out_;
};

// A list that the live object does not have yet still has to be free of repeated keys.
Result<> check_new_value(const Schema* schema, const Json& config) {
  switch (shape_of(schema, config)) {
    case ValueShape::map:
      for (const auto& member : config.get_object()) {
        auto checked = check_new_value(member_schema(schema, member.key()), member.value());
        if (!checked) return fail(checked.error().context(std::string_view(member.key())));
      }
      break;
    case ValueShape::list: {
      FL_CHECKED(keyed_items(*schema, config.get_array(), true));
      for (const Json& item : config.get_array()) {
        FL_CHECKED(check_new_value(schema->items.get(), item));
      }
      break;
    }
    case ValueShape::leaf:
      break;
  }
  return {};
}

Result<Json> merge_values(const Schema* schema, const Json& live, const Json& config) {
  const ValueShape live_shape = shape_of(schema, live);
  const ValueShape config_shape = shape_of(schema, config);
  if (live_shape != config_shape || config_shape == ValueShape::leaf) return config;
  if (config_shape == ValueShape::map) {
    return merge_maps(schema, live.get_object(), config.get_object());
  }
  FL_TRY(auto live_items, keyed_items(*schema, live.get_array(), false));
  FL_TRY(auto config_items, keyed_items(*schema, config.get_array(), true));
  return ListMerger(*schema, std::move(live_items), std::move(config_items)).merge();
}

Json remove_from(const Schema* schema, const Json& value, const FieldSet& remove);

// What is left of a member or item, nullopt when nothing is.
std::optional<Json> remaining(const Schema* schema, const Json& value, const FieldNode* node) {
  if (!node) return value;
  if (node->member) return std::nullopt;
  Json left = remove_from(schema, value, node->below);
  const bool emptied = (left.is_object() && left.get_object().empty()) ||
                       (left.is_array() && left.get_array().empty());
  const bool was_empty = (value.is_object() && value.get_object().empty()) ||
                         (value.is_array() && value.get_array().empty());
  if (emptied && !was_empty) return std::nullopt;
  return left;
}

Json remove_from(const Schema* schema, const Json& value, const FieldSet& remove) {
  if (remove.empty()) return value;
  switch (shape_of(schema, value)) {
    case ValueShape::map: {
      JsonObject out;
      for (const auto& member : value.get_object()) {
        const FieldNode* node = remove.find(fmt::format("f:{}", std::string_view(member.key())));
        auto left = remaining(member_schema(schema, member.key()), member.value(), node);
        if (left) out.emplace(member.key(), std::move(*left));
      }
      return out;
    }
    case ValueShape::list: {
      JsonArray out;
      for (const Json& item : value.get_array()) {
        const auto element = item_element(*schema, item);
        const FieldNode* node = element ? remove.find(*element) : nullptr;
        auto left = remaining(schema->items.get(), item, node);
        if (left) out.push_back(std::move(*left));
      }
      return out;
    }
    case ValueShape::leaf:
      break;
  }
  return value;
}

FieldSet named_parents(const Schema* schema, const FieldSet& set) {
  std::vector<FieldNode> nodes;
  nodes.reserve(set.nodes().size());
  for (const FieldNode& node : set.nodes()) {
    const std::string_view name = std::string_view(node.element).substr(2);
    const bool field = node.element.front() == 'f';
    const Schema* below = nullptr;
    if (field) {
      below = member_schema(schema, name);
    } else if (schema) {
      below = schema->items.get();
    }
    const bool declared = field && is_declared(schema, name);
    nodes.push_back({node.element, node.member || declared, named_parents(below, node.below)});
  }
  return FieldSet::from_nodes(std::move(nodes));
}

}  // namespace

Result<Json> merge_objects(const Schema& schema, const Json& live, const Json& config) {
  FL_CHECKED(check_new_value(&schema, config));
  return merge_values(&schema, live, config);
}

Json remove_fields(const Schema& schema, const Json& object, const FieldSet& remove) {
  return remove_from(&schema, object, remove);
}

FieldSet with_named_parents(const Schema& schema, const FieldSet& set) {
  return named_parents(&schema, set);
}

}  // namespace fairlead::apimachinery
