// Whom a released address waits for, on a whole server with the model store.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <string>

#include "features/networks/ipam/test_api.h"
#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/ip_lock.h"

namespace fairlead::ipam {
namespace {

const std::string kGroup = "/apis/fairlead.dev/v1alpha1/namespaces/default/";
constexpr Vni kVni = 1;

struct Networks : TestApi {
  controllers::ServerEvents event_sink{runtime, catalog, api.writer(), metrics};
  VirtualNetworks networks{{runtime, catalog, cache, api.writer(), event_sink, metrics}};
  runtime::Scope controllers{runtime};

  Networks() {
    controllers.spawn(networks.run());
    for (const char* node : {"n1", "n2"})
      create("/apis/fairlead.dev/v1alpha1/nodereports",
             JsonObject{{"metadata", JsonObject{{"name", node}}}});
    subnet("low", "10.0.0.0/29");
    subnet("high", "10.0.0.8/29");
  }
  void make(const std::string& plural, const std::string& name, JsonObject spec) {
    create(kGroup + plural,
           JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", std::move(spec)}});
    runtime.advance(1s);
  }
  void subnet(const std::string& name, const std::string& block) {
    make("subnets", name, {{"vni", kVni}, {"ipv4", block}});
  }
  void attach(const std::string& name, const std::string& node, const std::string& to) {
    make("networkattachments", name, {{"node", node}, {"subnet", to}});
  }
  std::string status(const std::string& name, std::string_view field) {
    return ask("admin", "GET", kGroup + "networkattachments/" + name)
        ->at(fmt::format("status.{}", field));
  }
  // The node says where it has made the interface; or, with null, that it has not.
  void place(const std::string& name, Json host) {
    const Json patch = JsonObject{{"status", JsonObject{{"hostIP", std::move(host)}}}};
    const auto patched = ask("admin", "PATCH", kGroup + "networkattachments/" + name + "/status",
                             wire::encode_json(patch), "application/merge-patch+json");
    CHECK(patched->status == 200);
  }
  void remove(const std::string& what) {
    CHECK(ask("admin", "DELETE", kGroup + what)->status == 200);
    runtime.advance(1s);
  }
  // An annotation of the lock of that address; "-": there is no lock.
  std::string told(const std::string& ip, std::string_view annotation) {
    const std::string name = networks::ip_lock_name(kVni, *Ip::parse(ip));
    const auto lock = ask("admin", "GET", kGroup + "iplocks/" + name);
    if (lock->status != 200) return "-";
    const Json json = lock->json();
    const Json* annotations = wire::find(json, "metadata.annotations");
    const Json* names = annotations && annotations->is_object()
                            ? annotations->get_object().if_contains(annotation)
                            : nullptr;
    return names ? std::string(names->get_string()) : std::string();
  }
  std::string awaits(const std::string& ip) { return told(ip, kAwaitsAnnotation); }
};

// Everybody who may carry the network is waited for once the attachment's place was told.
TEST(Release, WaitsForAllWhoMayKnow) {
  Networks world;
  world.attach("x", "n1", "low");
  world.attach("y", "n2", "low");
  const std::string untold = world.status("x", "ipv4");
  world.remove("networkattachments/x");
  EXPECT_EQ(world.awaits(untold), "n1");  // nobody else can have heard of it
  world.attach("z", "n1", "low");
  const std::string told = world.status("z", "ipv4");
  world.place("z", "192.0.2.1");
  world.remove("networkattachments/z");
  EXPECT_EQ(world.awaits(told), "n1,n2");
}

// That a node took back where the interface is does not mean that others have heard of it.
TEST(Release, WhatWasToldOnceCounts) {
  Networks world;
  world.attach("x", "n1", "low");
  world.attach("y", "n2", "low");
  world.place("x", "192.0.2.1");
  world.place("x", nullptr);
  const std::string ip = world.status("x", "ipv4");
  world.remove("networkattachments/x");
  EXPECT_EQ(world.awaits(ip), "n1,n2");
}

// A node whose last attachment lost its address with the Subnet may still carry the network.
TEST(Release, WaitsForThoseWhoLostTheirAddress) {
  Networks world;
  world.attach("x", "n1", "low");
  world.attach("y", "n2", "high");
  world.place("x", "192.0.2.1");
  world.place("y", "192.0.2.2");
  world.remove("subnets/high");
  ASSERT_EQ(world.status("y", "ipv4"), "");
  EXPECT_GT(world.networks.state().records().last_loss("n2", kVni), store::Place{});
  const std::string ip = world.status("x", "ipv4");
  world.remove("networkattachments/x");
  EXPECT_EQ(world.awaits(ip), "n1,n2");
}

// The moment at which an address was lost stays the moment, whatever becomes of the attachment
// afterwards: nodes have reported it, and will not report a later one.
TEST(Release, HappensOnce) {
  Networks world;
  world.attach("x", "n1", "low");
  world.place("x", "192.0.2.1");
  const std::string ip = world.status("x", "ipv4");
  world.remove("subnets/low");
  world.make("subnets", "low", {{"vni", kVni + 1}, {"ipv4", "10.0.0.0/29"}});
  ASSERT_NE(world.status("x", "ipv4"), "");
  const std::string awaited = world.awaits(ip);
  const std::string released = world.told(ip, kReleasedAnnotation);
  EXPECT_NE(awaited, "-");
  EXPECT_NE(released, "");
  world.remove("subnets/low");
  ASSERT_EQ(world.status("x", "ipv4"), "");
  world.remove("networkattachments/x");
  EXPECT_EQ(world.awaits(ip), awaited);
  EXPECT_EQ(world.told(ip, kReleasedAnnotation), released);
}

// A server that is behind does not see who came last. Those who do see it find out from the locks.
TEST(Release, WhoCameMeanwhileIsKnownFromTheLocks) {
  Networks world;
  world.attach("x", "n1", "low");
  const NetworkRecords& records = world.networks.state().records();
  const store::Revision before = world.cache.revision();
  world.attach("y", "n2", "low");
  const store::Revision after = world.cache.revision() + 1;
  EXPECT_EQ(records.came_between(kVni, 0, after), (std::set<std::string>{"n1", "n2"}));
  EXPECT_EQ(records.came_between(kVni, before, after), std::set<std::string>{"n2"});
  EXPECT_EQ(records.came_between(kVni, after, after + 1), std::set<std::string>{});
  world.remove("networkattachments/y");
  EXPECT_EQ(records.came_between(kVni, before, after), std::set<std::string>{"n2"});
}

// Nodes that do not exist cannot answer: the address is free at once.
TEST(Release, NobodyWaitsForGhosts) {
  Networks world;
  world.attach("x", "ghost", "low");
  world.place("x", "192.0.2.1");
  const std::string ip = world.status("x", "ipv4");
  world.remove("networkattachments/x");
  EXPECT_EQ(world.awaits(ip), "-");
}

// What waits for a node that is gone for good is free once the node is forgotten, and not before.
TEST(Release, AForgottenNodeIsNotWaitedFor) {
  Networks world;
  world.attach("x", "n1", "low");
  world.attach("y", "n2", "low");
  world.place("x", "192.0.2.1");
  const std::string ip = world.status("x", "ipv4");
  world.remove("networkattachments/x");
  ASSERT_EQ(world.awaits(ip), "n1,n2");
  VirtualNetworks& networks = world.networks;
  EXPECT_EQ(networks.known_nodes(), (std::vector<std::string>{"n1", "n2"}));
  const auto forget = [&](const char* node) {
    std::optional<Result<>> outcome;
    const auto task = [](VirtualNetworks& feature, const char* name,
                         std::optional<Result<>>& told) -> Task<void> {
      told = co_await feature.forget_node(name);
    };
    world.controllers.spawn(task(networks, node, outcome));
    world.runtime.advance(1s);
    EXPECT_TRUE(outcome && *outcome);
  };
  forget("n1");
  EXPECT_EQ(world.awaits(ip), "n1,n2");  // n2 has not dropped it
  forget("n2");
  EXPECT_EQ(world.awaits(ip), "-");
  forget("n2");  // once more: nothing to do
  EXPECT_TRUE(networks.known_nodes().empty());
}

}  // namespace
}  // namespace fairlead::ipam
