#include "features/networks/ipam/readiness_interlock.h"

#include <utility>
#include <vector>

#include "api/controllers/told_events.h"
#include "features/networks/ipam/happenings.h"

namespace fairlead::ipam {

AgentWord agent_word(const NetworkState& networks, std::string_view node) {
  const watchcache::ObjectRef report = networks.cache().of(networks.reports()).find(node);
  if (!report) return {.state = AgentWord::State::unknown, .silent_since = {}};
  const std::string& since = report->fields[networks.silent_since_field()];
  return {.state = since.empty() ? AgentWord::State::present : AgentWord::State::silent,
          .silent_since = since};
}

apiserver::Answer<> ReadinessInterlock::admit(const Proposal& proposal, store::Transaction&) {
  if (&proposal.kind != &networks_.attachments() || !proposal.desired) return {};
  Json& desired = *proposal.desired;
  const resource::Condition ready =
      ready_condition(desired, agent_word(networks_, wire::find_string(desired, "spec.node")));
  resource::set_condition(desired, ready, runtime_.wall_now());
  std::vector<control::Happening> happenings = happenings_of(proposal.live, desired);
  if (!happenings.empty())
    proposal.holds.push_back(
        std::make_unique<controllers::ToldEvents>(events_, std::move(happenings)));
  return {};
}

}  // namespace fairlead::ipam
