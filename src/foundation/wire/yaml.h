// YAML text to JSON values, as Kubernetes reads it: the JSON-compatible part of YAML, one document.
#pragma once

#include <string_view>

#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::wire {

// Scalars become numbers, booleans and null by the YAML 1.1 core rules that sigs.k8s.io/yaml
// applies. Fails with invalid, naming line and column. Aliases are expanded at most to
// options.max_bytes worth of nodes, so that a small text cannot become a large value.
Result<ParsedJson> parse_yaml(std::string_view text, const JsonParseOptions& options = {});

std::string encode_yaml(const Json& value);

}  // namespace fairlead::wire
