#include "features/networks/why/attachment_why.h"

#include <algorithm>
#include <iterator>

#include "api/resource/columns.h"
#include "api/resource/condition.h"
#include "api/resource/schema/validation.h"
#include "features/networks/kinds/network_attachment.h"

namespace fairlead::networks {
namespace {

using agent::Explanation;
using agent::Missing;

constexpr std::size_t kEventsTold = 3;

std::string text_at(const Json& object, std::string_view path) {
  return std::string(wire::find_string(object, path));
}

std::string addresses_of(const Json& attachment) {
  std::string all = text_at(attachment, "status.ipv4");
  const std::string ipv6 = text_at(attachment, "status.ipv6");
  if (!all.empty() && !ipv6.empty()) all += " and ";
  return all + ipv6;
}

std::string wanted_text(const Json& attachment) {
  std::string text = "an interface in Subnet " + text_at(attachment, "spec.subnet") + " on node " +
                     text_at(attachment, "spec.node");
  for (const char* fixed : {"spec.fixedIPv4", "spec.fixedIPv6"})
    if (const std::string address = text_at(attachment, fixed); !address.empty())
      text += ", with address " + address;
  return text;
}

std::string actual_text(const Json& attachment) {
  const std::string addresses = addresses_of(attachment);
  const std::string interface = text_at(attachment, "status.ifcName");
  return (addresses.empty() ? std::string("no address") : "address " + addresses) + ", " +
         (interface.empty()
              ? std::string("no interface")
              : "interface " + interface + " on host " + text_at(attachment, "status.hostIP"));
}

std::string join_command_of(const std::string& node) {
  return "join " + node + " (`fairlead join`) and start its agent";
}

std::string look_at_agent(const std::string& node) {
  return "look at the agent of " + node + ": `systemctl status fairlead-agent`, or /readyz of it";
}

Missing no_address(const ApiFacts& facts, const std::string& message) {
  const Json& attachment = *facts.attachment;
  const std::string subnet = text_at(attachment, "spec.subnet");
  Missing missing{.what = "an address", .why = message, .remedy = {}, .since = {}};
  if (!facts.subnet && !facts.subnet_unread) {
    missing.why = "there is no Subnet " + subnet + " in namespace " + facts.name.namespace_name;
    missing.remedy = "create it; the attachment then gets its address by itself";
    return missing;
  }
  const std::string wrong =
      facts.subnet ? resource::join(resource::strings_at(*facts.subnet, "status.errors"), "; ")
                   : "";
  if (!wrong.empty()) {
    missing.why = "Subnet " + subnet + " is not valid: " + wrong;
    missing.remedy = "mend or delete what it is in conflict with";
    return missing;
  }
  const Json* contention = wire::find(attachment, "status.addressContention");
  if (contention && contention->is_bool() && contention->get_bool()) {
    missing.why = "all addresses of Subnet " + subnet +
                  " are taken; it waits in line and gets the next one that is released";
    missing.remedy = "delete attachments that are not needed, or use a larger Subnet";
  }
  return missing;
}

Missing host_error(const std::string& node, const std::string& message) {
  Missing missing{
      .what = "an interface that is all right", .why = message, .remedy = {}, .since = {}};
  missing.remedy = is_hook_not_allowed(message)
                       ? "allow the program on " + node + " (`--allowed-program`), or do without it"
                       : look_at_agent(node);
  return missing;
}

// What the condition Ready says is missing.
Missing first_missing(const ApiFacts& facts, const std::string& reason,
                      const std::string& message) {
  const std::string node = text_at(*facts.attachment, "spec.node");
  if (reason == "NoAddress" || reason == "AwaitsAddress") return no_address(facts, message);
  if (reason == kNodeUnknown)
    return {.what = "a node", .why = message, .remedy = join_command_of(node), .since = {}};
  if (reason == kAgentSilent)
    return {.what = "the agent of its node",
            .why = message,
            .remedy = look_at_agent(node),
            .since = facts.node_report ? text_at(*facts.node_report, "silentSince") : ""};
  if (reason == "HostError") return host_error(node, message);
  if (reason == "AwaitsNode")
    return {
        .what = "an interface",
        .why = message,
        .remedy = "ask its agent: `fairlead why attachment " + facts.name.key() + "` on " + node,
        .since = {}};
  if (reason == "HookPending")
    return {.what = "the end of postCreateExec", .why = message, .remedy = {}, .since = {}};
  if (reason == "HookFailed" || reason == "HookTimedOut")
    return {.what = "a postCreateExec that ended well",
            .why = message,
            .remedy = "its output is in status.postCreateExecReport",
            .since = text_at(*facts.attachment, "status.postCreateExecReport.stopTime")};
  return {
      .what = "readiness", .why = message.empty() ? reason : message, .remedy = {}, .since = {}};
}

// What is wrong with the node, if the condition is about something else.
void add_node_trouble(const ApiFacts& facts, const std::string& reason, Explanation& explanation) {
  const std::string node = text_at(*facts.attachment, "spec.node");
  if (reason == kNodeUnknown || reason == kAgentSilent || facts.node_report_unread) return;
  if (!facts.node_report) {
    explanation.missing.push_back({.what = "its node",
                                   .why = "no agent has reported from " + node,
                                   .remedy = join_command_of(node),
                                   .since = {}});
  } else if (const std::string since = text_at(*facts.node_report, "silentSince"); !since.empty()) {
    explanation.missing.push_back({.what = "the agent of its node",
                                   .why = "the agent of " + node + " is silent",
                                   .remedy = look_at_agent(node),
                                   .since = since});
  }
}

std::string event_time(const Json& event) {
  for (const char* path : {"lastTimestamp", "eventTime", "firstTimestamp"})
    if (std::string time = text_at(event, path); !time.empty()) return time;
  return {};
}

void add_notes(const ApiFacts& facts, Explanation& explanation) {
  std::ranges::copy(facts.unread, std::back_inserter(explanation.notes));
  if (!facts.lease_renewed.empty())
    explanation.notes.push_back("the agent of node " + text_at(*facts.attachment, "spec.node") +
                                " was last heard at " + facts.lease_renewed);
  std::vector<const Json*> events;
  for (const Json& event : facts.events) events.push_back(&event);
  std::ranges::sort(events, std::ranges::greater{},
                    [](const Json* event) { return event_time(*event); });
  if (events.size() > kEventsTold) events.resize(kEventsTold);
  for (const Json* event : events)
    explanation.notes.push_back("Event " + text_at(*event, "reason") + " at " + event_time(*event) +
                                ": " + text_at(*event, "message"));
}

}  // namespace

Result<AttachmentName> parse_attachment_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  AttachmentName name{.namespace_name = "default", .name = std::string(text)};
  if (slash != std::string_view::npos)
    name = {.namespace_name = std::string(text.substr(0, slash)),
            .name = std::string(text.substr(slash + 1))};
  if (!resource::is_dns_label(name.namespace_name) || !resource::is_dns_subdomain(name.name))
    return fail(Code::invalid,
                "\"" + std::string(text) + "\" is not the name of an attachment: NAMESPACE/NAME");
  return name;
}

