// Bytes from an OVSDB server (or something that claims to be one): however they are cut into
// pieces, the same messages come out, and what decodes survives being encoded again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/wire/ovsdb.h"

namespace {

using namespace fairlead;
using namespace fairlead::wire;

std::vector<std::string> split(std::string_view input, std::size_t piece) {
  ovsdb::MessageSplitter splitter({.bytes = 1 << 16, .depth = 20});
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < input.size(); at += piece) {
    splitter.append(input.substr(at, piece));
    for (;;) {
      const auto message = splitter.next();
      if (!message) return messages;
      if (!*message) break;
      messages.emplace_back(**message);
    }
  }
  return messages;
}

void look_into(const Json& json) {
  (void)ovsdb::decode_updates(json);
  (void)ovsdb::decode_transaction(json, 2);
  if (const auto value = ovsdb::decode_value(json)) {
    const auto again = ovsdb::decode_value(ovsdb::encode_value(*value));
    CHECK(again.has_value());
    (void)value->texts();
  }
  if (const auto row = ovsdb::decode_row(json))
    CHECK(ovsdb::decode_row(ovsdb::encode_row(*row)).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> messages = split(input, input.size() + 1);
  CHECK(split(input, 1) == messages);
  for (const std::string& text : messages) {
    const auto message = ovsdb::decode_message(text);
    if (!message) continue;
    if (const auto* request = std::get_if<ovsdb::Request>(&*message))
      CHECK(ovsdb::decode_message(ovsdb::encode_reply(request->id, JsonArray{})));
    if (const auto* reply = std::get_if<ovsdb::Reply>(&*message)) look_into(reply->result);
    if (const auto* notice = std::get_if<ovsdb::Notification>(&*message))
      for (const Json& json : notice->params) look_into(json);
  }
  return 0;
}
