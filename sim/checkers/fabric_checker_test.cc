// The judge of data planes says no to what it is there for, and yes to what looks alike.
#include "sim/checkers/fabric_checker.h"

#include <gtest/gtest.h>

#include "api/watchcache/stored_object.h"
#include "features/networks/kinds/test_catalog.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

const Ip kAddress = *Ip::parse("10.0.0.5");

fabric::Station station(std::string id) {
  return {.id = std::move(id),
          .vni = 7,
          .mac = *Mac::parse("02:00:0a:00:00:05"),
          .addresses = {kAddress},
          .interface = {},
          .host = *Ip::parse("192.0.2.9")};
}

// One host, whose data plane holds what it is told to, and the store's objects as they change.
class PlantedWorld {
 public:
  PlantedWorld()
      : machine_(world_.add_machine("n0")),
        plane_(machine_, [this](const std::string&, const fabric::Station* now) {
          if (now) checker.carried(plane_, *now);
        }) {
    checker.add_host(plane_, *Ip::parse("192.0.2.1"));
    machine_.start([](Machine&) -> Task<void> { co_return; });
  }

  void put(std::string_view kind, const std::string& name, Json object) {
    change(kind, name, watchcache::encode_stored(object), false);
  }
  void erase(std::string_view kind, const std::string& name) { change(kind, name, {}, true); }

  void node(const std::string& uid) { put("nodes", "n0", with_uid("n0", uid, "")); }
  void report(const std::string& owner) { put("nodereports", "n0", with_uid("n0", "r", owner)); }
  // An attachment of another host.
  void own(const std::string& uid) {
    Json object = with_uid(uid, uid, "");
    object.as_object()["spec"] = JsonObject{{"node", "n9"}, {"subnet", "s"}};
    object.as_object()["status"] =
        JsonObject{{"ipv4", kAddress.to_string()}, {"addressVNI", 7}, {"hostIP", "192.0.2.9"}};
    put("networkattachments", uid, std::move(object));
  }
  void disown(const std::string& uid) { erase("networkattachments", uid); }

  void carry(const std::string& id) {
    machine_.start([this, id](Machine&) { return apply(id); });
    world_.run_for(1s);
  }
  void restart_agent() {
    machine_.crash();
    machine_.restart([](Machine&) -> Task<void> { co_return; });
  }

  FabricChecker checker;

 private:
  static Json with_uid(const std::string& name, const std::string& uid, const std::string& owner) {
    JsonObject metadata{{"name", name}, {"uid", uid}};
    if (!owner.empty()) metadata["ownerReferences"] = JsonArray{JsonObject{{"uid", owner}}};
    return JsonObject{{"metadata", std::move(metadata)}};
  }
  Task<void> apply(std::string id) {
    SimFabric fabric(plane_);
    const fabric::Desired desired{{id, station(id)}};
    const std::vector<std::string> ids{id};
    (void)co_await fabric.apply(desired, ids);
  }
  void change(std::string_view plural, const std::string& name, Bytes value, bool erased) {
    const resource::Kind& kind = *networks::test_catalog().find(
        plural == "nodes" ? "" : "fairlead.dev", plural == "nodes" ? "v1" : "v1alpha1", plural);
    const store::Place place{++revision_, 0};
    store::ChangeBatch batch{.revision = revision_, .changes = {}};
    batch.changes.push_back({.current = {.key = watchcache::kind_prefix(kind) + name,
                                         .value = std::move(value),
                                         .modified = place},
                             .erased = erased});
    checker.take_in(batch);
  }

  World world_{1};
  Machine& machine_;
  HostPlane plane_;
  store::Revision revision_ = 0;
};

// An agent that follows attachments before it has a report: nobody waits for it, and the judge
// must not make that its excuse.
TEST(FabricChecker, NothingIsCarriedBeforeThereIsAReport) {
  PlantedWorld world;
  world.node("node-1");
  world.own("a");
  world.carry("a");
  EXPECT_NE(world.checker.violation().find("has no NodeReport"), std::string::npos);
}

// What was released and is somebody else's now must have gone from hosts that have a report.
TEST(FabricChecker, WhatIsSomebodyElsesIsNotForwarded) {
  PlantedWorld world;
  world.node("node-1");
  world.report("node-1");
  world.own("a");
  world.carry("a");
  world.disown("a");
  EXPECT_EQ(world.checker.violation(), "");
  world.own("b");
  EXPECT_NE(world.checker.violation().find("belongs to b, but n0 forwards it"), std::string::npos);
}

// A report that comes after the release is no excuse for who never had one deleted.
TEST(FabricChecker, ALateReportIsNoExcuse) {
  PlantedWorld world;
  world.node("node-1");
  world.own("a");
  world.disown("a");
  world.report("node-1");
  world.carry("a");
  EXPECT_EQ(world.checker.violation(), "");
  world.own("b");
  EXPECT_NE(world.checker.violation().find("belongs to b"), std::string::npos);
  EXPECT_EQ(world.checker.excused(), 0U);
}

// Who deletes a Node takes its say away, also from an agent that goes on.
TEST(FabricChecker, DeletingANodeExcusesIt) {
  PlantedWorld world;
  world.node("node-1");
  world.report("node-1");
  world.own("a");
  world.erase("nodes", "n0");
  world.erase("nodereports", "n0");
  world.carry("a");
  world.disown("a");
  world.own("b");
  EXPECT_EQ(world.checker.violation(), "");
  EXPECT_GT(world.checker.excused(), 0U);
}

// But the next agent process makes a report before it carries anything.
TEST(FabricChecker, TheNextAgentIsNotExcused) {
  PlantedWorld world;
  world.node("node-1");
  world.report("node-1");
  world.own("a");
  world.erase("nodes", "n0");
  world.erase("nodereports", "n0");
  world.restart_agent();
  world.carry("a");
  EXPECT_NE(world.checker.violation().find("has no NodeReport"), std::string::npos);
}

// A report goes with its Node and not otherwise; else everything could be excused by deleting it.
TEST(FabricChecker, AReportGoesOnlyWithItsNode) {
  PlantedWorld world;
  world.node("node-1");
  world.report("node-1");
  world.erase("nodes", "n0");
  world.node("node-2");
  world.erase("nodereports", "n0");
  EXPECT_EQ(world.checker.violation(), "");
  world.report("node-2");
  world.erase("nodereports", "n0");
  EXPECT_NE(world.checker.violation().find("although its Node is there"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::sim
