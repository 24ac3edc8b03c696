// The slow half of duplicate detection: parse_json notices for free that some field came twice;
// this says which. Used by foundation/wire/json.cc and foundation/wire/yaml.cc only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead::wire {

// Full paths ("spec.ports[0].port") of the fields given more than once, each once, in document
// order. REQUIRES: `text` is well-formed JSON no deeper than `max_depth`.
std::vector<std::string> duplicate_fields(std::string_view text, std::size_t max_depth);

}  // namespace fairlead::wire
