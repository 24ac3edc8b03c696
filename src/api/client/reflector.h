// Reflector: keeps a copy of some of an API's objects current by list and watch, until cancelled.
//
// It follows client-go's rules: the first list may come from the server's cache (unless `newest`),
// later ones are consistent; a watch resumes from the last version seen, bookmarks included; after
// 410 it lists anew; failures back off. The ObjectSink gets a whole list (replace) or one change at
// a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::client {

class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // The whole list, as of that version.
  virtual void replace(std::vector<Json> objects, const std::string& version) = 0;
  // The object lives during the call only; a copy may be kept.
  virtual void put(const Json& object) = 0;
  virtual void erase(const Json& last_state) = 0;
  // A bookmark: there are no further changes up to that version.
  virtual void reached(const std::string& version) { (void)version; }
};

struct ReflectorOptions {
  ResourceName resource;
  std::string namespace_name;
  std::string label_selector;
  std::string field_selector;
  std::size_t page = 500;
  // The first list is consistent: it shows everything that was acknowledged before the request, by
  // any server. For clients that act on what they see and must not see older state after a restart.
  bool newest = false;
};

struct ReflectorCounters {
  std::uint64_t lists = 0;
  std::uint64_t watches = 0;
  std::uint64_t events = 0;
  std::uint64_t failures = 0;
};

class Reflector {
 public:
  Reflector(runtime::Runtime& runtime, RestClient& client, ReflectorOptions options,
            ObjectSink& sink);

  // Until cancelled.
  Task<void> run();

  // The version that the sink has reached; empty before the first list.
  const std::string& version() const { return version_; }
  const ReflectorCounters& counters() const { return counters_; }
  // True while the last attempt failed: the sink may be out of date.
  bool failing() const { return failing_; }

 private:
  Task<Result<>> list_all();
  Task<Result<>> watch_once();
  ListQuery query() const;

  runtime::Runtime& runtime_;
  RestClient& client_;
  ReflectorOptions options_;
  ObjectSink& sink_;
  std::string version_;
  bool listed_ = false;
  bool failing_ = false;
  bool newest_needed_ = false;             // a version was refused with 410: list consistently
  bool started_over_ = false;              // listed for that reason, and no event since
  std::optional<Instant> watching_since_;  // nullopt: the watch, if any, was refused
  runtime::BackOff back_off_;
  ReflectorCounters counters_;
};

}  // namespace fairlead::client
