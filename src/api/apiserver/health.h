// /healthz, /livez and /readyz with named checks, as Kubernetes serves them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apiserver/request.h"
#include "foundation/base/result.h"

namespace fairlead::apiserver {

class Health {
 public:
  // A check that does not wait. `live`: it counts for /livez, too, where a failure means that the
  // process should be restarted; only what a restart can cure belongs there.
  void add(std::string name, bool live, std::function<Result<>()> check);

  static bool serves(std::string_view path);
  // 200 `ok`, or 500 with the failed checks; ?verbose lists all, ?exclude=NAME leaves some out,
  // /readyz/NAME asks for one.
  Task<Result<>> serve(Request& request);

 private:
  struct Check {
    std::string name;
    bool live;
    std::function<Result<>()> run;
  };
  std::vector<Check> checks_;
};

}  // namespace fairlead::apiserver
