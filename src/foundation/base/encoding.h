// Bytes as text: base64, its URL-safe form, hexadecimal (RFC 4648), and percent coding (RFC 3986).
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead {

// The standard alphabet, with padding.
std::string encode_base64(std::string_view bytes);
// Padding is demanded, line breaks are skipped, anything else fails with invalid.
Result<std::string> decode_base64(std::string_view text);

// The URL-safe alphabet, without padding, in both directions; strict.
std::string encode_base64url(std::string_view bytes);
Result<std::string> decode_base64url(std::string_view text);

// Lower case.
std::string encode_hex(std::string_view bytes);

// Everything but unreserved characters (letters, digits, - . _ ~) becomes %XX.
std::string encode_percent(std::string_view bytes);
// The byte that text[at…] writes as %XX, with two hexadecimal digits of either case; none if it
// does not.
std::optional<char> percent_escape(std::string_view text, std::size_t at);

}  // namespace fairlead
