// Any bytes either fail to parse or give a value whose text parses back to the same text, without
// duplicates.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairlead::wire;
  const auto first = parse_json({reinterpret_cast<const char*>(data), size});
  if (!first) return 0;
  const std::string text = encode_json(first->value);
  const auto second = parse_json(text);
  CHECK(second);
  CHECK(second->duplicates.empty());
  CHECK(encode_json(second->value) == text);
  const auto pretty = parse_json(encode_json_pretty(first->value));
  CHECK(pretty && encode_json(pretty->value) == text);
  return 0;
}
