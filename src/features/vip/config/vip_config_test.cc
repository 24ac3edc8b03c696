// `election` and `virtualIPs` in the agent's file: what they become, and what is refused, by line
// and column.
#include "features/vip/config/vip_config.h"

#include <gtest/gtest.h>

#include "features/vip/config/test_vip_file.h"
#include "foundation/runtime/disk_files.h"

namespace fairlead::vip {
namespace {

constexpr const char* kExample = R"(node: a                       # default: the host name
election:
  backend: raft               # or etcd, kubernetes
  listen: 10.0.0.1:10000
  peers: [{name: b, address: 10.0.0.2:10000}, {name: c, address: 10.0.0.3:10000}]
  lease: 300ms
virtualIPs:
- {address: 10.0.0.75, interface: eth0}
)";

std::string members_of(const VipPlan& plan) {
  std::string text;
  for (const Member& member : plan.election.settings.members)
    text += (text.empty() ? "" : " ") + member.name + "=" + member.address;
  return text;
}

// The file of the documentation.
TEST(VipConfig, Example) {
  const Result<VipPlan> plan = plan_of(kExample);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "a");
  EXPECT_EQ(plan->election.backend, Backend::raft);
  EXPECT_EQ(plan->election.listen.to_string(), "10.0.0.1:10000");
  EXPECT_EQ(members_of(*plan), "a=10.0.0.1:10000 b=10.0.0.2:10000 c=10.0.0.3:10000");
  EXPECT_EQ(plan->election.settings.timing,
            (Timing{.lease = 300ms, .renew = 30ms, .margin = 20ms, .drift_ppm = 1000}));
  EXPECT_EQ(plan->state_dir, "/var/lib/fairlead-vip");
  EXPECT_FALSE(plan->election.witness);
  ASSERT_EQ(plan->vips.size(), 1U);
  const VipConfig& vip = plan->vips[0].vip;
  EXPECT_EQ(vip.address.to_string(), "10.0.0.75");
  EXPECT_EQ(vip.interface, "eth0");
  EXPECT_EQ(vip.priority, 100);
  EXPECT_EQ(vip.options, VipOptions{});
  ASSERT_EQ(plan->notes.size(), 1U);
  EXPECT_TRUE(plan->notes[0].starts_with("peers are not authenticated"));
}

