#include "api/resource/timestamp.h"

namespace fairlead::resource {

std::string human_age(std::string_view text, Moment now) {
  const auto moment = parse_rfc3339(text);
  return moment ? human_duration(now - *moment) : "<unknown>";
}

}  // namespace fairlead::resource
