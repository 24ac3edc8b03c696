// Schema: the shape of a kind as data. Everything that needs to know fields (type checks, unknown
// fields, defaults, immutability, OpenAPI, explain, merge semantics of server-side apply and
// strategic merge) walks this one tree.
//
// Pure values; built once at start-up (api/resource/catalog.h) and never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/wire/json.h"

namespace fairlead::resource {

struct Field;

struct Schema {
  enum class Type { object, array, string, integer, number, boolean, int_or_string, any };
  // How server-side apply and strategic merge treat a list or map.
  enum class ListType { atomic, set, map };

  Type type = Type::any;
  std::string description;
  std::string format;  // "int32", "int64", "date-time", "micro-time", "byte", …
  bool nullable = false;

  std::vector<Field> fields;             // object: declared members
  std::shared_ptr<const Schema> values;  // object used as a map: schema of its values
  bool preserve_unknown = false;         // object: other members are kept and not reported
  bool atomic = false;                   // object: owned as a whole by server-side apply

  std::shared_ptr<const Schema> items;  // array
  ListType list_type = ListType::atomic;
  std::vector<std::string> map_keys;  // ListType::map: the fields that identify an item
  // Strategic merge: lists with list_type map or set merge; `retain_keys` for unions.
  std::string patch_merge_key;  // empty: first of map_keys
  bool patch_merge = false;     // strategic merge merges this list (else it replaces)

  std::optional<Json> default_value;
  std::vector<std::string> allowed;  // string: enumeration
  std::optional<std::int64_t> minimum;
  std::optional<std::int64_t> maximum;
  std::optional<std::size_t> max_length;  // string: bytes; array: items

  const Field* find(std::string_view name) const;
};

struct Field {
  std::string name;
  Schema schema;
  bool required = false;
  bool immutable = false;  // an update may not change it
};

}  // namespace fairlead::resource
