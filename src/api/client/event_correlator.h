// EventCorrelator: which Events are worth writing, and when. Told of everything that happens, it
// says what to write so that people see what they look for and the API never notices:
//
//   - the same thing again raises the count of one Event, at most every `repeat_interval`;
//   - many texts for one reason about one object become one Event ("combined from similar events");
//   - warnings and ordinary events have a rate each, with a burst; warnings go first;
//   - what waits is bounded: when there is no room, ordinary ones are dropped, and the oldest
//   first.
//
// So of thousands of successes a second a few are told, a sample, while failures have room of their
// own. Pure: time is a parameter. EventRecorder carries it out.
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

namespace fairlead::client {

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
  bool once = false;                    // several may tell of it, and it happened once all the same
  std::optional<EventSource> source{};  // who found it; default: who tells of it
};

// An Event to be made, or, if there is one of that name, to be counted `times` more. One that
// happened once is left as it is.
struct EventWrite {
  Json event;  // as it would be made: with count `times`
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
  std::size_t waiting = 256;          // of either type
  std::size_t similar = 10;           // texts for one reason about one object …
  Duration similar_interval = 10min;  // … within this time
};

class EventCorrelator {
 public:
  EventCorrelator(EventSource source, EventLimits limits)
      : source_(std::move(source)), limits_(limits) {}

  // True when there is something to write sooner than due() said last.
  bool observe(const Happening& happening, Instant now, WallTime wall);

  // What to write now, if anything; it counts as written.
  std::optional<EventWrite> next(Instant now);
  // When next() will have something; nothing: not before something is observed.
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
  // One type of events: those that wait, in order, and when the next may go.
  struct Lane {
    std::deque<std::string> keys;
    Instant full_at{};  // when the whole burst is there again
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

}  // namespace fairlead::client
