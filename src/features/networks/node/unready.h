// Why virtual networks are not ready yet on this node, in one sentence for people. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace fairlead::networks {

struct Progress {
  std::string refusal;  // why the API refuses the node
  std::size_t watches = 0;
  std::size_t failing_watches = 0;
  bool complete = false;  // every watch has delivered its first list; an audit is to follow
  std::string fabric;
};
// The first cause first.
std::string why_unready(const Progress& progress);

}  // namespace fairlead::networks
