#include "features/vip/lease/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "foundation/wire/json.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kMostEntries = 4'096;  // rows, claims, offers
constexpr std::size_t kLongestName = 253;
constexpr Duration kLongestTime = 24h;

// 64-bit numbers are text: readers of JSON may keep only 53 bits.
Json number(std::uint64_t value) { return Json(std::to_string(value)); }
Json time(Duration duration) { return number(static_cast<std::uint64_t>(duration.count())); }

std::unexpected<Error> refuse(std::string_view field, std::string_view why) {
  return fail(Code::invalid, fmt::format("{}: {}", field, why));
}

Result<std::uint64_t> read_number(const Json& from, std::string_view field,
                                  std::uint64_t most = ~std::uint64_t{0}) {
  const std::string_view text = wire::find_string(from, field);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return refuse(field, "must be a number, written as text");
  if (value > most) return refuse(field, "too large");
  return value;
}

Result<Duration> read_time(const Json& from, std::string_view field) {
  FL_TRY(const std::uint64_t value, read_number(from, field, kLongestTime.count()));
  return Duration(static_cast<std::int64_t>(value));
}

Result<std::string> read_name(const Json& from, std::string_view field) {
  const Json* value = wire::find(from, field);
  if (!value) return std::string();
  if (!value->is_string()) return refuse(field, "must be a text");
  if (value->get_string().size() > kLongestName) return refuse(field, "too long");
  return std::string(value->get_string());
}

Result<bool> read_flag(const Json& from, std::string_view field, bool otherwise) {
  const Json* value = wire::find(from, field);
  if (!value) return otherwise;
  if (!value->is_bool()) return refuse(field, "must be true or false");
  return value->get_bool();
}

Result<Ip> read_vip(const Json& from) {
  Result<Ip> vip = Ip::parse(wire::find_string(from, "vip"));
  if (!vip) return fail(std::move(vip).error().context("vip"));
  return vip;
}

// Calls `read` with each object of the list.
template <class Read>
Result<> read_list(const Json& from, std::string_view field, Read read) {
  const Json* list = wire::find(from, field);
  if (!list) return {};
  if (!list->is_array()) return refuse(field, "must be a list");
  if (list->get_array().size() > kMostEntries) return refuse(field, "too many");
  for (const Json& one : list->get_array())
    if (Result<> done = read(one); !done) return fail(std::move(done).error().context(field));
  return {};
}

Result<wire::ParsedJson> parse_record(std::string_view text) {
  FL_TRY(wire::ParsedJson parsed, wire::parse_json(text));
  const Json* version = wire::find(parsed.value, "version");
  if (!version || !version->is_int64() || version->get_int64() != 1)
    return refuse("version", "must be 1");
  return parsed;
}

Json encode_claims(const std::vector<Claim>& claims) {
  JsonArray list;
  for (const Claim& claim : claims)
    list.push_back(JsonObject{{"vip", claim.vip.to_string()}, {"epoch", number(claim.epoch)}});
  return list;
}

Result<std::vector<Claim>> read_claims(const Json& from, std::string_view field) {
  std::vector<Claim> claims;
  FL_CHECKED(read_list(from, field, [&](const Json& one) -> Result<> {
    Claim claim;
    FL_TRY(claim.vip, read_vip(one));
    FL_TRY(claim.epoch, read_number(one, "epoch"));
    claims.push_back(claim);
    return {};
  }));
  std::ranges::sort(claims);
  return claims;
}

Json encode_offer(const Offer& offer) {
  JsonObject object{{"vip", offer.vip.to_string()}, {"priority", offer.priority}};
  if (!offer.healthy) object["healthy"] = false;
  const VipOptions& options = offer.options;
  if (!options.group.empty()) object["group"] = options.group;
  if (!options.apart.empty()) object["apart"] = options.apart;
  if (!options.preferred.empty()) object["preferred"] = options.preferred;
  if (!options.preempt) object["preempt"] = false;
  if (options.preempt_delay != VipOptions().preempt_delay)
    object["preemptDelayNanoseconds"] = time(options.preempt_delay);
  return object;
}

Result<Offer> read_offer(const Json& from) {
  Offer offer;
  FL_TRY(offer.vip, read_vip(from));
  const Json* priority = wire::find(from, "priority");
  if (!priority || !priority->is_int64() ||
      priority->get_int64() < std::numeric_limits<std::int32_t>::min() ||
      priority->get_int64() > std::numeric_limits<std::int32_t>::max())
    return refuse("priority", "must be a number of 32 bits");
  offer.priority = static_cast<std::int32_t>(priority->get_int64());
  FL_TRY(offer.healthy, read_flag(from, "healthy", true));
  FL_TRY(offer.options.group, read_name(from, "group"));
  FL_TRY(offer.options.apart, read_name(from, "apart"));
  FL_TRY(offer.options.preferred, read_name(from, "preferred"));
  FL_TRY(offer.options.preempt, read_flag(from, "preempt", true));
  if (wire::find(from, "preemptDelayNanoseconds")) {
    FL_TRY(offer.options.preempt_delay, read_time(from, "preemptDelayNanoseconds"));
  }
  return offer;
}

}  // namespace

