// kube-vip's file and environment variables as they stand: what they become here, and what is
// refused.
#include "features/vip/config/kube_vip_form.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "features/vip/config/test_vip_file.h"

namespace fairlead::vip {
namespace {

// From its documentation.
constexpr const char* kFile = R"(remotePeers:
- id: server2
  address: 192.168.0.71
  port: 10000
- id: server3
  address: 192.168.0.72
  port: 10000
localPeer:
  id: server1
  address: 192.168.0.70
  port: 10000
vip: 192.168.0.75
gratuitousARP: true
singleNode: false
startAsLeader: true
interface: ens192
loadBalancers:
- name: Kubernetes Control Plane
  type: tcp
  port: 6443
  bindToVip: true
  backends:
  - port: 6444
    address: 192.168.0.70
)";

std::string members_of(const VipPlan& plan) {
  std::string text;
  for (const Member& member : plan.election.settings.members)
    text += (text.empty() ? "" : " ") + member.name + "=" + member.address;
  return text;
}

bool notes(const VipPlan& plan, const std::string& beginning) {
  return std::ranges::any_of(plan.notes,
                             [&](const std::string& note) { return note.starts_with(beginning); });
}

TEST(KubeVipForm, ItsFile) {
  const Result<VipPlan> plan = plan_of(kFile);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "server1");
  EXPECT_EQ(plan->election.backend, Backend::raft);
  EXPECT_EQ(plan->election.listen.to_string(), "192.168.0.70:10000");
  EXPECT_EQ(members_of(*plan),
            "server1=192.168.0.70:10000 server2=192.168.0.71:10000 server3=192.168.0.72:10000");
  EXPECT_EQ(plan->election.settings.timing, Timing{});
  ASSERT_EQ(plan->vips.size(), 1U);
  EXPECT_EQ(plan->vips[0].vip.address.to_string(), "192.168.0.75");
  EXPECT_EQ(plan->vips[0].vip.interface, "ens192");
  EXPECT_EQ(plan->vips[0].vip.options.preferred, "server1");
  ASSERT_EQ(plan->load_balancers.size(), 1U);
  const KubeVipLoadBalancer& balancer = plan->load_balancers[0];
  EXPECT_EQ(balancer.name, "Kubernetes Control Plane");
  EXPECT_EQ(balancer.type, KubeVipLoadBalancer::Type::tcp);
  EXPECT_EQ(balancer.port, 6443);
  EXPECT_TRUE(balancer.bind_to_vip);
  ASSERT_EQ(balancer.backends.size(), 1U);
  EXPECT_EQ(balancer.backends[0],
            (KubeVipLoadBalancer::Backend{.address = "192.168.0.70", .port = 6444}));
}

// One note for each key, and one on what the form cannot say: a secret.
TEST(KubeVipForm, SaysWhatEachKeyMeans) {
  const Result<VipPlan> plan = plan_of(std::string(kFile) + "addPeersAsBackends: true\n");
  ASSERT_TRUE(plan) << plan.error().message;
  for (const char* key :
       {"localPeer: this node is server1", "remotePeers: the members of the election's first",
        "vip: 192.168.0.75 is held by one node at a time", "interface: ", "gratuitousARP: ",
        "singleNode: ", "startAsLeader: this node is preferred as holder; it never holds",
        "addPeersAsBackends: has no effect, as it had none", "loadBalancers: 1 checked, and NOT",
        "peers are not authenticated"})
    EXPECT_TRUE(notes(*plan, key)) << key;
  EXPECT_EQ(plan->notes.size(), 10U);
}

// The agent's own node is the local peer, unless the file says otherwise.
TEST(KubeVipForm, NodeIsTheLocalPeer) {
  Result<agent::ConfigFile> file = agent::ConfigFile::parse("f", kFile);
  ASSERT_TRUE(file);
  ASSERT_TRUE(adopt_kube_vip(*file, {}));
  EXPECT_EQ(wire::find_string(file->value(), "node"), "server1");
  EXPECT_EQ(problem_of("node: other\n" + std::string(kFile)),
            "f:10:3: localPeer.id: but this node is called other");
}

