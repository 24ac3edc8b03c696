// Locks that are in use, and networks that change hands, on a whole server with the model store.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "features/networks/ipam/test_api.h"
#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/ip_lock.h"

namespace fairlead::ipam {
namespace {

const std::string kGroup = "/apis/fairlead.dev/v1alpha1/namespaces/";

struct World : TestApi {
  controllers::ServerEvents event_sink{runtime, catalog, api.writer(), metrics};
  VirtualNetworks networks{{runtime, catalog, cache, api.writer(), event_sink, metrics}};
  runtime::Scope controllers{runtime};

  World() {
    controllers.spawn(networks.run());
    create("/api/v1/namespaces", JsonObject{{"metadata", JsonObject{{"name", "b"}}}});
    create("/apis/fairlead.dev/v1alpha1/nodereports",
           JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
    runtime.advance(1s);
  }
  void make(const std::string& where, const std::string& name, JsonObject spec) {
    create(kGroup + where,
           JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", std::move(spec)}});
    runtime.advance(1s);
  }
  void subnet(const std::string& ns, const std::string& name) {
    make(ns + "/subnets", name, {{"vni", 7}, {"ipv4", "10.0.0.0/24"}});
  }
  void attach(const std::string& name, const std::string& fixed = "10.0.0.5") {
    make("default/networkattachments", name,
         {{"node", "n1"}, {"subnet", "s"}, {"fixedIPv4", fixed}});
  }
  std::unique_ptr<apiserver::TestExchange> remove(const std::string& what) {
    auto answer = ask("admin", "DELETE", kGroup + what);
    runtime.advance(1s);
    return answer;
  }
  std::string error_of(const std::string& name) {
    const Json object = ask("admin", "GET", kGroup + "default/networkattachments/" + name)->json();
    const Json* errors = wire::find(object, "status.errors.ipam");
    return errors ? std::string(errors->at(0).get_string()) : std::string();
  }
  std::string address_of(const std::string& name) {
    return ask("admin", "GET", kGroup + "default/networkattachments/" + name)->at("status.ipv4");
  }
  Json lock() { return ask("admin", "GET", kGroup + kLock)->json(); }
  bool has_label(std::string_view label) {
    const Json object = lock();
    const Json* labels = wire::find(object, "metadata.labels");
    return labels && labels->get_object().contains(label);
  }
  bool validated(const std::string& subnet) {
    const Json object = ask("admin", "GET", kGroup + subnet)->json();
    return wire::find(object, "status.validated")->get_bool();
  }
  std::string subnet_error(const std::string& subnet) {
    const Json object = ask("admin", "GET", kGroup + subnet)->json();
    const Json* errors = wire::find(object, "status.errors");
    return errors ? std::string(errors->at(0).get_string()) : std::string();
  }
  // The node says that it has dropped whatever was released.
  void drop() {
    const std::string now = std::to_string(store::Place::end_of(cache.revision()).number());
    const auto done = ask("n1", "PATCH", "/apis/fairlead.dev/v1alpha1/nodereports/n1",
                          fmt::format(R"({{"appliedOwn":"{}","appliedElsewhere":"{}"}})", now, now),
                          "application/merge-patch+json");
    EXPECT_EQ(done->status, 200) << done->text;
    runtime.advance(1s);
  }

  const std::string kLock = "default/iplocks/v1-7-10-0-0-5";
};

// A lock that is in use is not deleted: whoever tries is told who holds the address, and nothing
// changes for anybody.
TEST(LocksInUse, AreNotDeleted) {
  World world;
  world.subnet("default", "s");
  world.attach("a");
  const auto refused = world.remove(world.kLock);
  EXPECT_EQ(refused->status, 409);
  EXPECT_NE(refused->text.find("10.0.0.5 is in use by NetworkAttachment default/a"),
            std::string::npos)
      << refused->text;
  const Json lock = world.lock();
  EXPECT_EQ(wire::find(lock, "metadata.deletionTimestamp"), nullptr);
  world.attach("rival");
  EXPECT_EQ(world.error_of("rival"), "10.0.0.5 is taken by attachment a");
  // With its attachment it goes, also if that goes with everything it owns.
  EXPECT_EQ(world.remove("default/networkattachments/a?propagationPolicy=Foreground")->status, 200);
}

// Who wants the very address of another is told at once that it is about to be free, and gets it as
// soon as it is.
TEST(LocksInUse, ClaimantsAreWokenAtOnce) {
  World world;
  world.subnet("default", "s");
  world.attach("a");
  world.attach("rival");
  world.remove("default/networkattachments/a");
  EXPECT_EQ(world.error_of("rival"), "10.0.0.5 is not free yet: it was released a moment ago");
  EXPECT_EQ(world.address_of("rival"), "");
  world.drop();
  EXPECT_EQ(world.address_of("rival"), "10.0.0.5");
  EXPECT_EQ(world.error_of("rival"), "");
}

// A Subnet that is deleted and made again: its locks are in use again, and say so.
TEST(LocksInUse, AreNotIdleOnceTheirSubnetIsBack) {
  World world;
  world.subnet("default", "s");
  world.attach("a");
  world.remove("default/subnets/s");
  EXPECT_EQ(world.address_of("a"), "");
  EXPECT_TRUE(world.has_label(kIdleLabel));
  const auto kept = world.remove(world.kLock);
  EXPECT_EQ(kept->status, 409);
  EXPECT_NE(kept->text.find("10.0.0.5 is kept for NetworkAttachment default/a"), std::string::npos)
      << kept->text;
  world.subnet("default", "s");
  EXPECT_EQ(world.address_of("a"), "10.0.0.5");
  EXPECT_FALSE(world.has_label(kIdleLabel));
  const auto refused = world.remove(world.kLock);
  EXPECT_NE(refused->text.find("is in use by NetworkAttachment default/a"), std::string::npos)
      << refused->text;
}

// The node of a lock that was written since it was made may have come at any time before.
TEST(LocksInUse, ThoseRegainedCountAsLatecomers) {
  World world;
  world.subnet("default", "s");
  const store::Revision before = world.cache.revision();
  world.attach("a");
  const store::Revision after = world.cache.revision() + 1;
  world.remove("default/subnets/s");
  EXPECT_EQ(world.networks.state().records().came_between(7, before, after),
            std::set<std::string>{"n1"});
  world.subnet("default", "s");
  EXPECT_EQ(world.networks.state().records().came_between(7, before, after),
            std::set<std::string>{"n1"});
}

// A virtual network stays its namespace's while that has addresses in it: another namespace's
// Subnet does not get it between the deletion of a Subnet and its being made again.
TEST(VirtualNetworkOwnership, SurvivesMakingTheSubnetAgain) {
  World world;
  world.subnet("default", "s");
  world.attach("a");
  world.subnet("b", "waiting");
  EXPECT_FALSE(world.validated("b/subnets/waiting"));
  world.remove("default/subnets/s");
  EXPECT_FALSE(world.validated("b/subnets/waiting"));
  EXPECT_EQ(world.subnet_error("b/subnets/waiting"),
            "same VNI but namespace default still holds addresses of it");
  world.subnet("default", "s");
  EXPECT_TRUE(world.validated("default/subnets/s"));
  EXPECT_EQ(world.address_of("a"), "10.0.0.5");
  EXPECT_FALSE(world.validated("b/subnets/waiting"));
}

// With the last address, dropped by every node that may carry the network, it is free.
TEST(VirtualNetworkOwnership, EndsWithTheLastAddress) {
  World world;
  world.subnet("default", "s");
  world.attach("a");
  world.subnet("b", "waiting");
  world.remove("default/subnets/s");
  world.remove("default/networkattachments/a");
  EXPECT_FALSE(world.validated("b/subnets/waiting"));
  world.drop();
  EXPECT_TRUE(world.validated("b/subnets/waiting"));
  EXPECT_EQ(world.subnet_error("b/subnets/waiting"), "");
}

// One that nothing was ever given of is free at once.
TEST(VirtualNetworkOwnership, OfAnEmptyNetworkPassesAtOnce) {
  World world;
  world.subnet("default", "s");
  world.subnet("b", "waiting");
  world.remove("default/subnets/s");
  EXPECT_TRUE(world.validated("b/subnets/waiting"));
}

}  // namespace
}  // namespace fairlead::ipam
