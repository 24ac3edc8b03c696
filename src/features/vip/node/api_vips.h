// VirtualIPs of the API as this node sees them, and what it makes of them beside its file. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "features/vip/config/vip_plan.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::vip {

struct ApiVip {
  std::string name;
  std::string uid;
  std::string created;  // metadata.creationTimestamp
  std::int64_t generation = 0;
  Json spec;
  Json status;  // as the API has it; null: not known
};
Result<ApiVip> parse_api_vip(const Json& object);
// The object again, without its status: for the disk.
Json to_json(const ApiVip& vip);

struct MergedVips {
  std::vector<VipEntry> vips;                  // those of the file first
  std::map<Ip, std::string> names;             // those of the API: the VirtualIP's name
  std::map<std::string, std::string> refused;  // VirtualIP → why this node does not hold it
};

// The file counts where both have an address. What this node's file does not allow is refused, and
// so is what is wrong in itself. Objects that do not name this node are neither held nor refused.
MergedVips merge_vips(const VipPlan& file, std::vector<ApiVip> objects);

}  // namespace fairlead::vip