// Every field arrives.
TEST(VipConfig, EveryField) {
  const Result<VipPlan> plan = plan_of(R"(
state: /srv/vip
election:
  listen: "[fd00::1]:7000"
  peers:
  - {name: a, address: "[fd00::1]:7000"}
  - {name: b, address: "[fd00:0::2]:7000"}
  - {name: c, address: 127.0.0.1:7001}
  lease: 1s
  renew: 100ms
  margin: 50ms
  driftPpm: 200
  tls: {ca: /ca, certificate: /crt, key: /key}
  quorumLoss: keep
  fence: besteffort
virtualIPs:
- address: fd00::75
  interface: eth0.100
  announce: l2
  priority: 7
  preferredNode: b
  group: g
  apart: x
  preempt: false
  preemptDelay: 1m
  health:
  - {tcp: "localhost:6443", interval: 250ms, timeout: 100ms, rise: 1, fall: 2}
  - {http: "https://127.0.0.1:6443/livez?x=1", host: api.example, caFile: /ca, status: [200, 401]}
  - {http: "https://[::1]/", insecure: true}
  - {command: [/bin/check, "a b"]}
  notify: [/bin/tell, now]
  notifyTimeout: 3s
- {address: 10.0.0.75, interface: eth1, group: g, preferredNode: b}
)");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "a");  // the peers say who this is
  EXPECT_EQ(plan->state_dir, "/srv/vip");
  const ElectionConfig& election = plan->election;
  EXPECT_EQ(members_of(*plan), "a=[fd00::1]:7000 b=[fd00::2]:7000 c=127.0.0.1:7001");
  EXPECT_EQ(election.settings.timing,
            (Timing{.lease = 1s, .renew = 100ms, .margin = 50ms, .drift_ppm = 200}));
  EXPECT_EQ(election.tls, (TlsFiles{.ca = "/ca", .certificate = "/crt", .key = "/key"}));
  EXPECT_TRUE(election.keep_without_quorum && election.allow_weaker_fence);
  ASSERT_EQ(plan->vips.size(), 2U);
  const VipEntry& entry = plan->vips[0];
  EXPECT_EQ(entry.vip.priority, 7);
  EXPECT_EQ(
      entry.vip.options,
      (VipOptions{
          .group = "g", .apart = "x", .preferred = "b", .preempt = false, .preempt_delay = 1min}));
  EXPECT_EQ(entry.notify, (std::vector<std::string>{"/bin/tell", "now"}));
  EXPECT_EQ(entry.notify_timeout, 3s);
  ASSERT_EQ(entry.gates.size(), 4U);
  EXPECT_EQ(entry.gates[0], (GateConfig{.name = "tcp localhost:6443",
                                        .kind = GateConfig::Kind::tcp,
                                        .target = "localhost:6443",
                                        .endpoint = {.host = "localhost", .port = 6443},
                                        .interval = 250ms,
                                        .timeout = 100ms,
                                        .rise = 1,
                                        .fall = 2}));
  const GateConfig& web = entry.gates[1];
  EXPECT_EQ(web.endpoint.to_string(), "127.0.0.1:6443");
  EXPECT_TRUE(web.tls);
  EXPECT_EQ(web.path + " " + web.host + " " + web.ca_file, "/livez?x=1 api.example /ca");
  EXPECT_EQ(web.status, (std::vector<int>{200, 401}));
  EXPECT_EQ(entry.gates[2].endpoint.to_string(), "[::1]:443");
  EXPECT_TRUE(entry.gates[2].insecure);
  EXPECT_EQ(entry.gates[3].name, "command /bin/check a b");
  EXPECT_EQ(plan->notes.size(), 2U);  // keep and besteffort; the peers are authenticated
}

// What is not given follows from the lease and from the back end.
TEST(VipConfig, TimesFollowFromTheLease) {
  const auto timing = [](const std::string& election) {
    const Result<VipPlan> plan = plan_of("node: a\nkubeconfig: /k\nelection: {" + election + "}\n");
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? plan->election.settings.timing : Timing{};
  };
  const std::string raft = "listen: 10.0.0.1:1, ";
  EXPECT_EQ(timing(raft + "lease: 1500ms"), (Timing{1500ms, 150ms, 100ms, 1000}));
  EXPECT_EQ(timing(raft + "lease: 100ms"), (Timing{100ms, 10ms, 20ms, 1000}));
  EXPECT_EQ(timing(raft + "lease: 20ms"), (Timing{20ms, 5ms, 20ms, 1000}));
  EXPECT_EQ(timing("backend: kubernetes"), (Timing{6s, 1500ms, 400ms, 1000}));
  EXPECT_EQ(timing("backend: etcd, etcd: {endpoints: ['http://10.0.0.9:2379']}"),
            (Timing{3s, 750ms, 200ms, 1000}));
}

TEST(VipConfig, BackEnds) {
  Result<VipPlan> plan = plan_of(R"(
joinDir: /var/lib/node
election: {backend: kubernetes, kubernetes: {namespace: vips}}
virtualIPs: [{address: 10.0.0.75, interface: eth0}]
)");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->election.backend, Backend::kubernetes);
  EXPECT_EQ(plan->election.kubeconfig, "/var/lib/node/node.kubeconfig");
  EXPECT_EQ(plan->election.lease_namespace, "vips");
  plan = plan_of(R"(
election:
  backend: etcd
  etcd: {endpoints: ["https://10.0.0.9:2379"], tls: {ca: /a, certificate: /b, key: /c}}
virtualIPs: [{address: 10.0.0.75, interface: eth0}]
)");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->election.etcd_endpoints, std::vector<std::string>{"https://10.0.0.9:2379"});
  EXPECT_EQ(plan->election.etcd_tls.key, "/c");
  EXPECT_TRUE(plan->notes.empty());
}