// kube-vip matched keys without regard to case, and took numbers for text.
TEST(KubeVipForm, AsForgivingAsKubeVip) {
  const Result<VipPlan> plan = plan_of(
      "LocalPeer: {ID: 1, Address: 10.0.0.1, Port: 1}\nremotepeers: [{id: K8S_2, address: 10.0.0.2,"
      " port: 2}]\nVIP: 10.0.0.9\nINTERFACE: eth0\nloadbalancers:\n- {Name: 5, Type: TCP, Port: 80,"
      " Backends: [{ADDRESS: 10.0.0.3, port: 81}]}\n");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(members_of(*plan), "1=10.0.0.1:1 k8s-2=10.0.0.2:2");
  EXPECT_EQ(plan->load_balancers[0].name, "5");
  // Places are those of the file, under the names that the documentation has.
  EXPECT_EQ(problem_of("LOCALPEER:\n  ID: a\n  Address: x\nvip: 10.0.0.9\ninterface: e\n"),
            "f:3:3: localPeer.address: must have an address, not a name: names are not looked up");
  EXPECT_EQ(problem_of("vip: 10.0.0.9\nVip: 10.0.0.8\n"), "f:2:1: vip: is given twice");
  EXPECT_EQ(problem_of("vip: 10.0.0.9\nremotePeers:\n- {ID: a, adress: b}\n"),
            "f:3:11: remotePeers[0].adress: there is no such field");
}

// The agent's own fields keep their case.
TEST(KubeVipForm, OtherFieldsAreNotForgiven) {
  EXPECT_EQ(problem_of("vip: 10.0.0.9\nNode: a\n"), "f:2:1: Node: there is no such field");
  EXPECT_EQ(problem_of("Election: {}\n"), "f:1:1: Election: there is no such field");
}

TEST(KubeVipForm, SingleNode) {
  const Result<VipPlan> plan = plan_of(
      "singleNode: true\nvip: 10.0.0.9\ninterface: e\nremotePeers: [{id: b, address: 10.0.0.2}]\n");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "");
  EXPECT_EQ(plan->election.listen.to_string(), "127.0.0.1:10000");
  EXPECT_EQ(members_of(*plan), "");
  EXPECT_TRUE(notes(*plan, "remotePeers: not used with singleNode"));
  EXPECT_FALSE(notes(*plan, "peers are not authenticated"));
  VipPlan named = *plan;
  ASSERT_TRUE(name_node(named, "host"));
  EXPECT_EQ(members_of(named), "host=127.0.0.1:10000");
}

// The URL of an http backend: in `address` as the documentation has it, in `url` as the code does.
TEST(KubeVipForm, HttpBackends) {
  const Result<VipPlan> plan = plan_of(R"(
singleNode: true
vip: 10.0.0.9
interface: e
loadBalancers:
- type: HTTP
  port: 80
  backendPort: 9
  backends:
  - {port: 6444, address: "https://192.168.0.70"}
  - {url: "http://10.0.0.1:81/x"}
  - {rawURL: "http://10.0.0.2"}
  - {address: 10.0.0.3, port: 5}
- {type: udp, port: 80, backendPort: 53, backends: [{address: "fd00::1"}]}
)");
  ASSERT_TRUE(plan) << plan.error().message;
  using Backend = KubeVipLoadBalancer::Backend;
  EXPECT_EQ(plan->load_balancers[0].backends,
            (std::vector<Backend>{{"192.168.0.70", 6444, true, "/"},
                                  {"10.0.0.1", 81, false, "/x"},
                                  {"10.0.0.2", 9, false, "/"},
                                  {"10.0.0.3", 5, false, "/"}}));
  EXPECT_EQ(plan->load_balancers[1].backends, (std::vector<Backend>{{"fd00::1", 53, false, ""}}));
}

