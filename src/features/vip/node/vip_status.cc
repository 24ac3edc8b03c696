#include "features/vip/node/vip_status.h"

#include <utility>

#include "api/resource/columns.h"
#include "api/resource/extended_metadata.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kLongestMessage = 1000;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string shortened(std::string text) {
  if (text.size() <= kLongestMessage) return text;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

Json entry_of(const VirtualIpNodeStatus& word) {
  return JsonObject{{"state", word.state},
                    {"message", or_null(word.message)},
                    {"rival", or_null(word.rival)},
                    {"observedGeneration", word.observed_generation}};
}

JsonObject holder_word(const StatusFacts& facts, std::int64_t generation) {
  return {{"holder", facts.node},
          {"epoch", facts.vip->epoch},
          {"since", or_null(facts.vip->since)},
          {"health", facts.vip->healthy ? "Healthy" : "Unhealthy"},
          {"fenced", facts.fenced},
          {"observedGeneration", generation}};
}

JsonObject nobody() {
  return {{"holder", nullptr}, {"since", nullptr}, {"health", nullptr}, {"fenced", nullptr}};
}

// What is to be said of the holder; nothing: that is for others to say.
JsonObject word_on_holder(const ApiVip& known, const StatusFacts& facts) {
  if (facts.vip && facts.vip->here) return holder_word(facts, known.generation);
  const std::string_view told = wire::find_string(known.status, "holder");
  if (told.empty()) return {};
  const bool nobody_known = !facts.vip || facts.vip->holder.empty();
  // Its own tenure is over, and nobody follows yet; or the assigner knows of nobody.
  if (told == facts.node && (nobody_known || !facts.refused.empty())) return nobody();
  if (facts.assigns && facts.vip && facts.vip->holder.empty()) return nobody();
  return {};
}

// The members of `wanted` that `known` does not have so.
JsonObject differing(const JsonObject& wanted, const Json* known) {
  JsonObject patch;
  for (const auto& member : wanted) {
    const Json* has =
        known && known->is_object() ? known->get_object().if_contains(member.key()) : nullptr;
    if (!resource::same_content(&member.value(), has)) patch[member.key()] = member.value();
  }
  return patch;
}

}  // namespace

VirtualIpNodeStatus own_word(const StatusFacts& facts, std::int64_t generation) {
  VirtualIpNodeStatus word{
      .state = {}, .message = {}, .rival = {}, .observed_generation = generation};
  const auto say = [&](std::string_view state, std::string message) {
    word.state = state;
    word.message = shortened(std::move(message));
    return word;
  };
  if (!facts.refused.empty()) return say(kRefused, facts.refused);
  if (!facts.engine_problem.empty()) return say(kUnable, facts.engine_problem);
  if (!facts.vip || facts.vip->interface.empty())
    return say(kUnable, "the engine has not taken it up yet");
  std::string sick;
  for (const std::string& gate : facts.sick_gates) sick += (sick.empty() ? "" : "; ") + gate;
  if (facts.vip->here) {
    word.rival = facts.vip->rival;
    return say(kHolding, sick);
  }
  if (!facts.vip->problem.empty()) return say(kUnable, facts.vip->problem);
  if (!facts.vip->healthy) return say(kUnhealthy, sick);
  return say(kStandby, {});
}

std::map<std::string, std::string> words_of(const ApiVip& known) {
  std::map<std::string, std::string> words;
  for (const auto& node : resource::members_at(known.status, "nodes")) {
    std::string word(wire::find_string(node.value(), "state"));
    const std::string_view message = wire::find_string(node.value(), "message");
    if (!message.empty()) word.append(": ").append(message);
    words[std::string(node.key())] = std::move(word);
  }
  return words;
}

std::optional<Json> plan_status_patch(const ApiVip& known, const StatusFacts& facts) {
  JsonObject status = differing(word_on_holder(known, facts), &known.status);
  const Json own = entry_of(own_word(facts, known.generation));
  const Json* entry = nullptr;
  if (const Json* nodes = wire::find(known.status, "nodes"); nodes && nodes->is_object())
    entry = nodes->get_object().if_contains(facts.node);
  JsonObject news = differing(own.get_object(), entry);
  if (!news.empty()) status["nodes"] = JsonObject{{facts.node, std::move(news)}};
  if (status.empty()) return std::nullopt;
  return Json(
      JsonObject{{"metadata", JsonObject{{"uid", known.uid}}}, {"status", std::move(status)}});
}

}  // namespace fairlead::vip
