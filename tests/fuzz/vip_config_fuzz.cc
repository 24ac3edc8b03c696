// Any bytes as the agent's file with virtual IPs, in our form or kube-vip's, and as values of
// kube-vip's environment variables, are refused with a reason, or make a plan that keeps its rules.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "features/vip/config/test_vip_file.h"
#include "foundation/base/check.h"

namespace {

using namespace fairlead;

void check_plan(const vip::VipPlan& plan) {
  const vip::ElectionConfig& election = plan.election;
  CHECK(vip::check(election.settings.timing).has_value());
  CHECK(plan.state_dir.starts_with('/'));
  std::set<Ip> addresses;
  for (const vip::VipEntry& entry : plan.vips) {
    CHECK(addresses.insert(entry.vip.address).second);
    CHECK(entry.vip.address.is_unicast() && !entry.vip.address.is_loopback());
    CHECK(!entry.vip.interface.empty());
    for (const vip::GateConfig& gate : entry.gates) CHECK(!gate.name.empty() && gate.rise >= 1);
  }
  if (election.backend != vip::Backend::raft) return;
  CHECK(election.settings.members.size() <= 15 && election.listen.port != 0);
  vip::VipPlan named = plan;
  const std::string name = plan.node.empty() ? "some-node" : plan.node;
  if (vip::name_node(named, name)) CHECK(named.election.settings.find(name) != nullptr);
}

void try_file(const std::string& text, const agent::Environment& environment) {
  const Result<vip::VipPlan> plan = vip::plan_of(text, environment);
  if (plan)
    check_plan(*plan);
  else
    CHECK(!plan.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_file(text, {});
  try_file("", {{"vip_address", "10.0.0.9"},
                {"vip_interface", "eth0"},
                {"vip_localpeer", text},
                {"vip_peers", text}});
  try_file("vip: 10.0.0.9\ninterface: e\nsingleNode: true\n",
           {{"lb_port", "80"}, {"lb_backends", text}, {"lb_type", text.substr(0, 4)}});
  return 0;
}
