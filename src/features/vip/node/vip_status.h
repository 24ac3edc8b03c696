// What this node tells in the status of a VirtualIP, and the smallest patch that does so. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/vip/control/messages.h"
#include "features/vip/kinds/virtual_ip.h"
#include "features/vip/node/api_vips.h"

namespace fairlead::vip {

struct StatusFacts {
  std::string node;
  std::string refused;           // why this node does not hold it; empty: it may
  std::string engine_problem;    // why no engine works; empty: one does
  std::optional<VipReport> vip;  // nothing: the engine has not taken it up
  bool fenced = false;
  bool assigns = false;                 // this node assigns virtual IPs: it knows if nobody has it
  std::vector<std::string> sick_gates;  // name and last answer
};

VirtualIpNodeStatus own_word(const StatusFacts& facts, std::int64_t generation);

// "state: message" of each node, as the API has it.
std::map<std::string, std::string> words_of(const ApiVip& known);

// A merge patch of the status subresource; nothing if the API has it all. It contains the uid, so
// that it fails on a new object of the same name.
std::optional<Json> plan_status_patch(const ApiVip& known, const StatusFacts& facts);

}  // namespace fairlead::vip
