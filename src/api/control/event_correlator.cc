#include "api/control/event_correlator.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/time_text.h"

namespace fairlead::control {
namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";
constexpr std::size_t kMaxMessage = 1024;
constexpr std::size_t kMaxName = 253;

// Of texts in a fixed order: the same in every process, so that one thing has one Event whoever
// tells of it.
std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::string_view type_text(Happening::Type type) {
  return type == Happening::Type::warning ? "Warning" : "Normal";
}

// At most so long, and no half of a character at the end.
void shorten(std::string& text) {
  if (text.size() <= kMaxMessage) return;
  std::size_t end = kMaxMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
}

std::string similar_key(const Happening& happening) {
  return fmt::format("{}\n{}\n{}\n{}", happening.kind, happening.namespace_name, happening.name,
                     happening.reason);
}

Duration interval(const EventRate& rate) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate.per_second));
}

}  // namespace

std::string EventWrite::namespace_name() const {
  return std::string(wire::find_string(event, "metadata.namespace"));
}

std::string EventWrite::name() const {
  return std::string(wire::find_string(event, "metadata.name"));
}

const EventRate& EventCorrelator::rate(Happening::Type type) const {
  return type == Happening::Type::warning ? limits_.warning : limits_.normal;
}

std::string EventCorrelator::key_of(const Happening& happening) const {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", happening.uid, similar_key(happening),
                     type_text(happening.type), source_of(happening).component,
                     source_of(happening).host, happening.message);
}

// Beyond the limit all further texts share one Event, which shows the latest.
void EventCorrelator::combine(Happening& happening, Instant now) const {
  const auto similar = similar_.find(similar_key(happening));
  if (similar == similar_.end() || now >= similar->second.since + limits_.similar_interval) return;
  const std::set<std::string>& messages = similar->second.messages;
  if (messages.size() >= limits_.similar && !messages.contains(happening.message))
    happening.message = std::string(kCombined) + happening.message;
}

bool EventCorrelator::observe(const Happening& observed, Instant now, WallTime wall) {
  Happening happening = observed;
  combine(happening, now);
  shorten(happening.message);
  const bool combined = happening.message.starts_with(kCombined);
  Happening identity = happening;
  if (combined) identity.message = kCombined;
  const std::string key = key_of(identity);
  auto entry = waiting_.find(key);
  const bool is_new = entry == waiting_.end();
  if (is_new) {
    Lane& queue = lane(happening.type);
    if (queue.keys.size() >= limits_.waiting) {
      waiting_.erase(queue.keys.front());
      queue.keys.pop_front();
      ++dropped_;
    }
    const auto told = told_.find(key);
    const Instant not_before = told == told_.end() ? now : told->second + limits_.repeat_interval;
    entry = waiting_
                .emplace(key, Waiting{.happening = happening,
                                      .times = 0,
                                      .first = wall,
                                      .last = wall,
                                      .not_before = not_before})
                .first;
    queue.keys.push_back(key);
  }
  entry->second.happening.message = happening.message;
  ++entry->second.times;
  entry->second.last = wall;
  const Instant at =
      std::max(entry->second.not_before, free_at(lane(happening.type), rate(happening.type)));
  if (!is_new || (due_ && *due_ <= at)) return false;
  due_ = at;
  return true;
}

void EventCorrelator::forget_old(Instant now) {
  while (!ages_.empty() && ages_.front().first + limits_.repeat_interval <= now) {
    const auto told = told_.find(ages_.front().second);
    if (told != told_.end() && told->second == ages_.front().first) told_.erase(told);
    ages_.pop_front();
  }
  std::erase_if(similar_, [&](const auto& entry) {
    return now >= entry.second.since + limits_.similar_interval;
  });
}

// A lane is a bucket: full at `full_at`, and one write takes one interval out of it.
Instant EventCorrelator::free_at(const Lane& lane, const EventRate& rate) const {
  return lane.full_at - interval(rate) * static_cast<std::int64_t>(rate.burst - 1);
}

std::optional<std::string> EventCorrelator::take(Lane& lane, const EventRate& rate, Instant now) {
  if (lane.keys.empty() || now < free_at(lane, rate)) return std::nullopt;
  const auto ready = std::ranges::find_if(
      lane.keys, [&](const std::string& key) { return waiting_.at(key).not_before <= now; });
  if (ready == lane.keys.end()) return std::nullopt;
  std::string key = *ready;
  lane.keys.erase(ready);
  lane.full_at = std::max(lane.full_at, now) + interval(rate);
  return key;
}

EventWrite EventCorrelator::make(const std::string& key, const Waiting& waiting) const {
  const Happening& happening = waiting.happening;
  const std::string home = happening.namespace_name.empty() ? "default" : happening.namespace_name;
  const std::string tail = fmt::format(".{:016x}", fingerprint(key));
  JsonObject regarding{{"apiVersion", happening.api_version},
                       {"kind", happening.kind},
                       {"name", happening.name},
                       {"uid", happening.uid}};
  if (!happening.namespace_name.empty()) regarding["namespace"] = happening.namespace_name;
  const EventSource& who = source_of(happening);
  JsonObject source{{"component", who.component}};
  if (!who.host.empty()) source["host"] = who.host;
  JsonObject event{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", JsonObject{{"name", happening.name.substr(0, kMaxName - tail.size()) + tail},
                              {"namespace", home}}},
      {"involvedObject", std::move(regarding)},
      {"reason", happening.reason},
      {"message", happening.message},
      {"type", type_text(happening.type)},
      {"source", std::move(source)},
      {"reportingComponent", who.component},
      {"reportingInstance", who.host},
      {"firstTimestamp", rfc3339(waiting.first)},
      {"lastTimestamp", rfc3339(waiting.last)},
      {"count", waiting.times}};
  return {.event = std::move(event), .times = waiting.times, .once = happening.once};
}

std::optional<EventWrite> EventCorrelator::next(Instant now) {
  std::optional<std::string> key = take(warnings_, limits_.warning, now);
  if (!key) key = take(normals_, limits_.normal, now);
  if (!key) return std::nullopt;
  const auto entry = waiting_.find(*key);
  EventWrite write = make(*key, entry->second);
  Similar& similar = similar_[similar_key(entry->second.happening)];
  if (similar.messages.empty()) similar.since = now;
  if (similar.messages.size() < limits_.similar)
    similar.messages.insert(entry->second.happening.message);
  waiting_.erase(entry);
  told_[*key] = now;
  ages_.emplace_back(now, *key);
  forget_old(now);
  return write;
}

std::optional<Instant> EventCorrelator::due() {
  due_.reset();
  for (const Lane* lane : {&warnings_, &normals_}) {
    const EventRate& rate = lane == &warnings_ ? limits_.warning : limits_.normal;
    for (const std::string& key : lane->keys) {
      const Instant at = std::max(waiting_.at(key).not_before, free_at(*lane, rate));
      if (!due_ || at < *due_) due_ = at;
    }
  }
  return due_;
}

}  // namespace fairlead::control