// A member without addresses votes only, told or not.
TEST(VipConfig, Witness) {
  const std::string peers =
      "node: w\nelection: {listen: '10.0.0.3:1', peers: [{name: a, address: '10.0.0.1:1'}]";
  const Result<VipPlan> told = plan_of(peers + ", witness: true, secretFile: /s}\n");
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_TRUE(told->election.witness);
  ASSERT_EQ(told->notes.size(), 1U);
  EXPECT_TRUE(told->notes[0].starts_with("the election has two members"));
  const Result<VipPlan> silent = plan_of(peers + ", secretFile: /s}\n");
  ASSERT_TRUE(silent) << silent.error().message;
  EXPECT_TRUE(silent->election.witness);
  EXPECT_EQ(silent->notes[0], "virtualIPs: there are none, so this node only votes");
}

// The name may come after the file: from the host, or from joining.
TEST(VipConfig, NameOfTheNode) {
  const std::string text =
      "election: {listen: '10.0.0.1:1', peers: [{name: b, address: '10.0.0.2:1'}]}\n"
      "virtualIPs: [{address: 10.0.0.75, interface: eth0}]\n";
  Result<VipPlan> plan = plan_of(text);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "");
  VipPlan other = *plan;
  EXPECT_TRUE(name_node(*plan, "a"));
  EXPECT_EQ(plan->node, "a");
  EXPECT_EQ(members_of(*plan), "a=10.0.0.1:1 b=10.0.0.2:1");
  EXPECT_TRUE(name_node(*plan, "a"));  // again
  EXPECT_FALSE(name_node(*plan, "c"));
  const Result<> taken = name_node(other, "b");
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("b is this node's name, but its address there is 10.0.0.2"),
            std::string::npos)
      << taken.error().message;
}

struct Wrong {
  std::string text;
  std::string said;  // how what is said begins
};

