// Any bytes as the agent's configuration file are refused with a place in the file, or make a plan;
// the same bytes as an answer on the admin socket are refused or survive the way back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "features/networks/node/networks_settings.h"
#include "foundation/base/check.h"
#include "node/agent/agent_settings.h"
#include "node/agent/explanation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fairlead;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::vector<agent::FeatureType> kFeatures{networks::networks_type()};
  Result<agent::ConfigFile> file = agent::ConfigFile::parse("f", text);
  if (file) {
    file->lay_over({{"--log-level", "log.level", Json("debug")}});
    const Result<agent::AgentPlan> plan = agent::plan_agent(*file, kFeatures);
    CHECK(plan || !plan.error().message.empty());
    if (plan) CHECK(plan->settings.log.level == "debug");
  } else {
    CHECK(file.error().message.starts_with("f:"));
  }
  const auto json = wire::parse_json(text, {.max_depth = 50, .max_bytes = 64 << 10});
  if (!json) return 0;
  const Result<agent::Explanation> told = agent::parse_explanation(json->value);
  if (!told) return 0;
  const Result<agent::Explanation> again = agent::parse_explanation(agent::to_json(*told));
  CHECK(again && *again == *told && !agent::to_text(*told).empty());
  return 0;
}
