// What a plain YAML scalar means, by the YAML 1.1 rules that sigs.k8s.io/yaml applies. Shared by
// the YAML reader and the writer, which must quote a string exactly when the reader would not see
// one.
#pragma once

#include <optional>
#include <string_view>

#include "foundation/wire/json.h"

namespace fairlead::wire {

// null, a boolean, a number, or else the text itself. Nothing for the numbers JSON cannot hold
// (.inf, .nan and what overflows a double).
std::optional<Json> resolve_plain_scalar(std::string_view text);

}  // namespace fairlead::wire
