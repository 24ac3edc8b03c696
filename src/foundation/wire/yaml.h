// YAML text to JSON values, as Kubernetes reads it: the JSON-compatible part of YAML, one document.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::wire {

// Scalars become numbers, booleans and null by the YAML 1.1 core rules that sigs.k8s.io/yaml
// applies. Fails with invalid, naming line and column. Aliases are expanded at most to
// options.max_bytes worth of nodes, so that a small text cannot become a large value.
Result<ParsedJson> parse_yaml(std::string_view text, const JsonParseOptions& options = {});

// Where something stands in a text, from 1.
struct YamlPlace {
  std::size_t line = 1;
  std::size_t column = 1;
  bool operator==(const YamlPlace&) const = default;
};

// Where the parts of a document stand: members at their key, items at their beginning, by path
// ("spec.list[2].x"). What comes from an alias has no place of its own, nor has what follows when
// the paths have taken kMostPlaceBytes.
inline constexpr std::size_t kMostPlaceBytes = 16 << 20;
struct YamlPlaces {
  std::map<std::string, YamlPlace, std::less<>> at;
  std::map<std::string, YamlPlace, std::less<>> duplicates;  // of the later key
  YamlPlace failure;                                         // where parsing stopped

  // Of the path or of the nearest part around it that has a place.
  YamlPlace find(std::string_view path) const;
};

// The same, for files that people write: errors do not begin with the place, which is in
// places.failure.
Result<ParsedJson> parse_yaml(std::string_view text, const JsonParseOptions& options,
                              YamlPlaces& places);

std::string encode_yaml(const Json& value);

}  // namespace fairlead::wire