// All of these are refused, with the field's place.
TEST(VipConfig, Refuses) {
  const std::string node = "node: a\n";
  const std::string vips = "\nvirtualIPs:\n- {address: 10.0.0.75, interface: eth0}\n";
  const auto election = [&](const std::string& more) {
    return node + "election:\n  listen: 10.0.0.1:1\n  " + more + vips;
  };
  const auto vip = [&](const std::string& fields) {
    return node + "election: {listen: 10.0.0.1:1}\nvirtualIPs:\n- {" + fields + "}\n";
  };
  const auto health = [&](const std::string& fields) {
    return vip("address: 10.0.0.75, interface: e, health: [{" + fields + "}]");
  };
  const std::vector<Wrong> rows{
      // --- forms, sections
      {"virtualIPs: [{address: 10.0.0.75, interface: e}]\n", "f:1:1: election: must be given"},
      {"election: {backend: raft}\n", "f:1:1: election.listen: must be given"},
      {"elections: {}\n", "f:1:1: elections: there is no such field"},
      {election("lissen: 3"), "f:4:3: election.lissen: there is no such field"},
      {election("backend: paxos"), "f:4:3: election.backend: Unsupported value: \"paxos\""},
      {election("x: 1") + "vip: 10.0.0.9\n", "f:4:3: election.x: there is no such field"},
      {"election: {listen: '10.0.0.1:1'}\nvip: 10.0.0.9\n",
       "f:2:1: vip: Forbidden: is of kube-vip's form of the file, which cannot be mixed"},
      {"localPeer: {id: a, address: 10.0.0.1}\nvirtualIPs: []\n", "f:1:1: localPeer: Forbidden: "},
      {"state: vip\n" + election("lease: 300ms"), "f:1:1: state: must be an absolute path"},
      // --- members
      {node + "election: {listen: here}\n", "f:2:12: election.listen: must be ADDRESS:PORT"},
      {node + "election: {listen: '10.0.0.1:0'}\n", "f:2:12: election.listen: must be ADDRESS:"},
      {node + "election: {listen: 'host:1'}\n",
       "f:2:12: election.listen: must have an address, no"},
      {node + "election: {listen: 'unix:/x'}\n", "f:2:12: election.listen: must be ADDRESS:PORT"},
      {node + "election: {listen: '0.0.0.0:1'}\n",
       "f:2:12: election.listen: must be an address of this node, unless"},
      {node + "election: {listen: '224.0.0.1:1'}\n", "f:2:12: election.listen: must be a unicast"},
      {election("peers:\n  - {name: b, address: '0.0.0.0:1'}"),
       "f:5:15: election.peers[0].address: must be a unicast"},
      {election("peers:\n  - {name: b, address: nowhere}"),
       "f:5:15: election.peers[0].address: must be ADDRESS:PORT"},
      {election("peers:\n  - {name: b}"), "f:5:5: election.peers[0].address: must be given"},
      {election("peers:\n  - {name: B, address: '10.0.0.2:1'}"),
       "f:5:6: election.peers[0].name: is not a valid node name"},
      {election(
           "peers:\n  - {name: b, address: '10.0.0.2:1'}\n  - {name: b, address: '10.0.0.3:1'}"),
       "f:6:6: election.peers[1].name: is the name at election.peers[0].name, too"},
      {election(
           "peers:\n  - {name: b, address: '10.0.0.2:1'}\n  - {name: c, address: '10.0.0.2:1'}"),
       "f:6:15: election.peers[1].address: is the address at election.peers[0].address, too"},
      {election("peers:\n  - {name: b, address: '10.0.0.1:1'}"),
       "f:5:6: election.peers[0].name: has this node's own address, but this node is called a"},
      {election("peers:\n  - {name: a, address: '10.0.0.2:1'}"),
       "f:5:15: election.peers[0].address: is not where this node listens (10.0.0.1:1)"},
      {election("backend: etcd\n  etcd: {endpoints: ['http://10.0.0.9']}"),
       "f:3:3: election.listen: Forbidden: only with backend raft"},
      {"election: {backend: etcd}\n", "f:1:1: election.etcd.endpoints: must be given"},
      {"election: {backend: etcd, etcd: {endpoints: [x]}}\n",
       "f:1:46: election.etcd.endpoints[0]: must be a URL"},
      {"election: {backend: etcd, etcd: {endpoints: ['http://10.0.0.75:1']}}\n"
       "virtualIPs: [{address: 10.0.0.75, interface: eth0}]\n",
       "f:1:46: election.etcd.endpoints[0]: is one of the virtual IPs: nobody could be elected"},
      {"election: {backend: etcd, etcd: {prefix: /x, endpoints: ['http://x']}}\n",
       "f:1:34: election.etcd.prefix: must end with /"},
      {"election: {backend: kubernetes}\n", "f:1:1: election.kubernetes.kubeconfig: must be given"},
      {election("etcd: {endpoints: ['http://x']}"),
       "f:4:10: election.etcd.endpoints: Forbidden: only with backend etcd"},
      {election("tls: {ca: /a, key: /b}"), "f:4:3: election.tls.certificate: must be given"},
      {election("secretFile: /s\n  tls: {ca: /a, key: /b, certificate: /c}"),
       "f:4:3: election.secretFile: Forbidden: only one of secretFile and tls"},
      // --- times
      {election("lease: soon"), "f:4:3: election.lease: \"soon\" is no duration"},
      {election("lease: 10ms"), "f:4:3: election.lease: must be at least 4 times renew (5ms)"},
      {election("renew: 100ms"), "f:2:1: election.lease: must be at least 4 times renew (100ms)"},
      {election("lease: 2m"), "f:4:3: election.lease: must not be longer than 60000ms"},
      {election("renew: 1ms"), "f:4:3: election.renew: must be at least 5ms"},
      {election("margin: 0s"), "f:4:3: election.margin: must be at least 5ms: packets of the old"},
      {election("driftPpm: 200000"), "f:4:3: election.driftPpm: must be less than or equal to 1"},
      {"election: {backend: etcd, lease: 500ms, etcd: {endpoints: ['http://x']}}\n",
       "f:1:27: election.lease: must be at least 1s with this back end"},
      {"election: {backend: kubernetes, lease: 1s, kubernetes: {kubeconfig: /k}}\n",
       "f:1:33: election.lease: must be at least 2s with this back end"},
      // --- virtual IPs
      {election("witness: true"), "f:4:3: election.witness: a witness holds nothing"},
      {vip("address: 10.0.0.75"), "f:4:3: virtualIPs[0].interface: must be given"},
      {vip("interface: e"), "f:4:3: virtualIPs[0].address: must be given"},
      {vip("address: nine, interface: e"), "f:4:4: virtualIPs[0].address: must be an address, su"},
      {vip("address: 10.0.0.75/24, interface: e"),
       "f:4:4: virtualIPs[0].address: must be an address without a prefix length"},
      {vip("address: '::ffff:10.0.0.75', interface: e"),
       "f:4:4: virtualIPs[0].address: must not be an IPv4 address in the form of IPv6"},
      {vip("address: 224.0.0.18, interface: e"), "f:4:4: virtualIPs[0].address: must be a unicast"},
      {vip("address: 'ff02::1', interface: e"), "f:4:4: virtualIPs[0].address: must be a unicast"},
      {vip("address: 255.255.255.255, interface: e"), "f:4:4: virtualIPs[0].address: must be a un"},
      {vip("address: 127.0.0.2, interface: e"), "f:4:4: virtualIPs[0].address: must not be a loop"},
      {vip("address: 'fe80::1', interface: e"), "f:4:4: virtualIPs[0].address: must not be a link"},
      {vip("address: 0.0.0.0, interface: e"), "f:4:4: virtualIPs[0].address: must be a unicast"},
      {vip("address: 10.0.0.1, interface: e"),
       "f:4:4: virtualIPs[0].address: is a member's own address (election.listen)"},
      {election("peers: [{name: b, address: '10.0.0.75:9'}]"),
       "f:6:4: virtualIPs[0].address: is a member's own address (election.peers[0].address)"},
      {vip("address: 10.0.0.75, interface: e") + "- {address: 10.0.0.75, interface: e}\n",
       "f:5:4: virtualIPs[1].address: is the address at virtualIPs[0].address, too"},
      {vip("address: 10.0.0.75, interface: lo"), "f:4:24: virtualIPs[0].interface: must not be th"},
      {vip("address: 10.0.0.75, interface: a/b"), "f:4:24: virtualIPs[0].interface: is not the na"},
      {vip("address: 10.0.0.75, interface: abcdefghijklmnop"),
       "f:4:24: virtualIPs[0].interface: is not the name of an interface"},
      {vip("address: 10.0.0.75, interface: e, announce: rip"),
       "f:4:38: virtualIPs[0].announce: Unsupporte"},
      {vip("address: 10.0.0.75, interface: e, priority: 0"),
       "f:4:38: virtualIPs[0].priority: must"},
      {vip("address: 10.0.0.75, interface: e, preemptDelay: 2h"),
       "f:4:38: virtualIPs[0].preemptDelay: must be 0ms to 3600s"},
      {vip("address: 10.0.0.75, interface: e, preferredNode: B_"),
       "f:4:38: virtualIPs[0].preferredNode: is not a valid node name"},
      {vip("address: 10.0.0.75, interface: e, notify: [tell]"),
       "f:4:47: virtualIPs[0].notify[0]: must be the absolute path of a program"},
      {vip("address: 10.0.0.75, interface: e, group: g, preferredNode: a") +
           "- {address: 10.0.0.76, interface: e, group: g}\n",
       "f:5:3: virtualIPs[1].preferredNode: is not that of virtualIPs[0], which is in the same gr"},
      {vip("address: 10.0.0.75, interface: e, group: g, apart: x") +
           "- {address: 10.0.0.76, interface: e, group: g, apart: x}\n",
       "f:5:48: virtualIPs[1].apart: is that of virtualIPs[0], which is in the same group"},
      // --- health gates
      {health(""), "f:4:47: virtualIPs[0].health[0]: must have exactly one of tcp, http and comma"},
      {health("tcp: 'a:1', command: [/x]"), "f:4:47: virtualIPs[0].health[0]: must have exactly"},
      {health("tcp: a"), "f:4:48: virtualIPs[0].health[0].tcp: must be HOST:PORT"},
      {health("tcp: ':5'"), "f:4:48: virtualIPs[0].health[0].tcp: must be HOST:PORT"},
      {health("http: 'a:1'"), "f:4:48: virtualIPs[0].health[0].http: must be a URL such as"},
      {health("http: 'http://u@a/'"),
       "f:4:48: virtualIPs[0].health[0].http: must be a URL such as"},
      {health("http: 'http://a:99999/'"), "f:4:48: virtualIPs[0].health[0].http: must be a URL"},
      {health("http: 'http://a/', caFile: /c"), "f:4:67: virtualIPs[0].health[0].caFile: Forbidde"},
      {health("http: 'https://a/', caFile: /c, insecure: true"),
       "f:4:80: virtualIPs[0].health[0].insecure: Forbidden: "},
      {health("http: 'http://a/', status: [99]"),
       "f:4:76: virtualIPs[0].health[0].status[0]: must"},
      {health("command: [x]"), "f:4:58: virtualIPs[0].health[0].command[0]: must be the absolute"},
      {health("tcp: 'a:1', status: [200]"), "f:4:60: virtualIPs[0].health[0].status: Forbidden: o"},
      {health("tcp: 'a:1', interval: 1ms"), "f:4:60: virtualIPs[0].health[0].interval: must be 50"},
      {health("tcp: 'a:1', rise: 0"), "f:4:60: virtualIPs[0].health[0].rise: must be greater than"},
  };
  for (const Wrong& wrong : rows) {
    const std::string said = problem_of(wrong.text);
    EXPECT_TRUE(said.starts_with(wrong.said)) << wrong.text << "  said: " << said;
  }
}

