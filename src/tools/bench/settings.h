// What a measurement is asked to do: the flags of `fairlead bench` as checked values. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/duration_text.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::bench {

enum class Verb { create, get, list, patch, update, remove, mixed };

Result<Verb> parse_verb(std::string_view text);
std::string_view verb_name(Verb verb);

using fairlead::parse_duration;

struct ApiSettings {
  Verb verb = Verb::get;
  std::string kind = "configmaps";
  std::string namespace_name = "bench";
  std::size_t connections = 64;
  Duration duration = 10s;
  std::uint64_t count = 0;    // requests; 0: until `duration` has passed
  std::size_t size = 200;     // bytes of payload in each object
  std::uint64_t objects = 0;  // made before measuring
  double rate = 0;            // requests per second over all connections; 0: as fast as answered
  bool http2 = false;
  bool keep = false;
};

struct WatchSettings {
  std::string kind = "networkattachments";
  std::string namespace_name = "bench";
  std::string selector_template = "spec.node=node-%d";
  std::size_t watchers = 100;   // their selectors match nothing that is written
  std::size_t matching = 1;     // these see the events, shared out among them
  std::size_t connections = 0;  // HTTP/2; 0: one for every 200 watchers
  std::uint64_t events = 5'000;
  double rate = 0;
  std::size_t writers = 8;
  int server_pid = 0;  // its CPU time is read from /proc
  bool keep = false;
};

// Fills what depends on other fields; fails with invalid, naming the flag.
Result<ApiSettings> check_settings(ApiSettings settings);
Result<WatchSettings> check_settings(WatchSettings settings);

// "spec.node=node-%d": which requirement watcher number `i` has. A key below spec, status or
// metadata is a field selector, any other a label selector.
struct SelectorTemplate {
  std::string key;
  std::string before, after;  // around the number
  bool field = false;

  static Result<SelectorTemplate> parse(std::string_view text);
  std::string value(std::size_t i) const { return before + std::to_string(i) + after; }
  std::string selector(std::size_t i) const { return key + "=" + value(i); }
};

}  // namespace fairlead::bench
