#include "api/store/etcd/epoch.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "api/store/restored_revision.h"

namespace fairlead::store {
namespace {

// Why the sighting cannot be the present of what was known; empty if it can.
std::string contradiction(const EtcdSighting& now, const EtcdMemory& memory) {
  if (!now.record && memory.record) return "the record of the epoch is gone";
  const EpochRecord record = now.record.value_or(EpochRecord{});
  const Revision shown = record.base + now.revision;
  if (memory.record && record.base < memory.record->base)
    return fmt::format("an epoch from before the present one is back (base {}, not {})",
                       record.base, memory.record->base);
  if (shown < memory.seen)
    return fmt::format("revision {} lies before {}, which was handed out", shown, memory.seen);
  if (!now.record) return {};
  if (now.cluster != record.cluster)
    return fmt::format("the cluster's id is {:x}, not {:x}", now.cluster, record.cluster);
  const bool known = memory.record && memory.record->base == record.base;
  const std::int64_t slack = known ? std::max(record.slack, memory.slack) : record.slack;
  if (now.most_slack < slack)
    return fmt::format("its raft log began anew (entries minus revisions fell from {} to {})",
                       slack, now.most_slack);
  return {};
}

template <class Number>
bool take_field(std::string_view& text, std::string_view name, Number& value) {
  if (!text.starts_with(name)) return false;
  const std::string_view digits = text.substr(name.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end == digits.data() + digits.size() || *end != '\n') return false;
  text = digits.substr(static_cast<std::size_t>(end - digits.data()) + 1);
  return true;
}

}  // namespace

std::string encode_epoch_record(const EpochRecord& record) {
  return fmt::format("fairlead epoch 1\nbase {}\ncluster {}\nslack {}\n", record.base,
                     record.cluster, record.slack);
}

Result<EpochRecord> parse_epoch_record(std::string_view text) {
  constexpr std::string_view kTitle = "fairlead epoch 1\n";
  EpochRecord record;
  if (text.starts_with(kTitle)) {
    text.remove_prefix(kTitle.size());
    if (take_field(text, "base ", record.base) && take_field(text, "cluster ", record.cluster) &&
        take_field(text, "slack ", record.slack) && text.empty() && record.base >= 0)
      return record;
  }
  return fail(Code::corrupt, "not a record of an epoch that this version knows");
}

EpochPlan plan_epoch(const EtcdSighting& sighting, const EtcdMemory& memory, WallTime now) {
  std::string why = contradiction(sighting, memory);
  if (why.empty() && sighting.record) return {};
  EpochRecord begin{.base = 0, .cluster = sighting.cluster, .slack = sighting.least_slack};
  if (!why.empty()) {
    const Revision shown = sighting.record.value_or(EpochRecord{}).base + sighting.revision;
    begin.base = restored_revision(std::max(shown, memory.seen), now);
  }
  return {.begin = begin, .restored = std::move(why)};
}

}  // namespace fairlead::store
