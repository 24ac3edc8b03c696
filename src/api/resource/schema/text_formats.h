// The text formats a Schema may name, and what is wrong with a text that breaks one.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::resource {

// "" if `text` has the format, or if the format is not one that is checked. The empty text is "not
// set" for addresses and fails for times.
std::string format_problem(std::string_view format, std::string_view text);

// Standard base64 with padding, as Go's encoding/json reads []byte.
bool is_base64(std::string_view text);
// The number of bytes a base64 text stands for. REQUIRES: is_base64(text).
std::size_t base64_size(std::string_view text);

}  // namespace fairlead::resource
