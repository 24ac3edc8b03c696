// YAML text out of values, in the block style kubectl prints.
#include <algorithm>

#include "foundation/wire/yaml.h"
#include "foundation/wire/yaml_scalar.h"

namespace fairlead::wire {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Dates and base-60 numbers, which are strings to us but not to every YAML 1.1 reader.
bool other_readers_differ(std::string_view text) {
  if (!is_digit(text[0])) return false;
  const bool date =
      text.size() >= 8 && text[4] == '-' && std::ranges::all_of(text.substr(0, 4), is_digit);
  return date || text.find_first_not_of("0123456789:.") == std::string_view::npos;
}

bool is_plain_safe(std::string_view text) {
  if (text.empty() || text.back() == ' ' || text.back() == ':') return false;
  const char first = text.front();
  if (!is_letter(first) && !is_digit(first) && first != '_' && first != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_letter(c) || is_digit(c) || std::string_view("_-./@+=%() ").contains(c)) continue;
    if (c == ':' && text[i + 1] != ' ') continue;
    return false;
  }
  if (other_readers_differ(text) && std::ranges::count(text, '.') != 3) return false;
  const auto read = resolve_plain_scalar(text);
  return read && read->is_string();
}

std::string scalar(const Json& value) {
  if (value.is_string() && is_plain_safe(value.get_string())) {
    return std::string(value.get_string());
  }
  return encode_json(value);  // a JSON scalar or an empty container is YAML too
}

bool is_inline(const Json& value) {
  if (const JsonObject* object = value.if_object()) return object->empty();
  if (const JsonArray* array = value.if_array()) return array->empty();
  return true;
}

void append(std::string& out, const Json& value, std::size_t indent);

void append_members(std::string& out, const JsonObject& object, std::size_t indent,
                    bool first_is_placed) {
  for (const auto& member : object) {
    if (!std::exchange(first_is_placed, false)) out.append(indent, ' ');
    out.append(scalar(Json(member.key()))).push_back(':');
    if (is_inline(member.value())) {
      out.append(" ").append(scalar(member.value())).append("\n");
    } else {
      out.append("\n");
      // Lists stand at the key's own indent, as kubectl writes them.
      append(out, member.value(), member.value().is_array() ? indent : indent + 2);
    }
  }
}

void append(std::string& out, const Json& value, std::size_t indent) {
  if (is_inline(value)) {
    out.append(indent, ' ').append(scalar(value)).append("\n");
  } else if (const JsonObject* object = value.if_object()) {
    append_members(out, *object, indent, false);
  } else {
    for (const Json& item : value.get_array()) {
      out.append(indent, ' ').append("-");
      if (is_inline(item)) {
        out.append(" ").append(scalar(item)).append("\n");
      } else if (const JsonObject* members = item.if_object()) {
        out.append(" ");
        append_members(out, *members, indent + 2, true);
      } else {
        out.append("\n");
        append(out, item, indent + 2);
      }
    }
  }
}

}  // namespace

std::string encode_yaml(const Json& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

}  // namespace fairlead::wire
