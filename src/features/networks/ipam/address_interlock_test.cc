// What the transaction that creates an attachment gives it. No controller runs unless a test starts
// them, so that nobody else can have given the addresses.
#include "features/networks/ipam/address_interlock.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

#include "features/networks/ipam/test_api.h"
#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/ip_lock.h"

namespace fairlead::ipam {
namespace {

const std::string kOurs = "/apis/fairlead.dev/v1alpha1/namespaces/default/";
const std::string kAttachments = kOurs + "networkattachments";

struct Networks : TestApi {
  controllers::ServerEvents event_sink{runtime, catalog, api.writer(), metrics};
  VirtualNetworks networks{{runtime, catalog, cache, api.writer(), event_sink, metrics}};
  runtime::Scope controllers{runtime};

  void run_controllers() {
    controllers.spawn(networks.run());
    runtime.advance(1s);
  }
  void subnet(JsonObject spec) {
    create(kOurs + "subnets",
           JsonObject{{"metadata", JsonObject{{"name", "s"}}}, {"spec", std::move(spec)}});
  }
  static JsonObject attachment(std::string_view name, std::string_view fixed = {}) {
    JsonObject spec{{"node", "n1"}, {"subnet", "s"}};
    if (!fixed.empty()) spec["fixedIPv4"] = fixed;
    return {{"apiVersion", "fairlead.dev/v1alpha1"},
            {"kind", "NetworkAttachment"},
            {"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
            {"spec", std::move(spec)}};
  }
  Json attach(std::string_view name, std::string_view fixed = {}) {
    return create(kAttachments, attachment(name, fixed));
  }
  std::string lock_of(const std::string& ip) {
    return kOurs + "iplocks/" + networks::ip_lock_name(7, *Ip::parse(ip));
  }
};

std::string text(const Json& object, std::string_view path) {
  return std::string(wire::find_string(object, path));
}

TEST(AddressInterlock, TheAnswerHasTheAddressesAndTheirLocksExist) {
  Networks cluster;
  cluster.create("/apis/fairlead.dev/v1alpha1/nodereports",
                 JsonObject{{"metadata", JsonObject{{"name", "n1"}}}});
  cluster.subnet({{"vni", 7}, {"ipv4", "10.0.0.0/24"}, {"ipv6", "fd00::/64"}});
  const Json made = cluster.attach("a");
  const std::string ipv4 = text(made, "status.ipv4"), ipv6 = text(made, "status.ipv6");
  EXPECT_TRUE(ipv4.starts_with("10.0.0.")) << wire::encode_json(made);
  EXPECT_TRUE(ipv6.starts_with("fd00::")) << wire::encode_json(made);
  EXPECT_FALSE(text(made, "status.macAddress").empty());
  EXPECT_FALSE(write_time(made, "status.address").empty());
  EXPECT_FALSE(write_time(made, "spec").empty());
  EXPECT_TRUE(write_time(made, "status.impl").empty());
  for (const auto& [ip, field] :
       {std::pair(ipv4, "status.lockUID"), std::pair(ipv6, "status.ipv6LockUID")}) {
    const Json lock = cluster.ask("admin", "GET", cluster.lock_of(ip))->json();
    EXPECT_EQ(text(lock, "metadata.uid"), text(made, field)) << ip;
    const Json* owners = wire::find(lock, "metadata.ownerReferences");
    ASSERT_TRUE(owners) << wire::encode_json(lock);
    EXPECT_EQ(text(owners->get_array().at(0), "uid"), text(made, "metadata.uid"));
  }
  EXPECT_EQ(cluster.networks.state().index().attachment("default/a")->vni, 7u);
}

TEST(AddressInterlock, WhatCannotBeGivenAtOnceIsLeftToTheController) {
  Networks cluster;
  EXPECT_EQ(text(cluster.attach("early"), "status.ipv4"), "");  // no subnet yet
  cluster.subnet({{"vni", 7}, {"ipv4", "10.0.0.0/29"}});
  EXPECT_EQ(text(cluster.attach("fixed", "10.0.0.5"), "status.ipv4"), "10.0.0.5");
  EXPECT_EQ(text(cluster.attach("rival", "10.0.0.5"), "status.ipv4"), "");
  EXPECT_EQ(text(cluster.attach("outside", "10.0.1.5"), "status.ipv4"), "");
  while (!text(cluster.attach(fmt::format("a{}", cluster.runtime.random())), "status.ipv4").empty())
    continue;
  EXPECT_EQ(text(cluster.attach("late"), "status.ipv4"), "");  // full

  cluster.run_controllers();
  const auto problem = [&](const std::string& name) {
    const Json object = cluster.ask("admin", "GET", kAttachments + "/" + name)->json();
    const Json* errors = wire::find(object, "status.errors.ipam");
    return errors ? wire::encode_json(*errors) : "";
  };
  EXPECT_NE(problem("rival").find("is taken by attachment fixed"), std::string::npos);
  EXPECT_NE(problem("outside").find("is not an address that subnet s"), std::string::npos);
  EXPECT_NE(problem("late").find("no IPv4 address available"), std::string::npos);
}

// What is shown is not kept, and what was set aside for it is free again.
TEST(AddressInterlock, DryRunsTakeNothing) {
  Networks cluster;
  cluster.subnet({{"vni", 7}, {"ipv4", "10.0.0.0/24"}});
  for (int i = 0; i < 2; ++i) {
    const auto shown = cluster.ask("admin", "POST", kAttachments + "?dryRun=All",
                                   wire::encode_json(Networks::attachment("a", "10.0.0.9")));
    EXPECT_EQ(shown->status, 201) << shown->text;
    EXPECT_EQ(shown->at("status.ipv4"), "10.0.0.9");
    EXPECT_FALSE(cluster.exists(cluster.lock_of("10.0.0.9")));
  }
  EXPECT_EQ(text(cluster.attach("b", "10.0.0.9"), "status.ipv4"), "10.0.0.9");
}

// Together, as far as the transaction has room for it; else a moment later. None is given twice.
TEST(AddressInterlock, ManyInOneTransaction) {
  for (const std::size_t many : {30u, 120u}) {
    Networks cluster;
    cluster.subnet({{"vni", 7}, {"ipv4", "10.0.0.0/24"}, {"ipv6", "fd00::/64"}});
    JsonArray operations;
    for (std::size_t i = 0; i < many; ++i)
      operations.push_back(
          JsonObject{{"verb", "create"}, {"object", Networks::attachment(fmt::format("a{}", i))}});
    const auto made =
        cluster.ask("admin", "POST", "/apis/fairlead.dev/v1alpha1/transactions",
                    wire::encode_json(JsonObject{{"operations", std::move(operations)}}));
    ASSERT_EQ(made->status, 201) << made->text;
    const auto addresses = [&] {
      std::multiset<std::string> all;
      const Json list = cluster.ask("admin", "GET", kAttachments)->json();
      for (const Json& item : wire::find(list, "items")->get_array())
        if (const std::string ip = text(item, "status.ipv4"); !ip.empty()) all.insert(ip);
      return all;
    };
    EXPECT_EQ(addresses().size(), many == 30 ? 30u : 0u);
    cluster.run_controllers();
    const std::multiset<std::string> all = addresses();
    EXPECT_EQ(all.size(), many);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), many);
  }
}

// Who asks later does not get what others wait for.
TEST(AddressInterlock, NewcomersStandBehindThoseWhoWait) {
  Networks cluster;
  cluster.subnet({{"vni", 7}, {"ipv4", "10.0.0.0/30"}});
  cluster.run_controllers();
  std::vector<std::string> holders;
  for (int i = 0;; ++i) {
    const Json made = cluster.attach(fmt::format("a{}", i));
    if (text(made, "status.ipv4").empty()) break;
    holders.push_back(text(made, "metadata.name"));
  }
  ASSERT_FALSE(holders.empty());
  const std::string waiter = fmt::format("a{}", holders.size());
  cluster.runtime.advance(1s);
  cluster.attach("newcomer");
  cluster.runtime.advance(1s);
  EXPECT_EQ(cluster.ask("admin", "DELETE", kAttachments + "/" + holders.front())->status, 200);
  cluster.runtime.advance(1s);
  EXPECT_NE(cluster.ask("admin", "GET", kAttachments + "/" + waiter)->at("status.ipv4"), "");
  EXPECT_EQ(cluster.ask("admin", "GET", kAttachments + "/newcomer")->at("status.ipv4"), "");
}

}  // namespace
}  // namespace fairlead::ipam
