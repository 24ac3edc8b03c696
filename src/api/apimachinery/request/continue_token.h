// The continue token of a paged list: where the next page starts and which revision it is read at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/apimachinery/status.h"

namespace fairlead::apimachinery {

struct ContinueToken {
  // Of the first page. -1: of now, given with an expired continuation.
  std::int64_t revision = 0;
  // The first key of the next page, relative to the resource's prefix: "<namespace>/<name>\0".
  std::string start;
};

std::string encode_continue(const ContinueToken& token);
// 400 for anything that encode_continue does not make; a key that tries to leave its prefix too.
Answer<ContinueToken> decode_continue(std::string_view text);

// URL-safe base64 without padding.
std::string encode_base64url(std::string_view bytes);
Result<std::string> decode_base64url(std::string_view text);

}  // namespace fairlead::apimachinery
