// What an engine keeps on its disk (--state DIR, file election.json): whose it is, the terms it
// reserved, the settings its members agreed on, and a number that names this disk. Pure.
//
// A node whose file is lost gets another number. The peers do not listen to it until it was removed
// and added again (election/message_check.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "features/vip/election/raft.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

struct EngineState {
  std::string node;            // empty: written by an engine that did not note it
  std::uint64_t instance = 0;  // of the disk
  Raft::Durable durable;
  bool operator==(const EngineState&) const = default;
};

std::string encode(const EngineState& state);
// Fails with invalid, saying what is wrong with the file.
Result<EngineState> decode_state(std::string_view text);

}  // namespace fairlead::vip
