// How server-side apply sees an object through its schema: which paths it consists of, how two of
// them differ, how one merges into another, and what remains after removing paths.
//
// Objects are granular unless the schema says atomic; lists are atomic unless it says set or map;
// values the schema does not know are granular maps and atomic lists. Pure.
#pragma once

#include <functional>
#include <string>

#include "api/apimachinery/apply/field_set.h"
#include "api/resource/schema/schema.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

// The paths an applied configuration speaks for: leaves, list items, map entries and empty objects.
FieldSet applied_fields(const resource::Schema& schema, const Json& object);

struct Comparison {
  FieldSet removed;
  FieldSet changed;  // added or modified
};
// Only of members of the object itself that `looked_at` wants; default: all.
Comparison compare_objects(const resource::Schema& schema, const Json& old_object,
                           const Json& new_object,
                           const std::function<bool(std::string_view)>& looked_at = {});

// `config` laid over `live`. Fails with invalid when a list of `config` repeats a key or lacks one.
Result<Json> merge_objects(const resource::Schema& schema, const Json& live, const Json& config);

// `object` without the items at the paths of `remove`.
Json remove_fields(const resource::Schema& schema, const Json& object, const FieldSet& remove);

// `set` with every declared field on the way to a member added as a member itself.
FieldSet with_named_parents(const resource::Schema& schema, const FieldSet& set);

// The path element of a list item ("k:{…}" or "v:…"); fails with invalid when it has none.
Result<std::string> item_element(const resource::Schema& list, const Json& item);

// The same JSON value; numbers compare by value.
bool equal_values(const Json& a, const Json& b);

}  // namespace fairlead::apimachinery
