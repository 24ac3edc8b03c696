// Any bytes either fail to parse or give a value whose text parses back to the same text, without
// duplicates.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/wire/json.h"

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

  // What is read over is left out, and nothing else.
  constexpr std::string_view kSkip[] = {"a", "b.a", "c.b.a"};
  const auto partly = parse_json({reinterpret_cast<const char*>(data), size}, {.skip = kSkip});
  CHECK(partly);
  fairlead::Json expected = first->value;
  for (const std::string_view path : kSkip) {
    const std::size_t dot = path.rfind('.');
    fairlead::Json* parent =
        dot == std::string_view::npos ? &expected : find(expected, path.substr(0, dot));
    if (!parent || !parent->is_object()) continue;
    fairlead::JsonObject& members = parent->get_object();
    if (const auto at = members.find(path.substr(dot + 1)); at != members.end())
      members.stable_erase(at);
  }
  CHECK(encode_json(partly->value) == encode_json(expected));
  return 0;
}
