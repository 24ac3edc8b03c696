#include "tools/bench/settings.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fairlead::bench {
namespace {

constexpr std::pair<std::string_view, Verb> kVerbs[] = {
    {"create", Verb::create}, {"get", Verb::get},       {"list", Verb::list},
    {"patch", Verb::patch},   {"update", Verb::update}, {"delete", Verb::remove},
    {"mixed", Verb::mixed}};

// What the verbs that need objects work on when --objects does not say.
constexpr std::uint64_t kDefaultObjects = 1'000;
// kube-apiserver lets an HTTP/2 connection have 250 streams by default.
constexpr std::size_t kWatchersPerConnection = 200;

}  // namespace

Result<Verb> parse_verb(std::string_view text) {
  for (const auto& [name, verb] : kVerbs)
    if (name == text) return verb;
  return fail(Code::invalid, "--verb " + std::string(text) +
                                 ": must be create, get, list, patch, update, delete or mixed");
}

std::string_view verb_name(Verb verb) {
  for (const auto& [name, value] : kVerbs)
    if (value == verb) return name;
  return "";
}

Result<ApiSettings> check_settings(ApiSettings settings) {
  if (settings.connections == 0 || settings.connections > 20'000)
    return fail(Code::invalid, "--connections: must be between 1 and 20000");
  if (settings.size > (1 << 20)) return fail(Code::invalid, "--size: at most 1048576");
  if (settings.rate < 0) return fail(Code::invalid, "--rate: must not be negative");
  if (settings.count == 0 && settings.duration <= Duration(0))
    return fail(Code::invalid, "--duration: must be positive");
  if (settings.namespace_name.empty()) return fail(Code::invalid, "--namespace: must not be empty");
  if (settings.verb != Verb::create && settings.objects == 0) {
    // Deleting ends when nothing is left, so it must have as much as it is asked to delete.
    settings.objects = settings.verb == Verb::remove && settings.count ? settings.count
                       : settings.verb == Verb::remove                 ? 10 * kDefaultObjects
                                                                       : kDefaultObjects;
  }
  // Each connection changes objects of its own, so that no two writes collide.
  if (settings.verb == Verb::patch || settings.verb == Verb::update)
    settings.objects = std::max<std::uint64_t>(settings.objects, settings.connections);
  return settings;
}

Result<WatchSettings> check_settings(WatchSettings settings) {
  if (settings.events == 0) return fail(Code::invalid, "--events: must be positive");
  if (settings.writers == 0) return fail(Code::invalid, "--writers: must be positive");
  if (settings.rate < 0) return fail(Code::invalid, "--rate: must not be negative");
  if (settings.namespace_name.empty()) return fail(Code::invalid, "--namespace: must not be empty");
  FL_CHECKED(SelectorTemplate::parse(settings.selector_template));
  const std::size_t total = settings.watchers + settings.matching;
  if (settings.connections == 0)
    settings.connections =
        std::max<std::size_t>(1, (total + kWatchersPerConnection - 1) / kWatchersPerConnection);
  return settings;
}

Result<SelectorTemplate> SelectorTemplate::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t number = text.find("%d");
  if (equals == std::string_view::npos || equals == 0 || number == std::string_view::npos ||
      number < equals) {
    return fail(Code::invalid, "--selector-template \"" + std::string(text) +
                                   "\": must be like spec.node=node-%d or tier=t%d");
  }
  SelectorTemplate parsed;
  parsed.key = text.substr(0, equals);
  parsed.before = text.substr(equals + 1, number - equals - 1);
  parsed.after = text.substr(number + 2);
  for (const std::string_view root : {"spec.", "status.", "metadata."})
    parsed.field = parsed.field || parsed.key.starts_with(root);
  return parsed;
}

}  // namespace fairlead::bench
