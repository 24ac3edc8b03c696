// StringMap: a hash table keyed by text, which can be searched with a string_view.
//
// For keys that the system made itself (UIDs): std::hash has no secret, so that whoever chooses the
// keys could make them collide. The order of its entries means nothing, but the same history gives
// the same order, which simulation relies on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fairlead {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

template <class Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

}  // namespace fairlead
