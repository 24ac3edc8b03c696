// The configuration of the BIRD that the agent runs, from the agent's. Pure.
//
// BIRD announces host routes to addresses that are on an interface of this host and among the given
// VIPs, nothing else, takes nothing from its neighbors and changes nothing in the kernel.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/config/vip_plan.h"

namespace fairlead::vip {

struct BirdPlan {
  BgpConfig bgp;
  std::map<Ip, std::string> passwords;  // of neighbors that have one
  std::set<Ip> vips;
  std::set<std::string> interfaces;  // on which the VIPs are
  bool operator==(const BirdPlan&) const = default;
};

std::string bird_config(const BirdPlan& plan);

// What the session with this neighbor is called there: "neighbor_1" and so on.
std::string session_name(std::size_t index);

// Fails if BIRD could not be told this password.
Result<> check_password(std::string_view password);

}  // namespace fairlead::vip