Explanation explain_from_api(const ApiFacts& facts) {
  Explanation explanation{.subject = "attachment " + facts.name.key(), .witness = "the API"};
  if (!facts.attachment) {
    explanation.wanted = "nothing: nobody asks for it";
    explanation.actual = "there is no such NetworkAttachment";
    explanation.missing.push_back(
        {.what = "the NetworkAttachment",
         .why = "it does not exist in namespace " + facts.name.namespace_name,
         .remedy = "`kubectl get na -A` lists those that do",
         .since = {}});
    return explanation;
  }
  explanation.wanted = wanted_text(*facts.attachment);
  explanation.actual = actual_text(*facts.attachment);
  const Json* ready = resource::find_condition(*facts.attachment, resource::kReady);
  const std::string status = ready ? text_at(*ready, "status") : "";
  const std::string reason = ready ? text_at(*ready, "reason") : "NotJudged";
  const std::string message =
      ready ? text_at(*ready, "message") : "the server has not judged it (no condition Ready)";
  if (ready) explanation.since = text_at(*ready, "lastTransitionTime");
  explanation.fulfilled = status == "True";
  if (!explanation.fulfilled) {
    explanation.missing.push_back(first_missing(facts, reason, message));
    add_node_trouble(facts, reason, explanation);
  }
  if (!text_at(*facts.attachment, "metadata.deletionTimestamp").empty())
    explanation.notes.push_back("it is being deleted");
  add_notes(facts, explanation);
  return explanation;
}

Explanation explain_on_node(const NodeFacts& facts) {
  Explanation explanation{.subject = "attachment " + facts.key,
                          .witness = "the agent of node " + facts.node};
  const std::string addresses = resource::join(facts.addresses, " and ");
  explanation.wanted = addresses.empty() ? "nothing yet: it has no address"
                                         : "an interface with address " + addresses;
  explanation.actual = facts.interface.empty() ? "no interface" : "interface " + facts.interface;
  explanation.since = facts.since;
  const auto miss = [&](std::string what, std::string why, std::string remedy,
                        std::string since = {}) {
    explanation.missing.push_back(
        {std::move(what), std::move(why), std::move(remedy), std::move(since)});
  };
  if (!facts.refusal.empty())
    miss("the API's consent", "the API does not know this node: " + facts.refusal,
         "join again (`fairlead join`)");
  if (!facts.complete)
    miss("complete knowledge",
         facts.watches_fail ? "the API is not reached, and not everything is known from before"
                            : "not every watch has delivered its first list yet",
         facts.watches_fail ? "see whether the servers can be reached from here" : "");
  if (addresses.empty())
    miss("an address", "the server has not assigned one",
         "ask the API: `fairlead why attachment " + facts.key + " --kubeconfig …`");
  for (const std::string& problem : facts.problems)
    miss("an unambiguous place in its network", problem,
         "delete one of those that are in conflict");
  if (!facts.fabric_error.empty())
    miss("success of the fabric", facts.fabric_error, "it is retried, at least every 30 s",
         facts.since);
  else if (facts.interface.empty() && facts.desired)
    miss("its interface", "the fabric has not made it yet", "");
  if (facts.interface.empty() && explanation.missing.empty())
    miss("its interface", "this node does not mean to carry it, and does not know why",
         "look at the agent's log");
  for (const std::string& hook : facts.forbidden_hooks)
    miss("leave to run a hook", hook, "allow the program (`--allowed-program`), or do without it");
  if (facts.hook_failure)
    miss("a postCreateExec that ended well", *facts.hook_failure,
         "its output is in status.postCreateExecReport");
  else if (facts.has_hook && !facts.interface.empty() && !facts.hook_reported &&
           facts.forbidden_hooks.empty())
    miss("the end of postCreateExec", "it has not ended yet", "");
  if (facts.watches_fail && facts.complete)
    explanation.notes.push_back("the API is not reached at present: this is what was known before");
  explanation.fulfilled = explanation.missing.empty();
  return explanation;
}

}  // namespace fairlead::networks
