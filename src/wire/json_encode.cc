// JSON text out of values. Every stored object and every response passes here, so it is one pass
// over the value, appending runs of plain characters at a time.
#include <array>
#include <charconv>
#include <cmath>

#include "wire/json.h"

namespace fairlead::wire {
namespace {

namespace bj = boost::json;

// 0: copied as it is; 'u': \u00XX; any other: backslash and that character.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> table{};
  for (int c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

void append_string(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const char escape = kEscapes[c];
    if (escape == 0) [[likely]]
      continue;
    out.append(text.substr(plain, i - plain));
    out.push_back('\\');
    if (escape == 'u') {
      constexpr std::string_view kHex = "0123456789abcdef";
      out.append("u00");
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    } else {
      out.push_back(escape);
    }
    plain = i + 1;
  }
  out.append(text.substr(plain));
  out.push_back('"');
}

template <class Integer>
void append_integer(std::string& out, Integer number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

// As Go's encoding/json: plain notation between 1e-6 and 1e21, so 3.0 is "3"; otherwise scientific
// with the exponent's leading zero dropped on the negative side ("1e-7", "1e+21").
void append_double(std::string& out, double number) {
  if (!std::isfinite(number)) {  // JSON has no such number; parsing never makes one
    out.append("null");
    return;
  }
  if (number == 0) {  // also -0, which no reader tells from 0
    out.push_back('0');
    return;
  }
  char digits[400];
  const double size = std::fabs(number);
  const bool plain = size >= 1e-6 && size < 1e21;
  const auto end = std::to_chars(digits, digits + sizeof digits, number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  const std::string_view text(digits, end);
  const std::size_t zero = plain ? std::string_view::npos : text.find("e-0");
  if (zero == std::string_view::npos) {
    out.append(text);
  } else {
    out.append(text.substr(0, zero + 2)).append(text.substr(zero + 3));
  }
}

void append_scalar(std::string& out, const Json& value) {
  switch (value.kind()) {
    case bj::kind::null:
      out.append("null");
      break;
    case bj::kind::bool_:
      out.append(value.get_bool() ? "true" : "false");
      break;
    case bj::kind::int64:
      append_integer(out, value.get_int64());
      break;
    case bj::kind::uint64:
      append_integer(out, value.get_uint64());
      break;
    case bj::kind::double_:
      append_double(out, value.get_double());
      break;
    case bj::kind::string:
      append_string(out, value.get_string());
      break;
    case bj::kind::array:
    case bj::kind::object:
      break;
  }
}

void append_compact(std::string& out, const Json& value) {
  if (const JsonObject* object = value.if_object()) {
    char separator = '{';
    for (const auto& member : *object) {
      out.push_back(separator);
      separator = ',';
      append_string(out, member.key());
      out.push_back(':');
      append_compact(out, member.value());
    }
    if (separator == '{') out.push_back('{');
    out.push_back('}');
  } else if (const JsonArray* array = value.if_array()) {
    char separator = '[';
    for (const Json& item : *array) {
      out.push_back(separator);
      separator = ',';
      append_compact(out, item);
    }
    if (separator == '[') out.push_back('[');
    out.push_back(']');
  } else {
    append_scalar(out, value);
  }
}

void append_pretty(std::string& out, const Json& value, std::size_t indent) {
  const auto new_line = [&out](std::size_t width) { out.append("\n").append(width, ' '); };
  if (const JsonObject* object = value.if_object(); object && !object->empty()) {
    out.push_back('{');
    bool first = true;
    for (const auto& member : *object) {
      if (!first) out.push_back(',');
      first = false;
      new_line(indent + 2);
      append_string(out, member.key());
      out.append(": ");
      append_pretty(out, member.value(), indent + 2);
    }
    new_line(indent);
    out.push_back('}');
  } else if (const JsonArray* array = value.if_array(); array && !array->empty()) {
    out.push_back('[');
    bool first = true;
    for (const Json& item : *array) {
      if (!first) out.push_back(',');
      first = false;
      new_line(indent + 2);
      append_pretty(out, item, indent + 2);
    }
    new_line(indent);
    out.push_back(']');
  } else {
    append_compact(out, value);
  }
}

}  // namespace

void encode_json_to(std::string& out, const Json& value) { append_compact(out, value); }

std::string encode_json(const Json& value) {
  // Most objects are one to two kilobytes; one allocation covers them, growth doubles beyond.
  std::string out;
  if (value.is_structured()) out.reserve(2'048);
  append_compact(out, value);
  return out;
}

std::string encode_json_pretty(const Json& value) {
  std::string out;
  append_pretty(out, value, 0);
  return out;
}

}  // namespace fairlead::wire
