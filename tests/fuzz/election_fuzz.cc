// Datagrams of election peers: whatever is decoded is encoded and decoded to the same again.
#include "features/vip/election/message_codec.h"
#include "foundation/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace fairlead::vip;
  const auto message = decode_message({reinterpret_cast<const char*>(data), size});
  if (!message) return 0;
  const auto again = decode_message(encode(*message));
  CHECK(again && *again == *message);
  return 0;
}
