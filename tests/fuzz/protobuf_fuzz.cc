// Bytes from an etcd server (or something that claims to be one), through framing and every
// decoder.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/wire/etcd.h"
#include "foundation/wire/grpc.h"

namespace {

using namespace fairlead::wire;

// What was decoded and encoded again decodes to a message of the same size.
template <class Decode>
void round_trip(std::string_view bytes, Decode decode) {
  const auto first = decode(bytes);
  if (!first) return;
  std::string encoded;
  etcd::encode(encoded, *first);
  const auto second = decode(encoded);
  CHECK(second.has_value());
  std::string again;
  etcd::encode(again, *second);
  CHECK(again == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  round_trip(input, etcd::decode_range_request);
  round_trip(input, etcd::decode_txn_request);
  round_trip(input, etcd::decode_txn_group_request);
  round_trip(input, etcd::decode_compact_request);
  round_trip(input, etcd::decode_watch_request);
  round_trip(input, etcd::decode_range_response);
  round_trip(input, etcd::decode_txn_response);
  round_trip(input, etcd::decode_txn_group_response);
  round_trip(input, etcd::decode_watch_response);
  round_trip(input, etcd::decode_status_response);

  GrpcMessageReader reader(1 << 16);
  const std::size_t half = size / 2;
  for (const std::string_view piece : {input.substr(0, half), input.substr(half)}) {
    reader.append(piece);
    for (;;) {
      const auto message = reader.next();
      if (!message || !*message) break;
      (void)etcd::decode_watch_response(**message);
    }
  }
  (void)parse_grpc_status(input.substr(0, 3), input);
  return 0;
}
