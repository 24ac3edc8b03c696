// Checklist: what `fairlead agent --check` looked at, and what came of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace fairlead::agent {

class Checklist {
 public:
  struct Check {
    std::string what;
    std::string problem;  // empty: all is well
    bool note = false;    // something to know, not a failure
  };

  void passed(std::string what) { checks_.push_back({std::move(what), {}}); }
  void failed(std::string what, std::string problem) {
    checks_.push_back({std::move(what), std::move(problem)});
  }
  // For what is weak, means something unexpected, or the agent waits for.
  void noted(std::string what) { checks_.push_back({std::move(what), {}, true}); }
  const std::vector<Check>& checks() const { return checks_; }
  bool all_well() const {
    return std::ranges::all_of(checks_, [](const Check& one) { return one.problem.empty(); });
  }

 private:
  std::vector<Check> checks_;
};

}  // namespace fairlead::agent
