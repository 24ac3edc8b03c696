// Times as the API writes them, under the names this folder's users know (resource/timestamp.h does
// the work).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "resource/timestamp.h"

namespace fairlead::apimachinery {

// 2024-05-01T12:00:00Z
inline std::string format_time(resource::Moment moment) { return resource::encode_time(moment); }
// 2024-05-01T12:00:00.000000Z
inline std::string format_micro_time(resource::Moment moment) {
  return resource::encode_micro_time(moment);
}
// RFC 3339, any fraction, any offset.
inline Result<resource::Moment> parse_time(std::string_view text) {
  if (const auto moment = resource::parse_time(text)) return *moment;
  return fail(Code::invalid, "not an RFC 3339 time: " + std::string(text));
}

}  // namespace fairlead::apimachinery
