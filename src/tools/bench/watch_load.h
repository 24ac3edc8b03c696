// `fairlead bench watch`: many watchers, each with a selector of its own, and events that few or
// none of them match.
//
// Measures how long an event takes from the acknowledgement of its write to each watcher it is for,
// how many are delivered per second, and, told the server's process, what CPU time an event costs
// there: the question is whether watchers that do not match cost anything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foundation/http/client.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"
#include "tools/bench/connection.h"
#include "tools/bench/objects.h"
#include "tools/bench/process_times.h"
#include "tools/bench/schedule.h"
#include "tools/bench/settings.h"
#include "tools/bench/tally.h"
#include "tools/bench/target.h"

namespace fairlead::bench {

// What became of the events, and what follows from it.
struct WatchCounts {
  std::uint64_t asked_for = 0, written = 0;
  std::uint64_t delivered = 0, twice = 0;
  std::uint64_t unexpected = 0;  // that reached a watcher whose selector they do not match
  std::uint64_t write_errors = 0;
  std::size_t watch_errors = 0;
  bool somebody_matches = true;
  std::string first_failure;

  // A line for each kind. Empty: every event was written, and seen once by whom it concerns.
  std::vector<std::string> problems() const;
};

class WatchLoad {
 public:
  // REQUIRES: settings went through check_settings; `target` outlives the load.
  WatchLoad(runtime::Runtime& runtime, const Target& target, WatchSettings settings,
            ObjectMaker objects);

  Task<Result<>> prepare();
  Task<Result<>> measure();
  Task<Result<>> clean_up();
  void stop() { stopped_ = true; }

  std::string text() const;
  Json json() const;
  std::vector<std::string> problems() const { return counts_.problems(); }

 private:
  // Numbers of the written objects' selectors: the matching watchers' own, or nobody's.
  std::size_t object_count() const;
  std::size_t selector_of(std::size_t object) const;
  Task<Result<std::string>> list_version();
  Task<void> watch(std::size_t watcher, std::string version);
  Task<Result<>> follow_stream(std::size_t watcher, std::string version);
  void take_line(std::string_view line, std::size_t watcher);
  Task<void> write_events(std::size_t writer);
  Task<void> show_progress();
  Task<Result<>> wait_for_watchers();
  Task<void> wait_for_deliveries();
  void collect();

  runtime::Runtime& runtime_;
  const Target& target_;
  WatchSettings settings_;
  SelectorTemplate selector_;
  ObjectMaker objects_;
  std::string collection_;
  std::unique_ptr<Connection> control_;
  std::vector<std::unique_ptr<Connection>> writers_;
  std::vector<std::unique_ptr<http::Client>> clients_;
  Pace pace_{Instant{}, 0};

  // By event number; the epoch stands for "not yet".
  std::vector<Instant> sent_, acknowledged_, received_;
  std::uint64_t next_event_ = 0;
  WatchCounts counts_;
  std::size_t open_watchers_ = 0;
  runtime::Signal changed_;
  bool made_namespace_ = false;
  bool stopped_ = false;

  Histogram write_latency_, delivery_, end_to_end_;
  Duration took_{0};
  Duration server_cpu_{0};
  std::uint64_t server_resident_ = 0;
};

}  // namespace fairlead::bench
