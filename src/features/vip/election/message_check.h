// Whether a peer's message is to be believed, beyond that it is the peer's: it comes from the disk
// that the members know the peer by, and its terms are not so far ahead that they would use up
// those that there are. Pure.
//
// A member that lost its disk has forgotten what it voted for and acknowledged: it takes part again
// when it was removed and added. A copied disk would vote twice.
#pragma once

#include <cstdint>
#include <string>

#include "features/vip/election/message.h"
#include "features/vip/election/settings.h"

namespace fairlead::vip {

// The epoch has room for this many terms.
inline constexpr std::uint64_t kLastTerm = 0xffff'ffff;
// How far ahead a peer's term may be. Engines that crash every few seconds, each time a thousand
// terms further, take two weeks for it.
inline constexpr std::uint64_t kMostTermsAhead = 1 << 28;

// What the node knows that judges.
struct OwnView {
  const std::string& self;
  std::uint64_t instance = 0;  // of its disk; 0: not known
  const Settings& settings;
  std::uint64_t term = 0;
};

// Why the message is not taken; empty: it is.
std::string message_problem(const OwnView& own, const std::string& from, const Message& message);
// Why the others do not believe this node; empty: they do.
std::string own_problem(const OwnView& own);

}  // namespace fairlead::vip
