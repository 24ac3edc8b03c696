// Bytes from a switch (or something that claims to be one), through the splitter and every decoder;
// a flow change that is understood completely means the same after being encoded again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/wire/openflow.h"

namespace {

using namespace fairlead::wire;

void round_trip(std::string_view body) {
  const auto change = openflow::decode_flow_mod(body);
  if (!change || !change->flow.other.empty()) return;
  const std::string encoded = openflow::encode_flow_mod(1, *change);
  const auto again =
      openflow::decode_flow_mod(std::string_view(encoded).substr(openflow::kHeaderBytes));
  CHECK(again.has_value());
  CHECK(*again == *change);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  round_trip(input);
  (void)openflow::decode_flow_stats_reply(input);
  openflow::MessageReader reader;
  const std::size_t half = size / 2;
  for (const std::string_view piece : {input.substr(0, half), input.substr(half)}) {
    reader.append(piece);
    for (;;) {
      const auto message = reader.next();
      if (!message || !*message) break;
      const std::string_view body = (*message)->body;
      (void)openflow::offers_version(**message);
      (void)openflow::decode_error(body);
      (void)openflow::decode_flow_stats_reply(body);
      (void)openflow::decode_bundle_control(body);
      round_trip(body);
      // What a bundle carries: a message behind eight bytes of its own.
      round_trip(body.substr(std::min<std::size_t>(body.size(), 16)));
    }
  }
  return 0;
}
