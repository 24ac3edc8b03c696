#include "features/networks/ipam/happenings.h"

#include <algorithm>

#include "api/resource/columns.h"
#include "api/resource/condition.h"
#include "api/resource/extended_metadata.h"
#include "features/networks/kinds/network_attachment.h"

namespace fairlead::ipam {
namespace {

using control::Happening;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

}  // namespace

std::optional<Happening> happening_of(const Assignment& assignment) {
  Happening happening{.api_version = std::string(resource::kFairleadApiVersion),
                      .kind = "NetworkAttachment",
                      .namespace_name = assignment.before.namespace_name,
                      .name = assignment.before.name,
                      .uid = assignment.uid,
                      .reason = {},
                      .message = {}};
  if (!assignment.errors.empty()) {
    happening.type = Happening::Type::warning;
    happening.reason = assignment.exhausted         ? "AddressExhausted"
                       : !assignment.wanted.empty() ? "AddressTaken"
                                                    : "NoAddress";
    happening.message = joined(assignment.errors);
    return happening;
  }
  std::string addresses;
  for (const auto* part : {&assignment.ipv4, &assignment.ipv6}) {
    if (!*part || !(*part)->fresh) continue;
    addresses += (addresses.empty() ? "" : " and ") +
                 std::string((*part)->ip.is_v4() ? "IPv4" : "IPv6") + " address " +
                 (*part)->ip.to_string();
  }
  if (addresses.empty()) return std::nullopt;
  happening.reason = "AddressAssigned";
  happening.message = "Assigned " + addresses + " of virtual network " +
                      std::to_string(assignment.vni) + ", MAC " + assignment.mac.to_string();
  return happening;
}

namespace {

// Tells of one attachment, as its node's agent said it.
class Teller {
 public:
  Teller(const Json* before, const Json& after, std::vector<Happening>& told)
      : before_(before), after_(after), told_(told) {}

  void interface() {
    const std::string_view name = wire::find_string(after_, "status.ifcName");
    if (name.empty() || (before_ && !wire::find_string(*before_, "status.ifcName").empty())) return;
    tell(Happening::Type::normal, "Implemented",
         "Implemented as interface " + std::string(name) + " of node " + node());
  }

  // Those that were not there before. Of a node that is not known the server itself says so there.
  void errors() {
    if (reason_of(after_) == networks::kNodeUnknown) return;
    const std::vector<std::string> known =
        before_ ? resource::strings_at(*before_, "status.errors.host") : std::vector<std::string>();
    for (const std::string& error : resource::strings_at(after_, "status.errors.host")) {
      if (std::ranges::find(known, error) != known.end()) continue;
      const bool hook = networks::is_hook_not_allowed(error);
      tell(Happening::Type::warning, hook ? "HookNotAllowed" : "ImplementationFailed", error);
    }
  }

  void hook() {
    const Json* report = wire::find(after_, "status.postCreateExecReport");
    if (!report) return;
    if (before_ &&
        resource::same_content(wire::find(*before_, "status.postCreateExecReport"), report))
      return;
    const auto decoded = resource::decode<networks::ExecReport>(*report);
    if (!decoded) return;
    if (const auto failure = networks::describe_failure(*decoded))
      tell(Happening::Type::warning, "HookFailed", *failure);
  }

  // That nobody is there who could make the interface.
  void node_trouble() {
    if (!wire::find_string(after_, "status.ifcName").empty()) return;
    const std::string_view reason = reason_of(after_);
    if (reason != networks::kAgentSilent && reason != networks::kNodeUnknown) return;
    if (before_ && reason_of(*before_) == reason) return;
    const Json& ready = *resource::find_condition(after_, resource::kReady);
    tell(Happening::Type::warning, reason, std::string(wire::find_string(ready, "message")), false);
  }

 private:
  static std::string_view reason_of(const Json& attachment) {
    const Json* ready = resource::find_condition(attachment, resource::kReady);
    return ready ? wire::find_string(*ready, "reason") : std::string_view();
  }
  std::string node() const { return std::string(wire::find_string(after_, "spec.node")); }
  void tell(Happening::Type type, std::string_view reason, std::string message,
            bool by_agent = true) {
    told_.push_back({.api_version = std::string(resource::kFairleadApiVersion),
                     .kind = "NetworkAttachment",
                     .namespace_name = std::string(wire::find_string(after_, "metadata.namespace")),
                     .name = std::string(wire::find_string(after_, "metadata.name")),
                     .uid = std::string(wire::find_string(after_, "metadata.uid")),
                     .type = type,
                     .reason = std::string(reason),
                     .message = std::move(message)});
    if (by_agent) told_.back().source = {.component = "fairlead-agent", .host = node()};
  }

  const Json* before_;
  const Json& after_;
  std::vector<Happening>& told_;
};

}  // namespace

std::vector<Happening> happenings_of(const Json* before, const Json& after) {
  std::vector<Happening> told;
  Teller teller(before, after, told);
  teller.interface();
  teller.errors();
  teller.hook();
  teller.node_trouble();
  return told;
}

std::optional<Happening> happening_of(const SubnetFacts* before, const SubnetFacts* after) {
  if (!after) return std::nullopt;
  const bool news = !before || before->uid != after->uid || before->validated != after->validated ||
                    before->errors != after->errors;
  if (!news || (!after->validated && after->errors.empty())) return std::nullopt;
  Happening happening{.api_version = std::string(resource::kFairleadApiVersion),
                      .kind = "Subnet",
                      .namespace_name = after->namespace_name,
                      .name = after->name,
                      .uid = after->uid,
                      .reason = "SubnetValidated",
                      .message = "The subnet conflicts with no other of virtual network " +
                                 std::to_string(after->vni),
                      .once = true};  // every server sees it
  if (!after->validated) {
    happening.type = Happening::Type::warning;
    happening.reason = "SubnetConflict";
    happening.message = joined(after->errors);
  }
  return happening;
}

}  // namespace fairlead::ipam