TEST(KubeVipForm, Refuses) {
  const std::string alone = "singleNode: true\nvip: 10.0.0.9\ninterface: e\n";
  const auto balancer = [&](const std::string& fields) {
    return alone + "loadBalancers:\n- {" + fields + "}\n";
  };
  const std::vector<std::pair<std::string, std::string>> rows{
      {"vip: 10.0.0.9\ninterface: e\n", "f:1:1: localPeer: must be given"},
      {"localPeer: {id: a, address: 10.0.0.1}\ninterface: e\n", "f:1:1: vip: must be given"},
      {"localPeer: {id: a, address: 10.0.0.1}\nvip: 10.0.0.9\n", "f:1:1: interface: must be given"},
      {"localPeer: {id: a}\n", "f:1:1: localPeer.address: must be given"},
      {"localPeer: a\n", "f:1:1: localPeer: "},
      {"localPeer: {id: a, address: 10.0.0.1, port: 70000}\n", "f:1:39: localPeer.port: "},
      {"localPeer: {id: 'a b', address: 10.0.0.1}\n", "f:1:13: localPeer.id: is not a valid node"},
      {"localPeer: {id: a, address: 10.0.0.1}\nvip: 10.0.0.1\ninterface: e\n",
       "f:2:1: vip: is a member's own address (localPeer.address)"},
      {"localPeer: {id: a, address: 10.0.0.1}\nremotePeers: [{id: A, address: 10.0.0.2}]\n"
       "vip: 10.0.0.9\ninterface: e\n",
       "f:2:16: remotePeers[0].id: is the name at localPeer.id, too"},
      {"localPeer: {id: a, address: 10.0.0.1}\nremotePeers: [{id: b, address: 10.0.0.1}]\n"
       "vip: 10.0.0.9\ninterface: e\n",
       "f:2:23: remotePeers[0].address: is the address at localPeer.address, too"},
      {"singleNode: yes please\n", "f:1:1: singleNode: "},
      {"singleNode: true\nvip: 10.0.0.9/32\ninterface: e\n", "f:2:1: vip: must be an address wit"},
      {"vip: 10.0.0.9\npeers: []\n", "f:2:1: peers: there is no such field"},
      {balancer("port: 1, backends: [{address: a, port: 1}]"),
       "f:5:3: loadBalancers[0].type: must be given"},
      {balancer("type: sctp, port: 1, backends: [{address: a, port: 1}]"),
       "f:5:4: loadBalancers[0].type: must be tcp, udp or http"},
      {balancer("type: tcp, port: 0, backends: []"), "f:5:15: loadBalancers[0].port: "},
      {balancer("type: tcp, port: 1"), "f:5:3: loadBalancers[0].backends: must be given"},
      {balancer("type: tcp, port: 1, backends: [{port: 1}]"),
       "f:5:35: loadBalancers[0].backends[0].address: must be given"},
      {balancer("type: tcp, port: 1, backends: [{address: a}]"),
       "f:5:35: loadBalancers[0].backends[0].port: must be given"},
      {balancer("type: tcp, port: 1, backends: [{address: 'http://a', port: 1}]"),
       "f:5:36: loadBalancers[0].backends[0].address: must be an address: URLs are for the type"},
      {balancer("type: http, port: 1, backends: [{url: 'ftp://a'}]"),
       "f:5:37: loadBalancers[0].backends[0].url: must be a URL"},
      {balancer("type: tcp, port: 1, backends: [{address: a, port: 1}]") +
           "- {type: http, port: 1, backends: [{url: 'http://a'}]}\n",
       "f:6:16: loadBalancers[1].port: is the port of loadBalancers[0], too"},
  };
  for (const auto& [text, told] : rows) {
    const std::string said = problem_of(text);
    EXPECT_TRUE(said.starts_with(told)) << text << "  said: " << said;
  }
}

const agent::Environment kVariables{{"vip_interface", "eth7"},
                                    {"vip_address", "10.0.0.9"},
                                    {"vip_singlenode", "0"},
                                    {"vip_startleader", "t"},
                                    {"vip_peers", "b:10.0.0.2:10000,c:[fd00::3]:10001"},
                                    {"vip_localpeer", "a:10.0.0.1:10000"},
                                    {"vip_arp", "TRUE"},
                                    {"vip_addpeerstolb", "false"},
                                    {"lb_name", "api"},
                                    {"lb_type", "tcp"},
                                    {"lb_port", "6443"},
                                    {"lb_backendport", "8080"},
                                    {"lb_bindtovip", "true"},
                                    {"lb_backends", "10.0.0.1:6444,10.0.0.2:6445"}};

