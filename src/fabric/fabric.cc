#include "fabric/fabric.h"

#include <algorithm>

namespace fairlead::fabric {

std::vector<std::string> ids_of(const Desired& desired) {
  std::vector<std::string> ids;
  ids.reserve(desired.size());
  for (const auto& [id, station] : desired) ids.push_back(id);
  std::ranges::sort(ids);
  return ids;
}

}  // namespace fairlead::fabric