std::string encode(const NodeRecord& record) {
  JsonArray offers;
  for (const Offer& offer : record.offers) offers.push_back(encode_offer(offer));
  JsonObject object{{"version", 1},
                    {"instance", number(record.instance)},
                    {"incarnation", number(record.incarnation)},
                    {"sequence", number(record.sequence)},
                    {"table", number(record.table)},
                    {"leaseNanoseconds", time(record.lease)},
                    {"barred", number(record.barred)},
                    {"claims", encode_claims(record.claims)},
                    {"released", encode_claims(record.released)},
                    {"offers", std::move(offers)}};
  if (record.gone) object["gone"] = true;
  return wire::encode_json(object);
}

Result<NodeRecord> decode_node_record(std::string_view text) {
  FL_TRY(const wire::ParsedJson parsed, parse_record(text));
  const Json& json = parsed.value;
  NodeRecord record;
  FL_TRY(record.instance, read_number(json, "instance"));
  FL_TRY(record.incarnation, read_number(json, "incarnation"));
  FL_TRY(record.sequence, read_number(json, "sequence"));
  FL_TRY(record.table, read_number(json, "table"));
  FL_TRY(record.lease, read_time(json, "leaseNanoseconds"));
  FL_TRY(record.barred, read_number(json, "barred"));
  FL_TRY(record.gone, read_flag(json, "gone", false));
  FL_TRY(record.claims, read_claims(json, "claims"));
  FL_TRY(record.released, read_claims(json, "released"));
  FL_CHECKED(read_list(json, "offers", [&](const Json& one) -> Result<> {
    FL_TRY(Offer offer, read_offer(one));
    record.offers.push_back(std::move(offer));
    return {};
  }));
  std::ranges::sort(record.offers, {}, &Offer::vip);
  return record;
}

std::string encode(const TableRecord& table) {
  JsonArray rows, by_hand;
  for (const auto& [vip, row] : table.rows) {
    JsonObject object{{"vip", vip.to_string()}, {"node", row.node}, {"epoch", number(row.epoch)}};
    if (row.leaving) object["leaving"] = true;
    rows.push_back(std::move(object));
  }
  for (const auto& [vip, node] : table.by_hand)
    by_hand.push_back(JsonObject{{"vip", vip.to_string()}, {"node", node}});
  return wire::encode_json(
      JsonObject{{"version", 1},
                 {"id", number(table.id)},
                 {"sequence", number(table.sequence)},
                 {"term", number(table.term)},
                 {"counter", number(table.counter)},
                 {"assigner", table.assigner},
                 {"incarnation", number(table.incarnation)},
                 {"leaseNanoseconds", time(table.timing.lease)},
                 {"renewNanoseconds", time(table.timing.renew)},
                 {"marginNanoseconds", time(table.timing.margin)},
                 {"driftPPM", number(static_cast<std::uint64_t>(table.timing.drift_ppm))},
                 {"rows", std::move(rows)},
                 {"byHand", std::move(by_hand)}});
}

Result<TableRecord> decode_table_record(std::string_view text) {
  FL_TRY(const wire::ParsedJson parsed, parse_record(text));
  const Json& json = parsed.value;
  constexpr std::uint64_t kHalf = std::numeric_limits<std::uint32_t>::max();
  TableRecord table;
  FL_TRY(table.id, read_number(json, "id"));
  FL_TRY(table.sequence, read_number(json, "sequence"));
  FL_TRY(const std::uint64_t term, read_number(json, "term", kHalf));
  FL_TRY(const std::uint64_t counter, read_number(json, "counter", kHalf));
  table.term = static_cast<std::uint32_t>(term);
  table.counter = static_cast<std::uint32_t>(counter);
  FL_TRY(table.assigner, read_name(json, "assigner"));
  FL_TRY(table.incarnation, read_number(json, "incarnation"));
  FL_TRY(table.timing.lease, read_time(json, "leaseNanoseconds"));
  FL_TRY(table.timing.renew, read_time(json, "renewNanoseconds"));
  FL_TRY(table.timing.margin, read_time(json, "marginNanoseconds"));
  FL_TRY(const std::uint64_t drift, read_number(json, "driftPPM", 1'000'000));
  table.timing.drift_ppm = static_cast<std::int64_t>(drift);
  FL_CHECKED(check(table.timing));
  FL_CHECKED(read_list(json, "rows", [&](const Json& one) -> Result<> {
    FL_TRY(const Ip vip, read_vip(one));
    TableRow row;
    FL_TRY(row.node, read_name(one, "node"));
    FL_TRY(row.epoch, read_number(one, "epoch", table.newest()));
    FL_TRY(row.leaving, read_flag(one, "leaving", false));
    table.rows[vip] = std::move(row);
    return {};
  }));
  FL_CHECKED(read_list(json, "byHand", [&](const Json& one) -> Result<> {
    FL_TRY(const Ip vip, read_vip(one));
    FL_TRY(table.by_hand[vip], read_name(one, "node"));
    return {};
  }));
  return table;
}

}  // namespace fairlead::vip
