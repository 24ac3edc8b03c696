#include "api/resource/extended_metadata.h"

#include <algorithm>

namespace fairlead::resource {
namespace {

bool differs(const Section& section, const Json& object, const Json* old) {
  return std::ranges::any_of(section.paths, [&](const std::string& path) {
    return !same_content(wire::find(object, path), old ? wire::find(*old, path) : nullptr);
  });
}

const JsonObject* write_of(const Json* old, std::string_view section) {
  const Json* writes = old ? wire::find(*old, "extendedMetadata.writes") : nullptr;
  if (!writes || !writes->is_array()) return nullptr;
  for (const Json& write : writes->get_array()) {
    if (wire::find_string(write, "section") == section) return write.if_object();
  }
  return nullptr;
}

}  // namespace

bool same_content(const Json* a, const Json* b) {
  const bool has_a = a && !a->is_null();
  const bool has_b = b && !b->is_null();
  return has_a == has_b && (!has_a || *a == *b);
}

std::optional<Moment> ExtendedMetadata::written(std::string_view section) const {
  const auto found = std::ranges::find(writes, section, &WriteTime::section);
  return found == writes.end() ? std::nullopt : std::optional(found->server_time.at);
}

void stamp_writes(const std::vector<Section>& sections, Json& object, const Json* old, Moment now) {
  JsonArray writes;
  for (const Section& section : sections) {
    if (differs(section, object, old)) {
      writes.push_back(JsonObject{{"section", section.name}, {"serverTime", rfc3339_micro(now)}});
    } else if (const JsonObject* write = write_of(old, section.name)) {
      writes.push_back(*write);
    }
  }
  object.get_object()["extendedMetadata"] = JsonObject{{"writes", std::move(writes)}};
}

}  // namespace fairlead::resource