// Up to fifteen members; the sixteenth is one too many.
TEST(VipConfig, MostMembers) {
  std::string text = "node: a\nelection:\n  listen: 10.0.0.1:1\n  peers:\n";
  for (int i = 2; i <= 15; ++i)
    text +=
        "  - {name: n" + std::to_string(i) + ", address: '10.0.0." + std::to_string(i) + ":1'}\n";
  EXPECT_EQ(problem_of(text), "");
  EXPECT_TRUE(problem_of(text + "  - {name: n16, address: '10.0.0.16:1'}\n")
                  .starts_with("f:4:3: election.peers: Too many: 16"));
}

// Gates cost sockets and processes; the same gate for many addresses is one.
TEST(VipConfig, MostGates) {
  const auto text = [](bool same) {
    std::string file = "node: a\nelection: {listen: '10.0.0.1:1'}\nvirtualIPs:\n";
    for (int vip = 0; vip < 30; ++vip) {
      file += "- address: 10.0.1." + std::to_string(vip + 1) + "\n  interface: e\n  health:\n";
      for (int gate = 1; gate <= 10; ++gate)
        file += "  - {tcp: '10.0.0." + std::to_string(same ? 1 : vip) + ":" + std::to_string(gate) +
                "'}\n";
    }
    return file;
  };
  EXPECT_EQ(problem_of(text(true)), "");
  EXPECT_TRUE(problem_of(text(false)).starts_with("f:3:1: virtualIPs: Forbidden: more than 256 "));
}

