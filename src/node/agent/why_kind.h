// WhyKind: a kind that `fairlead why KIND NAME` can be asked about. The node's side of it is in its
// feature (NodeFeature::why). The list of them is in program/features.cc.
#pragma once

#include <string>
#include <string_view>

#include "api/client/rest_client.h"
#include "node/agent/explanation.h"

namespace fairlead::agent {

struct WhyKind {
  std::string name;       // "attachment"
  std::string name_help;  // what NAME is: "NAMESPACE/NAME, or NAME in default"
  // The name as agents know it. Fails with invalid.
  Result<std::string> (*check)(std::string_view text);
  // What the API says; null: it knows nothing of that kind.
  Task<Result<Explanation>> (*ask_api)(client::RestClient& api, std::string name);
};

}  // namespace fairlead::agent
