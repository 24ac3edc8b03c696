#include "identity/encoding.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace fairlead::identity {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafe =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> reverse(std::string_view alphabet) {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return table;
}
constexpr auto kStandardReverse = reverse(kStandard);
constexpr auto kUrlSafeReverse = reverse(kUrlSafe);

std::string encode64(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t block = 0;
    for (std::size_t j = 0; j < 3; ++j)
      block = block << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) {
      if (j <= count)
        out += alphabet[block >> (18 - 6 * j) & 63];
      else if (pad)
        out += '=';
    }
  }
  return out;
}

// Decodes digits only; unused low bits must be zero, so that every value has one spelling.
Result<std::string> decode64(std::string_view digits, const std::array<std::int8_t, 256>& values) {
  if (digits.size() % 4 == 1) return fail(Code::invalid, "base64: wrong length");
  std::string out;
  out.reserve(digits.size() / 4 * 3 + 2);
  std::uint32_t block = 0;
  int bits = 0;
  for (const char digit : digits) {
    const std::int8_t value = values[static_cast<unsigned char>(digit)];
    if (value < 0) return fail(Code::invalid, "base64: illegal character");
    block = (block << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(block >> bits & 0xff);
  }
  if (block & ((1u << bits) - 1)) return fail(Code::invalid, "base64: trailing bits are not zero");
  return out;
}

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string random_bytes(const Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, count - i));
  }
  return bytes;
}

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(as_bytes(bytes), bytes.size(), digest.data());
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest digest;
  unsigned length = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), as_bytes(bytes), bytes.size(),
             digest.data(), &length));
  CHECK(length == digest.size());
  return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string encode_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

std::string encode_hex(const Digest& digest) {
  return encode_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string encode_base64(std::string_view bytes) { return encode64(bytes, kStandard, true); }

Result<std::string> decode_base64(std::string_view text) {
  std::string digits;
  digits.reserve(text.size());
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    if (padding) return fail(Code::invalid, "base64: data after padding");
    digits += c;
  }
  if (padding > 2 || (digits.size() + padding) % 4 != 0)
    return fail(Code::invalid, "base64: wrong padding");
  return decode64(digits, kStandardReverse);
}

std::string encode_base64url(std::string_view bytes) { return encode64(bytes, kUrlSafe, false); }

Result<std::string> decode_base64url(std::string_view text) {
  return decode64(text, kUrlSafeReverse);
}

}  // namespace fairlead::identity
