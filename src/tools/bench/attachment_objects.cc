#include "tools/bench/attachment_objects.h"

#include <fmt/format.h>

namespace fairlead::bench {
namespace {

Json object(const char* kind, const std::string& name, JsonObject spec) {
  return JsonObject{{"apiVersion", "fairlead.dev/v1alpha1"},
                    {"kind", kind},
                    {"metadata", JsonObject{{"name", name}}},
                    {"spec", std::move(spec)}};
}

}  // namespace

std::string AttachmentObjects::name(std::uint64_t attachment) const {
  return fmt::format("{}-{}", run_, attachment);
}

std::string AttachmentObjects::subnet_name(std::size_t network, std::size_t subnet) const {
  std::string name = fmt::format("{}-net-{}", run_, network);
  if (settings_.subnets_per_network > 1) name += static_cast<char>('a' + subnet);
  return name;
}

Json AttachmentObjects::subnet(std::size_t network, std::size_t subnet) const {
  const PlannedNetwork& planned = networks_[network];
  return object("Subnet", subnet_name(network, subnet),
                {{"vni", planned.vni}, {"ipv4", planned.blocks[subnet].to_string()}});
}

Json AttachmentObjects::attachment(const Step& step, const std::string& node,
                                   const std::string& peer) const {
  JsonObject spec{{"node", node}, {"subnet", subnet_name(step.network, step.subnet)}};
  if (step.tested) {
    spec["postCreateExec"] = JsonArray{settings_.ping_program,
                                       "up",
                                       "${ifname}",
                                       "${ipv4}",
                                       peer,
                                       std::to_string(settings_.ping_count)};
    spec["postDeleteExec"] = JsonArray{settings_.ping_program, "down", "${ifname}"};
  }
  return object("NetworkAttachment", name(step.attachment), std::move(spec));
}

}  // namespace fairlead::bench
