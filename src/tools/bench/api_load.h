// `fairlead bench api`: requests of one verb, or a mixture, over many connections.
//
// prepare() makes the namespace and the objects that the verb needs, measure() is the load itself,
// clean_up() removes what both have made. Runs on one loop; progress goes to standard error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "foundation/runtime/scope.h"
#include "tools/bench/connection.h"
#include "tools/bench/objects.h"
#include "tools/bench/schedule.h"
#include "tools/bench/settings.h"
#include "tools/bench/tally.h"
#include "tools/bench/target.h"

namespace fairlead::bench {

// Makes the namespace if it is missing: true if it was.
Task<Result<bool>> make_namespace(Connection& connection, std::string name);
Task<Result<>> remove_namespace(Connection& connection, std::string name);

class ApiLoad {
 public:
  // REQUIRES: settings went through check_settings; `target` outlives the load.
  ApiLoad(runtime::Runtime& runtime, const Target& target, ApiSettings settings,
          ObjectMaker objects);

  Task<Result<>> prepare();
  Task<Result<>> measure();
  Task<Result<>> clean_up();
  // The load ends as if its time were over.
  void stop() { stopped_ = true; }

  const Tally& tally() const { return total_; }
  std::vector<std::string> problems() const { return total_.problems(); }
  Duration took() const { return took_; }
  std::string text() const;
  Json json() const;

 private:
  struct Phase;
  Task<Result<>> run_phase(ApiSettings settings, std::string_view title, bool tolerant);
  Task<void> work(Phase& phase, std::size_t worker);
  Task<void> follow(Phase& phase);
  Task<Result<>> perform(Phase& phase, std::size_t worker, Operation operation, Instant started);
  Call make_call(Operation operation);
  std::size_t least_bytes(Verb verb) const;

  runtime::Runtime& runtime_;
  const Target& target_;
  ApiSettings settings_;
  ObjectMaker objects_;
  std::string collection_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::string> versions_;  // resourceVersion of each object made before measuring
  std::uint64_t round_ = 0;
  std::uint64_t object_end_ = 0;
  bool made_namespace_ = false;
  bool stopped_ = false;
  Tally total_;
  Duration took_{0};
};

}  // namespace fairlead::bench
