#include "ipam/happenings.h"

#include "resource/fairlead_group.h"

namespace fairlead::ipam {
namespace {

using client::Happening;

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
    if (!*part || !(*part)->reserved) continue;
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
