// Selectors, query strings, continue tokens, media types and request paths from strangers: parsed
// or refused, and what was parsed says the same when it is written and parsed again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/request/continue_token.h"
#include "api/apimachinery/request/request_info.h"
#include "api/apimachinery/selector/selector.h"
#include "foundation/base/check.h"

using namespace fairlead;                // NOLINT
using namespace fairlead::apimachinery;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Json object = JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"a", "1"}}}}}};
  if (const auto labels = LabelSelector::parse(text)) {
    (void)labels->matches(object);
    const auto again = LabelSelector::parse(labels->to_string());
    CHECK(again.has_value() && *again == *labels);
  }
  if (const auto fields = FieldSelector::parse(text)) {
    (void)fields->matches(object);
    const auto again = FieldSelector::parse(fields->to_string());
    CHECK(again.has_value() && again->to_string() == fields->to_string());
  }
  if (const auto token = decode_continue(text)) {
    const auto again = decode_continue(encode_continue(*token));
    CHECK(again.has_value() && again->start == token->start);
  }
  (void)negotiate(text, Offers{true, true, true, false});
  (void)body_format(text);
  (void)parse_request("GET", text);
  return 0;
}
