// Which Subnets of a virtual network are valid: within a VNI, their blocks are disjoint and all are
// in one namespace. Pure.
//
// A virtual network also belongs to a namespace as long as that has addresses in it, so that a
// Subnet can be deleted and created again without losing the network to another namespace.
//
// The rule is deterministic: a valid Subnet stays valid; a new one is valid if it conflicts with
// none of the valid ones; when one is deleted, those that wait are decided again, oldest first.
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

// The conflicts of `subnet` with the valid ones of `others`, sorted; empty: it is valid. `holders`:
// the namespaces that hold addresses of the virtual network (in use, idle, or in quarantine). While
// they do the network is theirs, with or without a Subnet, because their nodes may still carry it.
// REQUIRES: all have its VNI; it is not among them.
std::vector<std::string> conflicts(const SubnetFacts& subnet,
                                   const std::vector<SubnetFacts>& others,
                                   const std::set<std::string>& holders);

// The new status of one subnet.
struct Judgement {
  std::string key;
  bool validated = false;
  std::vector<std::string> errors;
};
// After a subnet of a VNI was deleted: the others of the VNI whose status changes.
std::vector<Judgement> judge_again(std::vector<SubnetFacts> subnets,
                                   const std::set<std::string>& holders);

}  // namespace fairlead::ipam
