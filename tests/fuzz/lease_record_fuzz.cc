// Records of virtual IPs in a shared store: whatever is decoded is encoded and decoded to the same
// again.
#include "features/vip/lease/record.h"
#include "foundation/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace fairlead::vip;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto record = decode_node_record(text)) {
    const auto again = decode_node_record(encode(*record));
    CHECK(again && *again == *record);
  }
  if (const auto table = decode_table_record(text)) {
    const auto again = decode_table_record(encode(*table));
    CHECK(again && *again == *table);
  }
  return 0;
}
