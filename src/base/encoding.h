// Bytes as text: base64, its URL-safe form, and hexadecimal (RFC 4648). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fairlead {

// The standard alphabet, with padding.
std::string encode_base64(std::string_view bytes);
// Padding is demanded, line breaks are skipped, anything else fails with invalid.
Result<std::string> decode_base64(std::string_view text);

// The URL-safe alphabet, without padding, in both directions; strict.
std::string encode_base64url(std::string_view bytes);
Result<std::string> decode_base64url(std::string_view text);

// Lower case out; either case in.
std::string encode_hex(std::string_view bytes);
Result<std::string> decode_hex(std::string_view text);

}  // namespace fairlead
