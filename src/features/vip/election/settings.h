// What the members of an election agree on: who they are, and the times. Kept in the replicated log
// (raft.h); each entry has all of it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/election/timing.h"

namespace fairlead::vip {

struct Member {
  std::string name;
  std::string address;         // host:port of its election socket
  std::uint64_t instance = 0;  // of its disk (engine/state_file.h); 0: not known
  auto operator<=>(const Member&) const = default;
};

struct Settings {
  std::vector<Member> members;  // ordered by name
  Timing timing;

  const Member* find(std::string_view name) const {
    const auto at = std::ranges::find(members, name, &Member::name);
    return at == members.end() ? nullptr : &*at;
  }
  auto operator<=>(const Settings&) const = default;
};

// Which of two settings is later: first the term of the leader that wrote them, then the place.
struct Version {
  std::uint64_t term = 0;
  std::uint64_t index = 0;
  auto operator<=>(const Version&) const = default;
};

struct Entry {
  Version version;
  Settings settings;
  auto operator<=>(const Entry&) const = default;
};

}  // namespace fairlead::vip
