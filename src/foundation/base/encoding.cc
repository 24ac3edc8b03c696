#include "foundation/base/encoding.h"

#include <array>
#include <cstdint>

namespace fairlead {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

using Alphabet = std::array<char, 64>;
constexpr std::uint8_t kNone = 0xff;

constexpr Alphabet make_alphabet(char second_last, char last) {
  Alphabet alphabet{};
  std::size_t at = 0;
  for (char c = 'A'; c <= 'Z'; ++c) alphabet[at++] = c;
  for (char c = 'a'; c <= 'z'; ++c) alphabet[at++] = c;
  for (char c = '0'; c <= '9'; ++c) alphabet[at++] = c;
  alphabet[at++] = second_last;
  alphabet[at++] = last;
  return alphabet;
}

constexpr std::array<std::uint8_t, 256> make_values(const Alphabet& alphabet) {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr Alphabet kStandard = make_alphabet('+', '/');
constexpr Alphabet kUrl = make_alphabet('-', '_');
constexpr auto kStandardValues = make_values(kStandard);
constexpr auto kUrlValues = make_values(kUrl);

std::string encode(std::string_view bytes, const Alphabet& alphabet, bool padding) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    count += 8;
    while (count >= 6) text.push_back(alphabet[bits >> (count -= 6) & 63]);
  }
  if (count > 0) text.push_back(alphabet[bits << (6 - count) & 63]);
  while (padding && text.size() % 4 != 0) text.push_back('=');
  return text;
}

// Decodes digits up to the first that is none of the alphabet's, which is left at the front of
// `text`. False when the bits after the last whole byte are not zero: each value has one text only.
bool decode_digits(std::string_view& text, const std::array<std::uint8_t, 256>& values,
                   bool skip_line_breaks, std::string& bytes, std::size_t& digits) {
  std::uint32_t bits = 0;
  int count = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (skip_line_breaks && (text.front() == '\n' || text.front() == '\r')) continue;
    const std::uint8_t value = values[static_cast<unsigned char>(text.front())];
    if (value == kNone) break;
    ++digits;
    bits = bits << 6 | value;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count));
    }
  }
  return digits % 4 != 1 && (bits & ((1U << count) - 1)) == 0;
}

}  // namespace

std::string encode_base64(std::string_view bytes) { return encode(bytes, kStandard, true); }
std::string encode_base64url(std::string_view bytes) { return encode(bytes, kUrl, false); }

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::size_t digits = 0;
  bool good = decode_digits(text, kStandardValues, true, bytes, digits);
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.front() == '\n' || text.front() == '\r') continue;
    good = good && text.front() == '=' && digits % 4 != 0;
    ++digits;
  }
  if (!good || digits % 4 != 0) return fail(Code::invalid, "bad base64");
  return bytes;
}

Result<std::string> decode_base64url(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::size_t digits = 0;
  if (!decode_digits(text, kUrlValues, false, bytes, digits) || !text.empty())
    return fail(Code::invalid, "bad base64url");
  return bytes;
}

std::string encode_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string encode_percent(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    if (is_unreserved(c)) {
      text.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text.push_back('%');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::optional<char> percent_escape(std::string_view text, std::size_t at) {
  if (text[at] != '%' || text.size() - at < 3) return std::nullopt;
  const int high = hex_digit(text[at + 1]);
  const int low = hex_digit(text[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

}  // namespace fairlead
