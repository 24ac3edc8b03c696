#include "features/vip/server/virtual_ip_words.h"

#include "api/resource/columns.h"
#include "features/vip/kinds/virtual_ip.h"

namespace fairlead::vip {
namespace {

using control::Happening;
using resource::Condition;
using resource::members_at;

Condition condition(std::string_view type, const Json& object, std::string status,
                    std::string reason, std::string message) {
  Condition made{.type = std::string(type), .status = std::move(status), .observed_generation = {}};
  if (const Json* generation = wire::find(object, "metadata.generation");
      generation && generation->is_int64())
    made.observed_generation = generation->get_int64();
  made.reason = std::move(reason);
  made.message = std::move(message);
  return made;
}

std::string text_at(const Json* object, std::string_view path) {
  return object ? std::string(wire::find_string(*object, path)) : std::string();
}

// "a: why; b: why", of the nodes in that state.
std::string told_by(const Json& object, std::string_view state) {
  std::string told;
  for (const auto& node : members_at(object, "status.nodes")) {
    if (wire::find_string(node.value(), "state") != state) continue;
    told += (told.empty() ? "" : "; ") + std::string(node.key());
    const std::string_view message = wire::find_string(node.value(), "message");
    if (!message.empty()) told.append(": ").append(message);
  }
  return told;
}

Condition ready(const Json& object) {
  const std::string holder = text_at(&object, "status.holder");
  if (holder.empty())
    return condition(resource::kReady, object, "False", "NoHolder",
                     "no node says that it answers for the address");
  if (text_at(&object, "status.health") == "Unhealthy")
    return condition(resource::kReady, object, "False", "Unhealthy",
                     holder + " answers for the address, and is not healthy");
  return condition(resource::kReady, object, "True", "Held", holder + " answers for the address");
}

Condition fenced(const Json& object) {
  const Json* word = wire::find(object, "status.fenced");
  if (text_at(&object, "status.holder").empty() || !word || !word->is_bool())
    return condition(kFenced, object, "Unknown", "NoHolder", "there is no holder to be fenced");
  if (word->get_bool())
    return condition(kFenced, object, "True", "Fenced",
                     "the holder's kernel silences it when its time is over");
  return condition(kFenced, object, "False", "NotFenced",
                   "a holder that hangs may answer together with its successor");
}

Condition accepted(const Json& object) {
  if (members_at(object, "status.nodes").empty())
    return condition(kAccepted, object, "Unknown", "NoNode",
                     "no node has taken it up: virtualIPsFromAPI must be set in its agent's file");
  if (std::string refusals = told_by(object, kRefused); !refusals.empty())
    return condition(kAccepted, object, "False", "Refused", std::move(refusals));
  return condition(kAccepted, object, "True", "Accepted", "no node refuses it");
}

// Tells of one VirtualIP.
class Teller {
 public:
  Teller(const Json* before, const Json& after) : before_(before), after_(after) {}

  void tell_holder() {
    const std::string was = text_at(before_, "status.holder");
    const std::string is = text_at(&after_, "status.holder");
    const std::string address = text_at(&after_, "spec.address");
    const Json* epoch = wire::find(after_, "status.epoch");
    const std::string tenure = epoch ? ", epoch " + wire::encode_json(*epoch) : "";
    if (is == was) return;
    if (is.empty())
      return tell(Happening::Type::warning, "NoHolder", address + " has no holder; it was " + was);
    if (was.empty())
      return tell(Happening::Type::normal, "Held", is + " answers for " + address + tenure);
    tell(Happening::Type::normal, "Moved", address + " moved from " + was + " to " + is + tenure);
  }

  void tell_nodes() {
    for (const auto& node : members_at(after_, "status.nodes")) {
      const std::string name(node.key());
      const JsonObject none;
      const JsonObject& known = before_ ? members_at(*before_, "status.nodes") : none;
      const Json* past = known.if_contains(name);
      const std::string rival = text_at(&node.value(), "rival");
      if (!rival.empty() && rival != text_at(past, "rival"))
        tell(Happening::Type::warning, "Conflict",
             "another machine, " + rival + ", claims " + text_at(&after_, "spec.address") +
                 ", which " + name + " holds");
      const std::string state = text_at(&node.value(), "state");
      const std::string message = text_at(&node.value(), "message");
      if (state == kRefused &&
          (state != text_at(past, "state") || message != text_at(past, "message")))
        tell(Happening::Type::warning, "Refused", name + ": " + message);
    }
  }

  void tell_fence() {
    const Json* is = wire::find(after_, "status.fenced");
    const Json* was = before_ ? wire::find(*before_, "status.fenced") : nullptr;
    if (is && *is == Json(false) && (!was || *was != Json(false)))
      tell(Happening::Type::warning, "NotFenced",
           text_at(&after_, "status.holder") +
               " holds it without a fence: a holder that hangs may answer together with its "
               "successor");
  }

  std::vector<Happening> told() { return std::move(told_); }

 private:
  void tell(Happening::Type type, std::string reason, std::string message) {
    told_.push_back({.api_version = std::string(resource::kFairleadApiVersion),
                     .kind = std::string(kVirtualIpKind),
                     .namespace_name = {},
                     .name = text_at(&after_, "metadata.name"),
                     .uid = text_at(&after_, "metadata.uid"),
                     .type = type,
                     .reason = std::move(reason),
                     .message = std::move(message)});
  }

  const Json* before_;
  const Json& after_;
  std::vector<Happening> told_;
};

}  // namespace

std::vector<Condition> conditions_of(const Json& object) {
  return {ready(object), fenced(object), accepted(object)};
}

std::vector<Happening> happenings_of(const Json* before, const Json& after) {
  Teller teller(before, after);
  teller.tell_holder();
  teller.tell_nodes();
  teller.tell_fence();
  return teller.told();
}

}  // namespace fairlead::vip