// A static Pod of kube-vip has no file.
TEST(KubeVipForm, EnvironmentAlone) {
  const Result<VipPlan> plan = plan_of("", kVariables);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "a");
  EXPECT_EQ(members_of(*plan), "a=10.0.0.1:10000 b=10.0.0.2:10000 c=[fd00::3]:10001");
  EXPECT_EQ(plan->vips[0].vip.interface, "eth7");
  EXPECT_EQ(plan->vips[0].vip.options.preferred, "a");
  ASSERT_EQ(plan->load_balancers.size(), 1U);
  EXPECT_EQ(plan->load_balancers[0].port, 6443);  // not as an octal number
  EXPECT_EQ(plan->load_balancers[0].backends.size(), 2U);
}

// Variables override the file; the lb_ ones its first load balancer.
TEST(KubeVipForm, EnvironmentOverridesTheFile) {
  const Result<VipPlan> plan = plan_of(kFile, {{"vip_address", "192.168.0.99"},
                                               {"vip_interface", ""},
                                               {"vip_startleader", "False"},
                                               {"lb_port", "0777"},
                                               {"HOME", "/root"}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->vips[0].vip.address.to_string(), "192.168.0.99");
  EXPECT_EQ(plan->vips[0].vip.interface, "ens192");
  EXPECT_EQ(plan->vips[0].vip.options.preferred, "");
  ASSERT_EQ(plan->load_balancers.size(), 1U);
  EXPECT_EQ(plan->load_balancers[0].port, 777);
  EXPECT_EQ(plan->load_balancers[0].name, "Kubernetes Control Plane");
}

// They mean nothing to a file of our own form, nor where they are not about a virtual IP.
TEST(KubeVipForm, EnvironmentElsewhere) {
  const Result<VipPlan> plan = plan_of(
      "node: x\nelection: {listen: '10.0.0.5:1'}\n"
      "virtualIPs: [{address: 10.0.0.75, interface: eth0}]\n",
      kVariables);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "x");
  EXPECT_EQ(plan->vips[0].vip.interface, "eth0");
  EXPECT_TRUE(plan->load_balancers.empty());
  EXPECT_EQ(problem_of("node: x\n", {{"lb_port", "80"}, {"vip_arp", "true"}}), "no virtual IPs");
}

TEST(KubeVipForm, EnvironmentThatIsWrong) {
  const std::vector<std::tuple<std::string, std::string, std::string>> rows{
      {"vip_arp", "maybe", "vip_arp maybe: must be true or false"},
      {"vip_peers", "b;10.0.0.2", "vip_peers b;10.0.0.2: \"b;10.0.0.2\" must be ID:ADDRESS:PORT"},
      {"vip_peers", "b:10.0.0.2:x", "vip_peers b:10.0.0.2:x: \"x\" is no port"},
      {"vip_localpeer", "a", "vip_localpeer a: \"a\" must be ID:ADDRESS:PORT"},
      {"vip_localpeer", "a:nowhere:1",
       "vip_localpeer a:nowhere:1: must have an address, not a name"},
      {"vip_address", "x", "vip_address x: must be an address"},
      {"vip_interface", "lo", "vip_interface lo: must not be the loopback interface"},
      {"lb_port", "0", "lb_port 0: \"0\" is no port"},
      {"lb_backends", "x", "lb_backends x: \"x\" must be ADDRESS:PORT"},
      {"lb_type", "sctp", "environment variables lb_type: must be tcp, udp or http"},
      {"lb_bindtovip", "2", "lb_bindtovip 2: must be true or false"},
  };
  for (const auto& [name, value, told] : rows) {
    const std::string said = problem_of(kFile, {{name, value}});
    EXPECT_TRUE(said.starts_with(told)) << name << "  said: " << said;
  }
}

}  // namespace
}  // namespace fairlead::vip
