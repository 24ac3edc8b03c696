// `fairlead why vip ADDRESS`: who holds it, since when, and why this node and the others do not.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/config/vip_plan.h"
#include "features/vip/control/messages.h"
#include "node/agent/explanation.h"
#include "node/agent/why_kind.h"

namespace fairlead::vip {

struct VipFacts {
  std::string node;
  std::string backend = "raft";  // or etcd, kubernetes
  bool engine_runs = false;
  std::string engine_problem;
  std::optional<VipReport> vip;  // nothing: nobody knows of it here
  Report report;
  std::vector<std::string> sick_gates;  // of this VIP: name and last answer
  // What other nodes say in the status of its VirtualIP, if it is one of the API: "state: message".
  std::map<std::string, std::string> told_by_others;
};
agent::Explanation explain_vip(const VipFacts& facts, const Ip& address);

// A VIP that nobody is elected for: anycast, or a load balancer's.
struct UnelectedFacts {
  std::string node;
  VipEntry entry;
  bool announced = false;
  std::string problem;
  std::vector<std::string> sick_gates;
};
agent::Explanation explain_unelected(const UnelectedFacts& facts);

// What this node looks at of an address that an operator's load balancer has.
inline constexpr const char* kExternalChecked =
    "the health gates, asked from this node; that the load balancer leads to this node and not to "
    "another one was not checked";

// As the file has it: l2, bgp, route, external.
std::string announce_name(Announce announce);

agent::WhyKind vip_why_kind();

}  // namespace fairlead::vip
