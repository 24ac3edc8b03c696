// JSON text out of values. Every stored object and every response passes here, so it is one pass
// over the value, appending runs of plain characters at a time.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "foundation/wire/json.h"

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

// Where text grows. Kept per thread between uses, so that encoding an object costs one allocation
// of exactly its size: encoded objects are held for long and in great numbers.
class Buffer {
 public:
  // Room for `size` more bytes; the place to write them, followed by commit().
  char* reserve(std::size_t size) {
    if (capacity_ - used_ < size) [[unlikely]]
      grow(size);
    return bytes_.get() + used_;
  }
  void commit(const char* end) { used_ = static_cast<std::size_t>(end - bytes_.get()); }
  void push_back(char c) {
    *reserve(1) = c;
    ++used_;
  }
  void append(std::string_view text) {
    std::memcpy(reserve(text.size()), text.data(), text.size());
    used_ += text.size();
  }
  void append(std::size_t count, char c) {
    std::memset(reserve(count), c, count);
    used_ += count;
  }
  std::string_view view() const { return {bytes_.get(), used_}; }

  // Empties it, and gives memory back after an unusually large text.
  void reset() {
    constexpr std::size_t kKept = 1 << 20;
    used_ = 0;
    if (capacity_ > kKept) {
      bytes_.reset();
      capacity_ = 0;
    }
  }

 private:
  void grow(std::size_t size) {
    const std::size_t capacity =
        std::max(used_ + size, std::max<std::size_t>(2 * capacity_, 4'096));
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (used_ > 0) std::memcpy(bytes.get(), bytes_.get(), used_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

// True if none of the eight characters needs an escape; may also be false for some that do not.
bool is_plain(std::uint64_t eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  const auto below = [](std::uint64_t x, std::uint64_t limit) { return (x - kOnes * limit) & ~x; };
  return ((below(eight, 0x20) | below(eight ^ kOnes * '"', 1) | below(eight ^ kOnes * '\\', 1)) &
          kHigh) == 0;
}

char* escape(char* at, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  *at++ = '\\';
  if (kEscapes[c] != 'u') {
    *at++ = kEscapes[c];
    return at;
  }
  for (const char digit : {'u', '0', '0', kHex[c >> 4], kHex[c & 15]}) *at++ = digit;
  return at;
}

void append_string(Buffer& out, std::string_view text) {
  constexpr std::size_t kWorst = 6;  // \u00XX
  // In pieces, so that a long text does not ask for six times its size at once.
  constexpr std::size_t kPiece = 4'096;
  out.push_back('"');
  for (std::size_t from = 0; from < text.size(); from += kPiece) {
    const std::string_view piece = text.substr(from, kPiece);
    char* at = out.reserve(kWorst * piece.size());
    std::size_t i = 0;
    while (i < piece.size()) {
      std::uint64_t eight = 0;
      if (i + sizeof eight <= piece.size()) {
        std::memcpy(&eight, piece.data() + i, sizeof eight);
        if (is_plain(eight)) [[likely]] {
          std::memcpy(at, &eight, sizeof eight);
          at += sizeof eight;
          i += sizeof eight;
          continue;
        }
      }
      const auto c = static_cast<unsigned char>(piece[i++]);
      if (kEscapes[c] == 0) [[likely]] {
        *at++ = static_cast<char>(c);
      } else {
        at = escape(at, c);
      }
    }
    out.commit(at);
  }
  out.push_back('"');
}

template <class Integer>
void append_integer(Buffer& out, Integer number) {
  constexpr std::size_t kDigits = 20;  // of the longest, with its sign
  char* at = out.reserve(kDigits);
  out.commit(std::to_chars(at, at + kDigits, number).ptr);
}

// As Go's encoding/json: plain notation between 1e-6 and 1e21, so 3.0 is "3"; otherwise scientific
// with the exponent's leading zero dropped on the negative side ("1e-7", "1e+21").
void append_double(Buffer& out, double number) {
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
    out.append(text.substr(0, zero + 2));
    out.append(text.substr(zero + 3));
  }
}

void append_scalar(Buffer& out, const Json& value) {
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

void append_compact(Buffer& out, const Json& value) {
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

void append_pretty(Buffer& out, const Json& value, std::size_t indent) {
  const auto new_line = [&out](std::size_t width) {
    out.push_back('\n');
    out.append(width, ' ');
  };
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

// Encoding never calls itself from outside, so one buffer per thread is enough.
template <class Append>
auto with_buffer(const Append& append) {
  thread_local Buffer buffer;
  auto result = append(buffer);
  buffer.reset();
  return result;
}

}  // namespace

void encode_json_to(std::string& out, const Json& value) {
  with_buffer([&](Buffer& buffer) {
    append_compact(buffer, value);
    out.append(buffer.view());
    return 0;
  });
}

std::string encode_json(const Json& value) {
  return with_buffer([&](Buffer& buffer) {
    append_compact(buffer, value);
    return std::string(buffer.view());
  });
}

std::string encode_json_pretty(const Json& value) {
  return with_buffer([&](Buffer& buffer) {
    append_pretty(buffer, value, 0);
    return std::string(buffer.view());
  });
}

}  // namespace fairlead::wire
