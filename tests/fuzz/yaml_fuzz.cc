// Any bytes either fail to parse or give a value that survives YAML and JSON text and back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/wire/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairlead::wire;
  const JsonParseOptions options{.max_depth = 50, .max_bytes = 64 << 10};
  const auto first = parse_yaml({reinterpret_cast<const char*>(data), size}, options);
  if (!first) return 0;
  const std::string text = encode_json(first->value);
  const auto json = parse_json(text);
  CHECK(json && json->duplicates.empty());
  const auto yaml = parse_yaml(encode_yaml(first->value));
  CHECK(yaml && encode_json(yaml->value) == text);
  return 0;
}
