// JSON values and text. The value type is Boost.JSON's; this header adds what the product needs: a
// parser that reports duplicate fields, refuses bad UTF-8 and deep nesting, and helpers to reach
// into values by path.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

// Memory for values that come and go together. It only grows; nothing in it is freed before all is.
// A value made in it must not outlive it; a copy of one (unless copy_beside makes it) may.
using JsonArena = boost::json::monotonic_resource;

namespace wire {

struct JsonParseOptions {
  std::size_t max_depth = 100;
  std::size_t max_bytes = 16 << 20;
  boost::json::storage_ptr memory{};  // of the value; default: the heap
  // Dotted paths of members to skip: they must be well-formed, but are not in the value. For
  // callers that need little of a large object. Duplicate fields are then not detected.
  std::span<const std::string_view> skip{};
};

struct ParsedJson {
  Json value;
  // Paths of fields given twice, as Kubernetes writes them ("spec.size"); the last value won.
  std::vector<std::string> duplicates;
};

// Fails with invalid, naming the offset and what was expected. Exactly one value, nothing after it
// but white space.
Result<ParsedJson> parse_json(std::string_view text, const JsonParseOptions& options = {});

// Compact, no white space.
std::string encode_json(const Json& value);
// The same, appended; for lists and frames put together from many values.
void encode_json_to(std::string& out, const Json& value);
// Two-space indent, for people.
std::string encode_json_pretty(const Json& value);

// Reaching in. `path` is dotted plain names ("spec.vni"); nullptr when any step is missing or is
// not an object.
const Json* find(const Json& value, std::string_view path);
Json* find(Json& value, std::string_view path);
// The string at `path`, or empty.
std::string_view find_string(const Json& value, std::string_view path);
// A copy in the memory of the original.
inline Json copy_beside(const Json& value) { return Json(value, value.storage()); }
// The object member as an object, made if missing. REQUIRES: what is there, if anything, is one.
JsonObject& member_object(JsonObject& object, std::string_view name);

}  // namespace wire
}  // namespace fairlead
