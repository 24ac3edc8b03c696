// The agent's file with virtual IPs as its only feature, for tests: what comes of a text.
#pragma once

#include <string>

#include "features/vip/config/vip_config.h"
#include "node/agent/agent_settings.h"

namespace fairlead::vip {

// Keeps the plan that was made last.
inline agent::FeatureType vip_test_type(VipPlan& plan) {
  return {.name = "vip",
          .fields = vip_fields(),
          .flags = vip_flags(),
          .adopt = adopt_kube_vip,
          .plan = [&plan](const Json& config, resource::FieldErrors& errors) -> agent::FeaturePlan {
            plan = check_vip(config, errors);
            return {.name = "vip", .needs_api = false, .make = nullptr};
          }};
}

// As `fairlead agent --config` reads it.
inline Result<VipPlan> plan_of(const std::string& text, const agent::Environment& environment = {},
                               std::vector<agent::FlagValue> flags = {}) {
  VipPlan plan;
  const agent::FeatureType type = vip_test_type(plan);
  agent::ConfigFile file;
  if (!text.empty()) {
    FL_TRY(file, agent::ConfigFile::parse("f", text));
  }
  FL_CHECKED(type.adopt(file, environment));
  file.lay_over(std::move(flags));
  FL_TRY(const agent::AgentPlan planned, agent::plan_agent(file, {type}));
  if (planned.features.empty()) return fail(Code::not_found, "no virtual IPs");
  return plan;
}

// What is wrong with it; empty: nothing.
inline std::string problem_of(const std::string& text, const agent::Environment& environment = {}) {
  const Result<VipPlan> plan = plan_of(text, environment);
  return plan ? "" : plan.error().message;
}

}  // namespace fairlead::vip
