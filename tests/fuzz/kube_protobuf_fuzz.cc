// Kubernetes' protobuf bodies from strangers: never a crash, and what is read is JSON that can be
// written and read again.
#include <cstdint>
#include <string_view>

#include "api/apimachinery/kube_protobuf.h"
#include "foundation/base/check.h"
#include "foundation/wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto decoded = fairlead::apimachinery::decode_kube_protobuf(bytes);
  if (decoded) {
    const auto again = fairlead::wire::parse_json(fairlead::wire::encode_json(*decoded));
    CHECK(again && again->value == *decoded);
  }
  return 0;
}
