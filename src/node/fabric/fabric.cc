#include "node/fabric/fabric.h"

#include <algorithm>

#include "foundation/base/host_address.h"

namespace fairlead::fabric {

Result<> check_host(const Station& station) {
  if (station.local()) return {};
  const std::string_view problem = host_address_problem(station.host);
  if (problem.empty()) return {};
  return fail(Code::invalid,
              "host " + station.host.to_string() + " of a remote station " + std::string(problem));
}

std::vector<std::string> ids_of(const Desired& desired) {
  std::vector<std::string> ids;
  ids.reserve(desired.size());
  for (const auto& [id, station] : desired) ids.push_back(id);
  std::ranges::sort(ids);
  return ids;
}

}  // namespace fairlead::fabric
