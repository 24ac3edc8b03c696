// Which Subnets of a virtual network may be used: within a VNI, blocks are disjoint and all are in
// one namespace. Pure.
//
// A virtual network also belongs to the namespace that still has addresses in it: a Subnet that is
// deleted and made again finds it where it left it.
//
// The rule that makes the outcome the same for everybody: what was validated stays validated; a
// newcomer is validated if it conflicts with none of those; when one goes, those that wait are
// looked at again, oldest first.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/base/ip.h"

namespace fairlead::ipam {

using Vni = std::uint32_t;

struct SubnetFacts {
  std::string namespace_name;
  std::string name;
  std::string uid;
  Vni vni = 0;
  std::optional<Cidr> ipv4;
  std::optional<Cidr> ipv6;
  std::int64_t created_at = 0;  // seconds since 1970
  bool validated = false;
  std::vector<std::string> errors;
  std::string spec_written;  // when, by the server's clock, as extendedMetadata tells it

  std::string key() const { return namespace_name + "/" + name; }
  const std::optional<Cidr>& block(bool v4) const { return v4 ? ipv4 : ipv6; }
};

// Why `subnet` cannot be used beside those of `others` that are validated; empty: it can. Sorted.
// `holders`: the namespaces that hold addresses of the virtual network, in use, idle or not yet
// dropped by every node. Until they are gone it is theirs, whether they have a Subnet there or not:
// their nodes may still carry it. REQUIRES: all have its VNI; it is not among them.
std::vector<std::string> conflicts(const SubnetFacts& subnet,
                                   const std::vector<SubnetFacts>& others,
                                   const std::set<std::string>& holders);

// What the status of one subnet becomes.
struct Judgement {
  std::string key;
  bool validated = false;
  std::vector<std::string> errors;
};
// The subnets of one VNI after one of them went: those whose status changes.
std::vector<Judgement> judge_again(std::vector<SubnetFacts> subnets,
                                   const std::set<std::string>& holders);

}  // namespace fairlead::ipam
