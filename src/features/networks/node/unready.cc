#include "features/networks/node/unready.h"

namespace fairlead::networks {

std::string why_unready(const Progress& progress) {
  if (!progress.refusal.empty()) return "the API does not know this node: " + progress.refusal;
  if (progress.complete)
    return "fabric " + progress.fabric +
           " has not been compared yet with what it should carry; the log says if it does not open";
  if (progress.watches == 0)
    return "this node has no NodeReport in the API yet: the API is not reached, or has not "
           "answered";
  if (progress.failing_watches > 0)
    return "the API is not reached: " + std::to_string(progress.failing_watches) + " of " +
           std::to_string(progress.watches) + " watches fail";
  return "not every watch has delivered its first list yet";
}

}  // namespace fairlead::networks
