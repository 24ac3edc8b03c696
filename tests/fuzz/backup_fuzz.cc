// Backup files from strangers: nothing may crash, and the verdict must not depend on the pieces in
// which the bytes arrive.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/store/backup/format.h"

namespace {

using namespace fairlead;
using namespace fairlead::store;

// Everything that was decoded, as text.
std::string decode(std::string_view bytes, std::size_t piece) {
  BackupDecoder decoder;
  std::string seen;
  do {
    decoder.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const Result<std::optional<KeyValue>> item = decoder.next();
      if (!item) return seen + item.error().to_string();
      if (!*item) break;
      seen += (*item)->key;
      seen += (*item)->value.view();
    }
  } while (!bytes.empty());
  const Result<BackupSummary> end = decoder.finish();
  return seen + (end ? std::to_string(end->items) : end.error().to_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (decode(bytes, size + 1) != decode(bytes, 1 + size / 7)) std::abort();
  return 0;
}
