// EventCorrelator: decides which happenings become Event objects, and when, so that the rate of
// writes to the API is bounded however much happens:
//
//   - a repetition raises the count of one Event, at most once per `repeat_interval`;
//   - many messages with one reason about one object become one Event ("combined from similar
//     events");
//   - warnings and normal events have a token bucket each; warnings are written first;
//   - each type has a bounded queue of its own: when it is full, its oldest entry is dropped.
//
// Of thousands of successes a second only a sample is written; failures have a bucket of their own.
// Pure: time is a parameter. EventRecorder does the writing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "foundation/runtime/time.h"
#include "foundation/wire/json.h"

namespace fairlead::control {

struct EventSource {
  std::string component;  // "fairlead-ipam"
  std::string host;       // the node, or empty
};

struct Happening {
  enum class Type { normal, warning };

  // What it is about.
  std::string api_version;
  std::string kind;
  std::string namespace_name;  // empty: cluster-wide, told in the namespace default
  std::string name;
  std::string uid;

  Type type = Type::normal;
  std::string reason;  // one word for machines: "AddressAssigned"
  std::string message;
  bool once = false;  // several processes may report it, but it happened once: not counted up
  std::optional<EventSource> source{};  // the component that found it; default: the reporting one
};

// An Event to create or, if one of that name exists, to raise in count by `times`. One that
// happened once is then left as it is.
struct EventWrite {
  Json event;  // as it is created: with count `times`
  std::int64_t times = 1;
  bool once = false;

  std::string namespace_name() const;
  std::string name() const;
};

struct EventRate {
  double per_second = 1;
  std::size_t burst = 10;
};

struct EventLimits {
  EventRate normal{.per_second = 2, .burst = 25};
  EventRate warning{.per_second = 5, .burst = 50};
  Duration repeat_interval = 10s;
  std::size_t waiting = 256;          // entries in the queue of each type
  std::size_t similar = 10;           // messages with one reason about one object …
  Duration similar_interval = 10min;  // … within this time; further ones are combined
};

class EventCorrelator {
 public:
  EventCorrelator(EventSource source, EventLimits limits)
      : source_(std::move(source)), limits_(limits) {}

  // True when the next write is due sooner than due() last said.
  bool observe(const Happening& happening, Instant now, WallTime wall);

  // The Event to write now, if any; it counts as written.
  std::optional<EventWrite> next(Instant now);
  // When next() will return an Event; nullopt: not before something else is observed.
  std::optional<Instant> due();

  std::uint64_t dropped() const { return dropped_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    Happening happening;
    std::int64_t times = 0;
    WallTime first, last;
    Instant not_before;
  };
  // The queue and the token bucket of one type of Event.
  struct Lane {
    std::deque<std::string> keys;
    Instant full_at{};  // when the bucket is full again
  };
  struct Similar {
    std::set<std::string> messages;
    Instant since;
  };
  const EventSource& source_of(const Happening& happening) const {
    return happening.source ? *happening.source : source_;
  }
  std::string key_of(const Happening& happening) const;
  void combine(Happening& happening, Instant now) const;
  void forget_old(Instant now);
  const EventRate& rate(Happening::Type type) const;
  Lane& lane(Happening::Type type) {
    return type == Happening::Type::warning ? warnings_ : normals_;
  }
  Instant free_at(const Lane& lane, const EventRate& rate) const;
  EventWrite make(const std::string& key, const Waiting& waiting) const;
  std::optional<std::string> take(Lane& lane, const EventRate& rate, Instant now);

  EventSource source_;
  EventLimits limits_;
  std::map<std::string, Waiting> waiting_;  // by key
  Lane warnings_, normals_;
  std::map<std::string, Instant> told_;               // by key, within repeat_interval
  std::deque<std::pair<Instant, std::string>> ages_;  // of those
  std::map<std::string, Similar> similar_;            // by object and reason, of what was written
  std::optional<Instant> due_;
  std::uint64_t dropped_ = 0;
};

}  // namespace fairlead::control