// --state is the field's flag.
TEST(VipConfig, StateFlag) {
  const Result<VipPlan> plan = plan_of(kExample, {}, {{"--state", "state", Json("/tmp/x")}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->state_dir, "/tmp/x");
}

std::string problem_in(const agent::Checklist& checks, const std::string& what) {
  for (const agent::Checklist::Check& one : checks.checks())
    if (one.what == what) return one.note ? "note" : one.problem.empty() ? "well" : one.problem;
  return "not checked";
}

// What this host lacks is told by field's value.
TEST(VipConfig, ChecksTheHost) {
  Result<VipPlan> plan = plan_of(R"(
node: a
election:
  listen: 192.0.2.1:1
  peers: [{name: b, address: "192.0.2.2:1"}]
  secretFile: /nonexistent
virtualIPs:
- address: 192.0.2.75
  interface: none0
  health: [{command: [/bin/true]}, {command: [/nonexistent/check]}]
)");
  ASSERT_TRUE(plan) << plan.error().message;
  runtime::DiskFiles files;
  agent::Checklist checks;
  check_host(*plan, files, checks);
  // What the agent waits for is no failure.
  EXPECT_EQ(
      problem_in(checks, "election on 192.0.2.1:1: no interface of this host has this address"),
      "note");
  EXPECT_EQ(problem_in(checks, "virtual IP 192.0.2.75 on none0: there is no such interface"),
            "note");
  EXPECT_EQ(problem_in(checks, "program /bin/true"), "well");
  EXPECT_EQ(problem_in(checks, "program /nonexistent/check"), "No such file or directory");
  EXPECT_NE(problem_in(checks, "secret /nonexistent"), "well");
  EXPECT_EQ(problem_in(checks, plan->notes.back()), "note");
  EXPECT_FALSE(checks.all_well());
}

// VirtualIPs of the API are followed where the file says so, within its bounds.
TEST(VipConfig, FromTheApi) {
  const std::string file =
      "node: a\nelection: {listen: '10.0.0.1:10000'}\nkubeconfig: /k\nvirtualIPsFromAPI: ";
  const Result<VipPlan> plan =
      plan_of(file + "{addresses: [10.0.0.64/26], allowedPrograms: [/bin/true], limit: 5}\n");
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->from_api);
  EXPECT_EQ(plan->from_api->addresses, std::vector{*Cidr::parse("10.0.0.64/26")});
  EXPECT_EQ(plan->from_api->programs, std::vector<std::string>{"/bin/true"});
  EXPECT_EQ(plan->from_api->limit, 5U);
  EXPECT_FALSE(plan->election.witness);
  const Result<VipPlan> plain = plan_of(file + "{}\n");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->from_api->limit, 100U);
  const Result<VipPlan> without = plan_of("election: {listen: '10.0.0.1:10000'}\n");
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_FALSE(without->from_api);
  for (const auto& [more, problem] : std::map<std::string, std::string>{
           {"{addresses: [10.0.0.75/26]}", "virtualIPsFromAPI.addresses[0]: "},
           {"{allowedPrograms: [true]}", "virtualIPsFromAPI.allowedPrograms[0]: "},
           {"{limit: 1001}", "virtualIPsFromAPI.limit: "}})
    EXPECT_NE(problem_of(file + more + "\n").find(problem), std::string::npos)
        << problem_of(file + more + "\n");
  EXPECT_NE(problem_of("election: {listen: '10.0.0.1:10000'}\nvirtualIPsFromAPI: {}\n")
                .find("virtualIPsFromAPI: Forbidden: needs an API"),
            std::string::npos);
  EXPECT_NE(problem_of("election: {listen: '10.0.0.1:10000', witness: true}\nkubeconfig: /k\n"
                       "virtualIPsFromAPI: {}\n")
                .find("a witness holds nothing"),
            std::string::npos);
}

}  // namespace
}  // namespace fairlead::vip
