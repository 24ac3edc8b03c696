#include "features/vip/engine/state_file.h"

#include <fmt/format.h>

#include <charconv>

#include "features/vip/election/message_check.h"
#include "foundation/wire/json.h"

namespace fairlead::vip {
namespace {

// 64-bit numbers are text: readers of JSON may keep only 53 bits.
Json number(std::uint64_t value) { return Json(std::to_string(value)); }

Result<std::uint64_t> read_number(const Json& from, std::string_view path) {
  const std::string_view text = wire::find_string(from, path);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return fail(Code::invalid, fmt::format("{}: must be a number, written as text", path));
  return value;
}

Result<Duration> read_time(const Json& from, std::string_view path) {
  FL_TRY(const std::uint64_t value, read_number(from, path));
  if (value > 3'600'000'000'000) return fail(Code::invalid, fmt::format("{}: too long", path));
  return Duration(static_cast<std::int64_t>(value));
}

Json encode(const Entry& entry) {
  JsonArray members;
  for (const Member& member : entry.settings.members)
    members.push_back(JsonObject{
        {"name", member.name}, {"address", member.address}, {"instance", number(member.instance)}});
  const Timing& timing = entry.settings.timing;
  const auto time = [](Duration duration) {
    return number(static_cast<std::uint64_t>(duration.count()));
  };
  return JsonObject{{"term", number(entry.version.term)},
                    {"index", number(entry.version.index)},
                    {"members", std::move(members)},
                    {"leaseNanoseconds", time(timing.lease)},
                    {"renewNanoseconds", time(timing.renew)},
                    {"marginNanoseconds", time(timing.margin)},
                    {"driftPPM", number(static_cast<std::uint64_t>(timing.drift_ppm))}};
}

Result<Entry> decode_entry(const Json& json) {
  Entry entry;
  FL_TRY(entry.version.term, read_number(json, "term"));
  FL_TRY(entry.version.index, read_number(json, "index"));
  Timing& timing = entry.settings.timing;
  FL_TRY(timing.lease, read_time(json, "leaseNanoseconds"));
  FL_TRY(timing.renew, read_time(json, "renewNanoseconds"));
  FL_TRY(timing.margin, read_time(json, "marginNanoseconds"));
  FL_TRY(const std::uint64_t drift, read_number(json, "driftPPM"));
  timing.drift_ppm = static_cast<std::int64_t>(std::min<std::uint64_t>(drift, 1'000'000));
  FL_CHECKED(check(timing));
  const Json* members = wire::find(json, "members");
  if (!members || !members->is_array() || members->get_array().empty())
    return fail(Code::invalid, "members: must be a list that is not empty");
  for (const Json& one : members->get_array()) {
    Member member{.name = std::string(wire::find_string(one, "name")),
                  .address = std::string(wire::find_string(one, "address"))};
    if (member.name.empty()) return fail(Code::invalid, "members: one has no name");
    FL_TRY(member.instance, read_number(one, "instance"));
    entry.settings.members.push_back(std::move(member));
  }
  return entry;
}

}  // namespace

std::string encode(const EngineState& state) {
  JsonArray log;
  for (const Entry& entry : state.durable.log) log.push_back(encode(entry));
  return wire::encode_json_pretty(JsonObject{{"version", 1},
                                             {"node", state.node},
                                             {"instance", number(state.instance)},
                                             {"reservedTerm", number(state.durable.reserved_term)},
                                             {"log", std::move(log)}}) +
         "\n";
}

Result<EngineState> decode_state(std::string_view text) {
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text));
  const Json& json = parsed.value;
  const Json* version = wire::find(json, "version");
  if (!version || !version->is_int64() || version->get_int64() != 1)
    return fail(Code::invalid, "version: must be 1");
  EngineState state;
  state.node = wire::find_string(json, "node");
  FL_TRY(state.instance, read_number(json, "instance"));
  FL_TRY(state.durable.reserved_term, read_number(json, "reservedTerm"));
  if (state.durable.reserved_term > kLastTerm)
    return fail(Code::invalid,
                "reservedTerm: must not be larger than " + std::to_string(kLastTerm));
  const Json* log = wire::find(json, "log");
  if (!log || !log->is_array() || log->get_array().empty())
    return fail(Code::invalid, "log: must be a list that is not empty");
  for (const Json& one : log->get_array()) {
    FL_TRY(Entry entry, decode_entry(one));
    state.durable.log.push_back(std::move(entry));
  }
  return state;
}

}  // namespace fairlead::vip
