// VirtualIPs on a whole server with the model store: what users, nodes and onlookers see.
#include "features/vip/server/virtual_ips.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/apiserver/test_server.h"
#include "features/vip/kinds/test_catalog.h"

namespace fairlead::vip {
namespace {

const std::string kAll = "/apis/fairlead.dev/v1alpha1/virtualips";
constexpr std::string_view kMerge = "application/merge-patch+json";

struct Site : apiserver::TestServer {
  Site() : TestServer(test_catalog()) {
    controllers.spawn(vips.run());
    runtime.settle();
  }
  auto add(std::string_view name, std::string_view address, std::string_view more = "") {
    return ask("admin", "POST", kAll,
               fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"address":"{}",)"
                           R"("interface":"eth0"{}}}}})",
                           name, address, more));
  }
  // As a node's agent writes.
  auto tell(std::string_view node, std::string_view name, std::string_view status) {
    auto told = ask(node, "PATCH", fmt::format("{}/{}/status", kAll, name),
                    fmt::format(R"({{"status":{}}})", status), kMerge);
    runtime.advance(1s);
    return told;
  }
  // "status reason: message" of a condition.
  std::string condition(std::string_view name, std::string_view type) {
    const Json object = ask("admin", "GET", fmt::format("{}/{}", kAll, name))->json();
    const Json* found = resource::find_condition(object, type);
    if (!found) return "none";
    return fmt::format("{} {}: {}", std::string(wire::find_string(*found, "status")),
                       std::string(wire::find_string(*found, "reason")),
                       std::string(wire::find_string(*found, "message")));
  }
  std::vector<std::string> events(std::string_view name) {
    const Json list = ask("admin", "GET",
                          fmt::format("/api/v1/namespaces/default/events?fieldSelector="
                                      "involvedObject.kind=VirtualIP,involvedObject.name={}",
                                      name))
                          ->json();
    std::vector<std::string> told;
    for (const Json& event : wire::find(list, "items")->get_array())
      told.push_back(fmt::format("{} {}: {}", std::string(wire::find_string(event, "type")),
                                 std::string(wire::find_string(event, "reason")),
                                 std::string(wire::find_string(event, "message"))));
    std::ranges::sort(told);
    return told;
  }

  controllers::ServerEvents event_sink{runtime, catalog, api.writer(), metrics};
  VirtualIps vips{{runtime, catalog, cache, api.writer(), event_sink, metrics}};
  runtime::Scope controllers{runtime};
};

// One address has one object, however it is written.
TEST(VirtualIps, HaveOneAddressEach) {
  Site site;
  EXPECT_EQ(site.add("a", "fd00::75")->status, 201);
  const auto second = site.add("b", "fd00:0::75");
  EXPECT_EQ(second->status, 422);
  EXPECT_NE(second->text.find("is the address of virtual IP a, too"), std::string::npos)
      << second->text;
  EXPECT_EQ(site.ask("admin", "DELETE", kAll + "/a")->status, 200);
  EXPECT_EQ(site.add("b", "fd00:0::75")->status, 201);
}

// There are at most so many.
TEST(VirtualIps, AreLimited) {
  Site site;
  for (std::size_t i = 0; i < kMostVirtualIps; ++i)
    ASSERT_EQ(
        site.add(fmt::format("v{}", i), fmt::format("10.0.{}.{}", i / 200, 1 + i % 200))->status,
        201);
  const auto refused = site.add("more", "10.1.0.1");
  EXPECT_EQ(refused->status, 403);
  EXPECT_NE(refused->text.find("which is the limit"), std::string::npos) << refused->text;
}

