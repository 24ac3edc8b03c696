// What stands beside interfaces and ports, which anyone with rights on the host can write: the
// vxlan fabric's aliases and the ovs fabric's records. Read or refused; what was read says the same
// when it is written and read again, if it fits at all.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "node/fabric/ovs/plan.h"
#include "node/fabric/vxlan/entries.h"

using namespace fairlead::fabric;  // NOLINT

namespace {

void read_alias(std::string_view text) {
  const auto station = vxlan::parse_alias("fairlead-vxlan", text);
  if (!station) return;
  CHECK(!station->id.empty() && station->local());
  (void)vxlan::entries_of(*station, 7);
  const auto written = vxlan::encode_alias("fairlead-vxlan", *station);
  if (written) CHECK(vxlan::parse_alias("fairlead-vxlan", *written) == station);
}

// Lines of key=value.
void read_record(std::string_view text) {
  std::map<std::string, std::string> record;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    record[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  const auto station = ovs::decode_record(record);
  if (!station) return;
  CHECK(!station->id.empty() && station->local());
  CHECK(ovs::decode_record(ovs::encode_record(*station, "fairlead")) == station);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_alias(text);
  read_record(text);
  return 0;
}
