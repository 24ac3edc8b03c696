// How the walkers of server-side apply see one value; shared by typed_walk.cc and typed_merge.cc.
#pragma once

#include <string_view>

#include "api/resource/schema/schema.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

// leaf: owned as a whole. map: owned member by member. list: owned item by item.
enum class ValueShape { leaf, map, list };

// `schema` is null for values that no schema describes.
inline ValueShape shape_of(const resource::Schema* schema, const Json& value) {
  using resource::Schema;
  if (value.is_object()) {
    if (!schema) return ValueShape::map;
    const bool may_be_object =
        schema->type == Schema::Type::object || schema->type == Schema::Type::any;
    return may_be_object && !schema->atomic ? ValueShape::map : ValueShape::leaf;
  }
  if (value.is_array()) {
    const bool granular = schema && schema->type == Schema::Type::array &&
                          schema->list_type != Schema::ListType::atomic;
    return granular ? ValueShape::list : ValueShape::leaf;
  }
  return ValueShape::leaf;
}

inline bool is_declared(const resource::Schema* schema, std::string_view name) {
  return schema && schema->find(name) != nullptr;
}

inline const resource::Schema* member_schema(const resource::Schema* schema,
                                             std::string_view name) {
  if (!schema) return nullptr;
  if (const resource::Field* field = schema->find(name)) return &field->schema;
  return schema->values.get();
}

}  // namespace fairlead::apimachinery