// A node tells of itself and of its own tenure, and of virtual IPs that are its own.
TEST(VirtualIps, NodesTellOfThemselves) {
  Site site;
  site.add("all", "10.0.0.75");
  site.add("theirs", "10.0.0.76", R"(,"nodes":["n2"])");
  struct Case {
    const char* node;
    const char* name;
    const char* status;
    int answer;
  };
  for (const auto& [node, name, status, answer] : {
           Case{"n1", "all", R"({"nodes":{"n1":{"state":"Standby"}}})", 200},
           Case{"n1", "all", R"({"nodes":{"n2":{"state":"Standby"}}})", 403},
           Case{"n1", "all", R"({"holder":"n2"})", 403},
           Case{"n1", "all", R"({"epoch":9})", 403},
           Case{"n2", "all", R"({"holder":"n2","epoch":3,"health":"Healthy"})", 200},
           Case{"n1", "all", R"({"epoch":9})", 403},
           Case{"n1", "all", R"({"holder":"n1","epoch":4})", 200},
           Case{"n2", "all", R"({"health":"Unhealthy"})", 403},
           Case{"n2", "all", R"({"holder":null})", 200},
           Case{"n1", "all", R"({"nodes":{"n1":{"state":"Perfect"}}})", 422},
           Case{"n1", "theirs", R"({"nodes":{"n1":{"state":"Standby"}}})", 403},
           Case{"n2", "theirs", R"({"nodes":{"n2":{"state":"Standby"}}})", 200},
       })
    EXPECT_EQ(site.tell(node, name, status)->status, answer) << node << " " << name << status;
  EXPECT_EQ(site.ask("n1", "GET", kAll)->status, 200);
  EXPECT_EQ(site.ask("n1", "DELETE", kAll + "/all")->status, 403);
  EXPECT_EQ(
      site.ask("n1", "PATCH", kAll + "/all", R"({"spec":{"interface":"eth1"}})", kMerge)->status,
      403);
  EXPECT_EQ(site.ask("n1", "POST", kAll, R"({"metadata":{"name":"x"},"spec":{}})")->status, 403);
}

// The conditions follow from what the nodes say, and nobody else writes them.
TEST(VirtualIps, Conditions) {
  Site site;
  site.add("v", "10.0.0.75");
  EXPECT_EQ(site.condition("v", "Ready"),
            "False NoHolder: no node says that it answers for the address");
  EXPECT_TRUE(site.condition("v", "Accepted").starts_with("Unknown NoNode"));
  site.tell("n1", "v", R"({"holder":"n1","epoch":1,"health":"Healthy","fenced":true,
                           "nodes":{"n1":{"state":"Holding"}}})");
  EXPECT_EQ(site.condition("v", "Ready"), "True Held: n1 answers for the address");
  EXPECT_TRUE(site.condition("v", "Fenced").starts_with("True Fenced"));
  EXPECT_TRUE(site.condition("v", "Accepted").starts_with("True"));
  site.tell("n2", "v", R"({"nodes":{"n2":{"state":"Refused","message":"its file has it"}},
                           "conditions":[{"type":"Ready","status":"False"}]})");
  EXPECT_EQ(site.condition("v", "Accepted"), "False Refused: n2: its file has it");
  EXPECT_EQ(site.condition("v", "Ready"), "True Held: n1 answers for the address");
  site.tell("n1", "v", R"({"health":"Unhealthy","fenced":false})");
  EXPECT_TRUE(site.condition("v", "Ready").starts_with("False Unhealthy"));
  EXPECT_TRUE(site.condition("v", "Fenced").starts_with("False NotFenced"));
}

// A node that takes part no longer has no entry any more.
TEST(VirtualIps, EntriesOfStrangersGo) {
  Site site;
  site.add("v", "10.0.0.75");
  site.tell("n1", "v", R"({"nodes":{"n1":{"state":"Refused","message":"no"}}})");
  const auto changed =
      site.ask("admin", "PATCH", kAll + "/v", R"({"spec":{"nodes":["n2"]}})", kMerge);
  ASSERT_EQ(changed->status, 200) << changed->text;
  EXPECT_EQ(changed->text.find("Refused"), std::string::npos) << changed->text;
}

// Each change of the holder is an Event, and so is what is wrong.
TEST(VirtualIps, Events) {
  Site site;
  site.add("v", "10.0.0.75");
  site.tell("n1", "v",
            R"({"holder":"n1","epoch":1,"fenced":true,"nodes":{"n1":{"state":"Holding"}}})");
  site.tell("n2", "v", R"({"holder":"n2","epoch":2,"fenced":false,
                           "nodes":{"n2":{"state":"Holding","rival":"02:00:00:00:00:09"}}})");
  site.tell("n1", "v", R"({"nodes":{"n1":{"state":"Refused","message":"its file has it"}}})");
  site.tell("n2", "v", R"({"holder":null})");
  site.runtime.advance(1min);
  const std::vector<std::string> wanted{
      "Normal Held: n1 answers for 10.0.0.75, epoch 1",
      "Normal Moved: 10.0.0.75 moved from n1 to n2, epoch 2",
      "Warning Conflict: another machine, 02:00:00:00:00:09, claims 10.0.0.75, which n2 holds",
      "Warning NoHolder: 10.0.0.75 has no holder; it was n2",
      "Warning NotFenced: n2 holds it without a fence: a holder that hangs may answer together "
      "with its successor",
      "Warning Refused: n1: its file has it"};
  EXPECT_EQ(site.events("v"), wanted);
}

}  // namespace
}  // namespace fairlead::vip
