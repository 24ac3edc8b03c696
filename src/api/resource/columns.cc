#include "api/resource/columns.h"

#include <map>

namespace fairlead::resource {

Column name_column() {
  return {.name = "Name",
          .type = "string",
          .format = "name",
          .description = "Name of the object, unique within its namespace.",
          .priority = 0,
          .cell = text_at("metadata.name")};
}

Column age_column(std::string type) {
  return column(
      "Age", std::move(type), "Time since the object was created.",
      [](const Json& object, Moment now) {
        return Json(human_age(wire::find_string(object, "metadata.creationTimestamp"), now));
      });
}

Column column(std::string name, std::string type, std::string description, Cell cell) {
  return {.name = std::move(name),
          .type = std::move(type),
          .format = "",
          .description = std::move(description),
          .priority = 0,
          .cell = std::move(cell)};
}

Column wide_column(std::string name, std::string type, std::string description, Cell cell) {
  Column made = column(std::move(name), std::move(type), std::move(description), std::move(cell));
  made.priority = 1;
  return made;
}

Cell text_at(std::string path) {
  return [path = std::move(path)](const Json& object, Moment) {
    return Json(wire::find_string(object, path));
  };
}

std::string join_labels(const Json* map) {
  const JsonObject* members = map ? map->if_object() : nullptr;
  if (!members || members->empty()) return "<none>";
  std::map<std::string_view, std::string_view> sorted;
  for (const auto& member : *members) {
    const boost::json::string* text = member.value().if_string();
    sorted[member.key()] = text ? std::string_view(*text) : std::string_view();
  }
  std::string joined;
  for (const auto& [key, value] : sorted) {
    if (!joined.empty()) joined += ',';
    joined.append(key).append("=").append(value);
  }
  return joined;
}

std::string join_first_three(const std::vector<std::string>& texts, std::string_view none) {
  constexpr std::size_t kShown = 3;
  if (texts.empty()) return std::string(none);
  const std::size_t shown = std::min(texts.size(), kShown);
  std::string joined =
      join({texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown)}, ",");
  if (texts.size() > shown) {
    joined += " + " + std::to_string(texts.size() - shown) + " more...";
  }
  return joined;
}

std::string join(const std::vector<std::string>& texts, std::string_view separator) {
  std::string joined;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) joined += separator;
    joined += text;
  }
  return joined;
}

const JsonArray& items_at(const Json& object, std::string_view path) {
  static const JsonArray kNone;
  const Json* value = wire::find(object, path);
  const JsonArray* array = value ? value->if_array() : nullptr;
  return array ? *array : kNone;
}

const JsonObject& members_at(const Json& object, std::string_view path) {
  static const JsonObject kNone;
  const Json* value = wire::find(object, path);
  const JsonObject* members = value ? value->if_object() : nullptr;
  return members ? *members : kNone;
}

std::vector<std::string> strings_at(const Json& object, std::string_view path) {
  std::vector<std::string> texts;
  for (const Json& item : items_at(object, path)) {
    if (const boost::json::string* text = item.if_string()) texts.emplace_back(*text);
  }
  return texts;
}

}  // namespace fairlead::resource
