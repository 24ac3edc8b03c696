// Base64 written over several lines, as kustomize and PEM-minded people write it: Kubernetes takes
// it, and shows it without the breaks.
#pragma once

#include <string>
#include <string_view>

#include "foundation/wire/json.h"

namespace fairlead::resource {

// Joins the lines of every value in the map `name`.
inline void join_base64_lines(JsonObject& members, std::string_view name) {
  Json* map = members.if_contains(name);
  JsonObject* values = map ? map->if_object() : nullptr;
  if (!values) return;
  for (auto& entry : *values) {
    if (!entry.value().is_string()) continue;
    std::string text(entry.value().get_string());
    if (std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; }) > 0)
      entry.value() = text;
  }
}

}  // namespace fairlead::resource
