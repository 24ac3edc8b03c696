// An agent says that it lives, and what its node is; and notices when nobody knows the node.
#include "features/networks/node/node_world_test.h"

namespace fairlead::networks {
namespace {

const client::ResourceName kLeases{"coordination.k8s.io", "v1", "leases", true};

class AgentHeartbeat : public AgentWorld {
 protected:
  Task<void> lease_and_status();
  Task<void> deleted_node();
};

// A Lease as kubelets have it, which goes with the Node; address and system in the Node's status.
Task<void> AgentHeartbeat::lease_and_status() {
  const Instant limit = runtime_.now() + 60s;
  Result<Json> node = fail(Code::not_found, "");
  while (runtime_.now() < limit) {
    node = co_await admin_->get(kNodes, "", "n1");
    if (node && wire::find(*node, "status.addresses")) break;
    (void)co_await runtime::sleep(runtime_, 5ms);
  }
  CHECK(node.has_value());
  const Json expected = JsonArray{JsonObject{{"type", "InternalIP"}, {"address", "192.0.2.1"}},
                                  JsonObject{{"type", "Hostname"}, {"address", "n1"}}};
  const Json* addresses = wire::find(*node, "status.addresses");
  EXPECT_TRUE(addresses && *addresses == expected);
  const Result<Json> lease = co_await admin_->get(kLeases, "kube-node-lease", "n1");
  CHECK(lease.has_value());
  EXPECT_EQ(wire::find_string(*lease, "spec.holderIdentity"), "n1");
  EXPECT_FALSE(wire::find_string(*lease, "spec.renewTime").empty());
  const Json& owner = wire::find(*lease, "metadata.ownerReferences")->get_array().front();
  EXPECT_EQ(wire::find_string(owner, "uid"), wire::find_string(*node, "metadata.uid"));
  EXPECT_EQ(one_.refusal(), "");
}
TEST_F(AgentHeartbeat, KeepsALeaseAndTellsWhatTheNodeIs) { run(lease_and_status()); }

// An agent whose Node is gone says so, and counts its watches as failing, until there is one again.
Task<void> AgentHeartbeat::deleted_node() {
  co_await one_.stop();
  // As garbage collection does it.
  (void)co_await admin_->remove(kLeases, "kube-node-lease", "n1");
  const Result<> removed = co_await admin_->remove(kNodes, "", "n1");
  EXPECT_TRUE(removed.has_value());
  one_.start();
  Task<bool> refused =
      until([&] { return one_.refusal().find("Node n1 does not exist") != std::string::npos; });
  EXPECT_TRUE(co_await refused);
  Task<bool> counted = until([&] {
    return one_.agent->informers().count() > 0 &&
           one_.agent->failing_watches() == one_.agent->informers().count();
  });
  EXPECT_TRUE(co_await counted);
  Json again = JsonObject{{"metadata", JsonObject{{"name", "n1"}}}};
  const Result<Json> made = co_await admin_->create(kNodes, "", std::move(again));
  EXPECT_TRUE(made.has_value());
  Task<bool> known = until([&] { return one_.refusal().empty(); });
  EXPECT_TRUE(co_await known);
}
TEST_F(AgentHeartbeat, ANodeThatIsGoneIsNoticed) { run(deleted_node()); }

}  // namespace
}  // namespace fairlead::networks
