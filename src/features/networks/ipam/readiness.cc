#include "features/networks/ipam/readiness.h"

#include "api/resource/columns.h"
#include "features/networks/kinds/network_attachment.h"

namespace fairlead::ipam {
namespace {

using resource::Condition;

std::string joined_at(const Json& attachment, std::string_view path) {
  return resource::join(resource::strings_at(attachment, path), "; ");
}

Condition because(std::string_view status, std::string_view reason, std::string message) {
  return {.type = std::string(resource::kReady),
          .status = std::string(status),
          .observed_generation = {},
          .last_transition_time = {},
          .reason = std::string(reason),
          .message = std::move(message)};
}

Condition missing(std::string_view reason, std::string message) {
  return because("False", reason, std::move(message));
}

Condition of_hook(const Json& attachment, Condition ready) {
  if (resource::items_at(attachment, "spec.postCreateExec").empty()) return ready;
  const Json* told = wire::find(attachment, "status.postCreateExecReport");
  if (!told) return missing("HookPending", "postCreateExec has not ended yet");
  const auto report = resource::decode<networks::ExecReport>(*told);
  if (!report) return missing("HookPending", "the report of postCreateExec is not readable");
  if (auto failure = networks::describe_failure(*report))
    return missing(report->exit_status == networks::kHookTimedOut ? "HookTimedOut" : "HookFailed",
                   "postCreateExec: " + *failure);
  return ready;
}

Condition of_node(const Json& attachment, const AgentWord& agent) {
  const std::string node(wire::find_string(attachment, "spec.node"));
  const std::string interface(wire::find_string(attachment, "status.ifcName"));
  if (agent.state == AgentWord::State::unknown)
    return missing(networks::kNodeUnknown,
                   interface.empty()
                       ? "node " + node + " is not known: no agent has reported from there"
                       : "node " + node + " is not known any more: it was deleted");
  // What was made goes on working without its agent.
  if (agent.state == AgentWord::State::silent)
    return because(interface.empty() ? "False" : "Unknown", networks::kAgentSilent,
                   "agent of " + node + " silent since " + agent.silent_since);
  if (std::string errors = joined_at(attachment, "status.errors.host"); !errors.empty())
    return missing("HostError", std::move(errors));
  if (interface.empty())
    return missing("AwaitsNode", "node " + node + " has not made the interface yet");
  return of_hook(attachment,
                 because("True", "Implemented", "interface " + interface + " of node " + node));
}

}  // namespace

Condition ready_condition(const Json& attachment, const AgentWord& agent) {
  Condition ready;
  const bool addressed = !wire::find_string(attachment, "status.ipv4").empty() ||
                         !wire::find_string(attachment, "status.ipv6").empty();
  if (std::string errors = joined_at(attachment, "status.errors.ipam"); !errors.empty()) {
    ready = missing("NoAddress", std::move(errors));
  } else if (!addressed) {
    ready = missing("AwaitsAddress", "no address was assigned yet");
  } else {
    ready = of_node(attachment, agent);
  }
  const Json* generation = wire::find(attachment, "metadata.generation");
  if (generation && generation->is_int64()) ready.observed_generation = generation->get_int64();
  return ready;
}

AgentWord::State told_state(std::string_view stored) {
  static const std::string kSilent = std::string(networks::kAgentSilent) + '"';
  static const std::string kUnknown = std::string(networks::kNodeUnknown) + '"';
  if (stored.find(kSilent) != std::string_view::npos) return AgentWord::State::silent;
  if (stored.find(kUnknown) != std::string_view::npos) return AgentWord::State::unknown;
  return AgentWord::State::present;
}

bool tells_readiness(std::string_view stored) {
  return stored.find(R"("lastTransitionTime":)") != std::string_view::npos;
}

}  // namespace fairlead::ipam
