// For tests of kinds: a write as the API server carries it out, without the server.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/resource/schema/validation.h"

namespace fairlead::resource::testing {

inline Json json(std::string_view text) {
  auto parsed = wire::parse_json(text);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? parsed->value : Json();
}

inline Moment moment(std::string_view text) { return *parse_rfc3339(text); }

inline constexpr std::string_view kNow = "2024-05-01T12:00:00.000123Z";

struct Written {
  Json object;
  std::vector<std::string> errors;
};

// Takes the object through the passes of a write, in the server's order.
inline Written write(const Kind& kind, Json object, const Json* old = nullptr,
                     Write how = Write::create, std::string_view now = kNow) {
  unknown_fields(kind.schema, object, true);
  apply_defaults(kind.schema, object);
  FieldErrors errors = check_metadata(kind, object);
  if (kind.prepare) kind.prepare(object, old, how, moment(now));
  if (errors.empty()) errors = check_schema(kind.schema, object, old);
  if (errors.empty() && kind.validate) errors = kind.validate(object, old, how);
  Written written{.object = std::move(object), .errors = {}};
  for (const FieldError& error : errors) written.errors.push_back(error.to_string());
  return written;
}

// A minimal object of the kind with `members` added, named "a" in namespace "ns".
inline Json object_of(const Kind& kind, std::string_view members) {
  Json object = json(members);
  JsonObject& top = object.get_object();
  top["apiVersion"] = kind.api_version();
  top["kind"] = kind.kind;
  JsonObject& metadata = wire::member_object(top, "metadata");
  if (!metadata.contains("name")) metadata["name"] = "a";
  if (kind.namespaced && !metadata.contains("namespace")) metadata["namespace"] = "ns";
  return object;
}

// The cells of the row of `object`, as one text: "a|b|5m".
inline std::string row(const Kind& kind, const Json& object, bool wide,
                       std::string_view now = kNow) {
  std::string text;
  for (const Column& column : kind.columns) {
    if (column.priority > 0 && !wide) continue;
    const Json cell = column.cell(object, moment(now));
    if (!text.empty() || &column != &kind.columns.front()) text += '|';
    text += cell.is_string() ? std::string(cell.get_string()) : wire::encode_json(cell);
  }
  return text;
}

using Texts = std::vector<std::string>;

}  // namespace fairlead::resource::testing
