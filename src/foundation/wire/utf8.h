// UTF-8 well-formedness, for text that does not pass through the JSON parser.
#pragma once

#include <string_view>

namespace fairlead::wire {

// True for well-formed UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above
// U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace fairlead::wire
