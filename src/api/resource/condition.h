// Condition: one aspect of an object's state, as Kubernetes writes it in status.conditions, so that
// `kubectl wait --for=condition=Ready` works. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/resource/schema/describe.h"
#include "api/resource/timestamp.h"
#include "foundation/wire/json.h"

namespace fairlead::resource {

inline constexpr std::string_view kReady = "Ready";

struct Condition {
  std::string type;
  std::string status;  // "True", "False" or "Unknown"
  std::optional<std::int64_t> observed_generation;
  std::optional<Time> last_transition_time;
  std::string reason;  // one word
  std::string message;

  template <class V>
  static void describe(V& v) {
    v.field("type", &Condition::type).required().description("Which aspect it is.");
    v.field("status", &Condition::status)
        .required()
        .one_of({"True", "False", "Unknown"})
        .description("Whether it holds: True, False or Unknown.");
    v.field("observedGeneration", &Condition::observed_generation)
        .description("The metadata.generation that it is about.");
    v.field("lastTransitionTime", &Condition::last_transition_time)
        .description("When its status last changed.");
    v.field("reason", &Condition::reason).description("Why, in one word for programs.");
    v.field("message", &Condition::message).description("Why, in words for people.");
  }
};

// The condition of that type in status.conditions; null: there is none.
const Json* find_condition(const Json& object, std::string_view type);

// Puts `wanted` into status.conditions; others stay, and so does what it has no member for.
// lastTransitionTime is when the status last changed: `now`, or what is there. False: nothing
// changed. REQUIRES: the object's status and conditions, where present, have the right types.
bool set_condition(Json& object, const Condition& wanted, Moment now);

}  // namespace fairlead::resource
