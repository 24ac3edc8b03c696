// What birdc prints, as values. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace fairlead::vip {

struct BirdSession {
  bool established = false;
  std::string state;  // "up Established", "start Active Socket: Connection refused"
  bool operator==(const BirdSession&) const = default;
};

// The BGP sessions of `birdc show protocols`, by name.
std::map<std::string, BirdSession> parse_protocols(std::string_view text);

// Whether BFD is up, by the neighbor's address, of `birdc show bfd sessions`.
std::map<std::string, bool> parse_bfd_sessions(std::string_view text);

// Whether `birdc configure` said that BIRD follows, now or soon.
bool reconfigured(std::string_view text);

}  // namespace fairlead::vip
