#include "features/vip/node/vip_feature.h"

#include <utility>

#include "features/vip/config/vip_config.h"
#include "features/vip/keys/peer_certificate.h"
#include "features/vip/node/vip_node.h"
#include "foundation/base/log_line.h"

namespace fairlead::vip {
namespace {

std::string log_level() {
  if (log::enabled(log::Level::debug)) return "debug";
  if (log::enabled(log::Level::info)) return "info";
  return log::enabled(log::Level::warning) ? "warning" : "error";
}

// This program itself, also after its file was replaced. It logs as this process does.
Result<GuardHandle> start_guard(const std::string& state) {
  return GuardHandle::start({"/proc/self/exe", "vip-guard", "--state", state, "--log-format",
                             log::format() == log::Format::json ? "json" : "text", "--log-level",
                             log_level()});
}

agent::FeaturePlan plan_vip(const Json& config, resource::FieldErrors& errors) {
  VipPlan plan = check_vip(config, errors);
  agent::FeaturePlan feature{.name = "vip", .needs_api = false, .make = {}};
  feature.check = [plan](runtime::Files& files, agent::Checklist& checks) {
    check_host(plan, files, checks);
    if (plan.election.tls.empty() || plan.node.empty()) return;
    if (const auto tls = read_tls(files, plan.election.tls, plan.node); !tls)
      checks.failed("election.tls", tls.error().message);
  };
  feature.make =
      [plan](const agent::NodeContext& context) -> Result<std::unique_ptr<agent::NodeFeature>> {
    VipPlan named = plan;
    FL_CHECKED(name_node(named, context.node));
    FL_TRY(std::unique_ptr<VipNode> node, VipNode::open(context, std::move(named), start_guard));
    return std::unique_ptr<agent::NodeFeature>(std::move(node));
  };
  feature.follow = [plan](agent::NodeFeature& running) {
    return static_cast<VipNode&>(running).follow(plan);
  };
  return feature;
}

}  // namespace

agent::FeatureType vip_type() {
  return {.name = "vip",
          .fields = vip_fields(),
          .flags = vip_flags(),
          .adopt = adopt_kube_vip,
          .plan = plan_vip};
}

}  // namespace fairlead::vip
