// HealthGate: what the answers to one question make of a node: well or sick. Pure.
//
//   unknown  no answer yet
//   well     until `fall` bad answers in a row
//   sick     until `rise` good answers in a row
//
// The first answer of all decides alone: a node that starts neither waits for its service longer
// than it must, nor takes an address while the service is down.
#pragma once

#include <cstdint>

#include "foundation/runtime/time.h"

namespace fairlead::vip {

class HealthGate {
 public:
  enum class State : std::uint8_t { unknown, well, sick };

  // REQUIRES: both are at least 1.
  HealthGate(int rise, int fall) : rise_(rise), fall_(fall) {}

  // True if the answer changed the state.
  bool answered(bool good);

  State state() const { return state_; }
  // Answers in a row that speak against the state.
  int against() const { return against_; }

 private:
  int rise_;
  int fall_;
  State state_ = State::unknown;
  int against_ = 0;
};

// The time until the next question: the interval, shorter or longer by up to a tenth, so that the
// nodes do not ask one server all at once.
Duration jittered(Duration interval, std::uint64_t random);

}  // namespace fairlead::vip
