// Virtual networks on a whole server with the model store: what users, nodes and onlookers see.
#include "features/networks/ipam/virtual_networks.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>

#include "features/networks/ipam/test_api.h"

namespace fairlead::ipam {
namespace {

constexpr std::string_view kOurs = "/apis/fairlead.dev/v1alpha1/namespaces/default";
constexpr std::string_view kReports = "/apis/fairlead.dev/v1alpha1/nodereports";
constexpr std::string_view kMerge = "application/merge-patch+json";

struct Networks : TestApi {
  controllers::ServerEvents event_sink{runtime, catalog, api.writer(), metrics};
  VirtualNetworks networks{{runtime, catalog, cache, api.writer(), event_sink, metrics}};
  runtime::Scope controllers{runtime};

  Networks() {
    controllers.spawn(networks.run());
    runtime.settle();
  }
  void subnet(std::string_view name, std::string_view block, int vni = 7) {
    create(fmt::format("{}/subnets", kOurs),
           JsonObject{{"metadata", JsonObject{{"name", name}}},
                      {"spec", JsonObject{{"ipv4", block}, {"vni", vni}}}});
    runtime.advance(1s);
  }
  void attach(std::string_view name, std::string_view node, std::string_view fixed = {}) {
    JsonObject spec{{"node", node}, {"subnet", "s"}};
    if (!fixed.empty()) spec["fixedIPv4"] = fixed;
    create(fmt::format("{}/networkattachments", kOurs),
           JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", std::move(spec)}});
    runtime.advance(1s);
  }
  // As the node's agent says where it is.
  void implement(std::string_view name) {
    const auto done =
        ask("admin", "PATCH", fmt::format("{}/networkattachments/{}/status", kOurs, name),
            R"({"status":{"hostIP":"192.0.2.1"}})", kMerge);
    EXPECT_EQ(done->status, 200) << done->text;
  }
  void detach(std::string_view name) {
    const auto gone = ask("admin", "DELETE", fmt::format("{}/networkattachments/{}", kOurs, name));
    EXPECT_EQ(gone->status, 200) << gone->text;
    runtime.advance(1s);
  }
  std::string lock_path(std::string_view attachment) {
    std::string address =
        ask("admin", "GET", fmt::format("{}/networkattachments/{}", kOurs, attachment))
            ->at("status.ipv4");
    std::ranges::replace(address, '.', '-');
    return fmt::format("{}/iplocks/v1-7-{}", kOurs, address);
  }
  std::string awaited(const std::string& lock) {
    const Json object = ask("admin", "GET", lock)->json();
    const Json* annotations = wire::find(object, "metadata.annotations");
    const Json* awaits =
        annotations ? annotations->get_object().if_contains(kAwaitsAnnotation) : nullptr;
    return awaits ? std::string(awaits->get_string()) : "";
  }
  std::uint64_t version_of(const std::string& path) {
    return std::stoull(ask("admin", "GET", path)->at("metadata.resourceVersion"));
  }
  void report(std::string_view node, const std::string& content) {
    const auto path = fmt::format("{}/{}", kReports, node);
    const auto done = ask(node, "PATCH", path, content, kMerge);
    EXPECT_EQ(done->status, 200) << done->text;
    runtime.advance(1s);
  }
  void begin_reports(std::string_view node) {
    const auto made =
        ask(node, "POST", kReports, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", node));
    EXPECT_EQ(made->status, 201) << made->text;
  }
  // "REASON ×count: message" of the events about an object.
  std::vector<std::string> events(std::string_view kind, std::string_view name) {
    const Json list = ask("admin", "GET",
                          fmt::format("/api/v1/namespaces/default/events?fieldSelector="
                                      "involvedObject.kind={},involvedObject.name={}",
                                      kind, name))
                          ->json();
    std::vector<std::string> told;
    for (const Json& event : wire::find(list, "items")->get_array())
      told.push_back(fmt::format("{} ×{}: {}", std::string(wire::find_string(event, "reason")),
                                 wire::find(event, "count")->to_number<int>(),
                                 std::string(wire::find_string(event, "message"))));
    return told;
  }
};

// Two nodes that report and have an attachment each in one network; "a", of n1, is where it should
// be.
struct SharedNetwork : Networks {
  SharedNetwork() {
    begin_reports("n1");
    begin_reports("n2");
    subnet("s", "10.0.0.0/24");
    attach("a", "n1");
    attach("b", "n2");
    implement("a");
  }
  struct Released {
    std::string lock;
    std::uint64_t version;
  };
  Released release() {
    const std::string lock = lock_path("a");
    detach("a");
    return {lock, version_of(lock)};
  }
};

// A released address waits for every node that reports and may know it, until it has said so.
TEST(Quarantine, WaitsForReports) {
  SharedNetwork cluster;
  const auto [lock, released] = cluster.release();
  EXPECT_EQ(cluster.awaited(lock), "n1,n2");
  cluster.report("n1", fmt::format(R"({{"appliedOwn":"{}"}})", released));
  cluster.report("n2", R"({"appliedOwn":"99999999","applied":{"7":"1","8":"99999999"}})");
  EXPECT_TRUE(cluster.exists(lock));
  cluster.report("n2", fmt::format(R"({{"applied":{{"7":"{}"}}}})", released));
  EXPECT_FALSE(cluster.exists(lock));
}

// What a node says of others' attachments says nothing of its own, and the other way round: the two
// come to it on different ways.
TEST(Quarantine, OwnAndOthersAreReportedApart) {
  SharedNetwork cluster;
  const auto [lock, released] = cluster.release();
  const std::string of_others =
      fmt::format(R"({{"applied":{{"7":"{}"}},"appliedElsewhere":"{}"}})", released, released);
  cluster.report("n2", of_others);
  cluster.report("n1", of_others);
  EXPECT_TRUE(cluster.exists(lock));
  cluster.report("n1", fmt::format(R"({{"appliedOwn":"{}"}})", released));
  EXPECT_FALSE(cluster.exists(lock));
}

// One revision may release several addresses. A node that has heard of the first has not heard of
// all.
TEST(Quarantine, ARevisionIsNotHeardAtOnce) {
  Networks cluster;
  cluster.begin_reports("n1");
  cluster.subnet("s", "10.0.0.0/24");
  cluster.attach("a", "n1");
  cluster.attach("b", "n1");
  const std::string first = cluster.lock_path("a");
  const std::string second = cluster.lock_path("b");
  const auto removal = [](std::string_view name) {
    return fmt::format(R"({{"verb":"delete","apiVersion":"fairlead.dev/v1alpha1",)"
                       R"("kind":"NetworkAttachment","namespace":"default","name":"{}"}})",
                       name);
  };
  const auto gone =
      cluster.ask("admin", "POST", "/apis/fairlead.dev/v1alpha1/transactions",
                  fmt::format(R"({{"operations":[{},{}]}})", removal("a"), removal("b")));
  EXPECT_EQ(gone->status, 201) << gone->text;
  cluster.runtime.advance(1s);
  ASSERT_EQ(cluster.version_of(first) / 1024, cluster.version_of(second) / 1024);
  // Each lock is written right after its attachment.
  cluster.report("n1", fmt::format(R"({{"appliedOwn":"{}"}})", cluster.version_of(first) - 1));
  EXPECT_FALSE(cluster.exists(first));
  EXPECT_TRUE(cluster.exists(second));
  cluster.report("n1", fmt::format(R"({{"appliedOwn":"{}"}})", cluster.version_of(second) - 1));
  EXPECT_FALSE(cluster.exists(second));
}

// A node that never heard of the network says so for all that it does not name.
TEST(Quarantine, NetworksNotNamed) {
  SharedNetwork cluster;
  const auto [lock, released] = cluster.release();
  cluster.report("n1", fmt::format(R"({{"appliedOwn":"{}"}})", released));
  cluster.report("n2", R"({"appliedElsewhere":"1"})");
  EXPECT_TRUE(cluster.exists(lock));
  cluster.report("n2", fmt::format(R"({{"appliedElsewhere":"{}"}})", released));
  EXPECT_FALSE(cluster.exists(lock));
}

// A node without a report carries nothing; one whose report is deleted is gone for good.
TEST(Quarantine, NodesWithoutReports) {
  Networks cluster;
  cluster.subnet("s", "10.0.0.0/24");
  cluster.attach("a", "n1");
  const std::string first = cluster.lock_path("a");
  cluster.detach("a");
  EXPECT_FALSE(cluster.exists(first));

  cluster.begin_reports("n1");
  cluster.attach("b", "n1");
  const std::string second = cluster.lock_path("b");
  cluster.detach("b");
  EXPECT_EQ(cluster.awaited(second), "n1");
  cluster.ask("admin", "DELETE", fmt::format("{}/n1", kReports));
  cluster.runtime.advance(1s);
  EXPECT_FALSE(cluster.exists(second));
}

// A node keeps its own report and no other.
TEST(Quarantine, ReportsAreTheNodesOwn) {
  Networks cluster;
  cluster.begin_reports("n1");
  const std::string own = fmt::format("{}/n1", kReports);
  EXPECT_EQ(cluster.ask("n2", "PATCH", own, R"({"applied":{"7":"9"}})", kMerge)->status, 403);
  EXPECT_EQ(cluster.ask("n2", "POST", kReports, R"({"metadata":{"name":"n3"}})")->status, 403);
  EXPECT_EQ(cluster.ask("n1", "DELETE", own)->status, 403);
  EXPECT_EQ(cluster.ask("n1", "GET", own)->status, 200);
}

// Addresses and MACs are the server's to give: who else writes them, a node above all, is not
// heard; what else the same write says counts.
TEST(Addresses, AreNotToBeTalkedInto) {
  Networks cluster;
  cluster.subnet("s", "10.0.0.0/24");
  cluster.attach("a", "n1");
  cluster.attach("b", "n2");
  const std::string a = fmt::format("{}/networkattachments/a", kOurs);
  const auto shown = [&](std::string_view name) {
    const auto got =
        cluster.ask("admin", "GET", fmt::format("{}/networkattachments/{}", kOurs, name));
    return std::vector<std::string>{got->at("status.ipv4"), got->at("status.macAddress"),
                                    got->at("status.lockUID")};
  };
  const auto address_written = [&] {
    const Json object = cluster.ask("admin", "GET", a)->json();
    for (const Json& write : wire::find(object, "extendedMetadata.writes")->get_array())
      if (wire::find_string(write, "section") == "status.address")
        return std::string(wire::find_string(write, "serverTime"));
    return std::string();
  };
  const std::vector<std::string> given = shown("a");
  const std::vector<std::string> others = shown("b");
  const std::string when = address_written();
  for (const char* who : {"n1", "admin"}) {
    const auto patched = cluster.ask(
        who, "PATCH", a + "/status",
        fmt::format(R"({{"status":{{"ipv4":"{}","macAddress":"{}","lockUID":"{}","addressVNI":8,)"
                    R"("ipv6":"fd00::1","addressContention":true,"ifcName":"of-{}",)"
                    R"("errors":{{"ipam":["no"],"host":["yes"]}}}}}})",
                    others[0], others[1], others[2], who),
        kMerge);
    EXPECT_EQ(patched->status, 200) << patched->text;
    EXPECT_EQ(shown("a"), given) << who;
    const auto got = cluster.ask("admin", "GET", a);
    EXPECT_EQ(wire::find(got->json(), "status.addressVNI")->to_number<int>(), 7);
    EXPECT_EQ(got->at("status.ipv6"), "");
    EXPECT_EQ(wire::find(got->json(), "status.addressContention"), nullptr);
    EXPECT_EQ(wire::find(got->json(), "status.errors.ipam"), nullptr);
    EXPECT_EQ(got->at("status.ifcName"), fmt::format("of-{}", who));
    EXPECT_NE(wire::find(got->json(), "status.errors.host"), nullptr);
    EXPECT_EQ(address_written(), when);
  }
  const auto named =
      cluster.ask("n1", "PATCH", a + "/status",
                  fmt::format(R"({{"status":{{"macAddress":"{}"}}}})", others[1]), kMerge);
  EXPECT_EQ(named->at("status.macAddress"), given[1]) << named->text;
  const auto emptied = cluster.ask("n1", "PATCH", a + "/status", R"({"status":null})", kMerge);
  EXPECT_EQ(emptied->status, 200) << emptied->text;
  EXPECT_EQ(shown("a"), given);
}

// A fixed address is given, or the status says why not; nothing is locked for who gets nothing.
TEST(Addresses, FixedOnesAreGivenOrRefused) {
  Networks cluster;
  const auto subnet = [&](std::string_view name, JsonObject spec) {
    cluster.create(fmt::format("{}/subnets", kOurs),
                   JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", std::move(spec)}});
  };
  subnet("four", {{"vni", 1}, {"ipv4", "10.0.0.0/24"}});
  subnet("six", {{"vni", 2}, {"ipv6", "fd00::/64"}});
  subnet("both", {{"vni", 16777215}, {"ipv4", "10.0.0.8/30"}, {"ipv6", "fd00::/127"}});
  const struct {
    const char *subnet, *ipv4, *ipv6, *error;
  } cases[] = {
      {"four", "10.0.0.2", "", ""},
      {"four", "10.0.0.254", "", ""},
      {"four", "10.0.0.2", "", "10.0.0.2 is taken by attachment a0"},
      {"four", "10.0.0.0", "",
       "10.0.0.0 is not an address that subnet four (10.0.0.0/24) can give"},
      {"four", "10.0.0.255", "",
       "10.0.0.255 is not an address that subnet four (10.0.0.0/24) can give"},
      {"four", "10.0.1.2", "",
       "10.0.1.2 is not an address that subnet four (10.0.0.0/24) can give"},
      {"four", "", "fd00::2", "fd00::2 cannot be given: subnet four has no IPv6 block"},
      {"six", "10.0.0.2", "", "10.0.0.2 cannot be given: subnet six has no IPv4 block"},
      {"six", "", "fd00::2", ""},
      {"six", "", "fd00::ffff:ffff:ffff:ffff", ""},
      {"six", "", "fd00::2", "fd00::2 is taken by attachment a8"},
      {"six", "", "fd00::", "fd00:: is not an address that subnet six (fd00::/64) can give"},
      {"six", "", "fd00:0:0:1::2",
       "fd00:0:0:1::2 is not an address that subnet six (fd00::/64) can give"},
      {"both", "10.0.0.8", "fd00::1", ""},
      {"both", "10.0.0.9", "fd00::1", "fd00::1 is taken by attachment a13"},
      {"both", "10.0.0.9", "", ""},
      {"both", "10.0.0.10", "", "no IPv6 address available in subnet default/both (fd00::/127)"},
  };
  std::size_t number = 0, addresses = 0;
  for (const auto& one : cases) {
    const std::string name = fmt::format("a{}", number++);
    JsonObject spec{{"node", "n1"}, {"subnet", one.subnet}};
    if (*one.ipv4) spec["fixedIPv4"] = one.ipv4;
    if (*one.ipv6) spec["fixedIPv6"] = one.ipv6;
    cluster.create(fmt::format("{}/networkattachments", kOurs),
                   JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", std::move(spec)}});
    cluster.runtime.advance(1s);
    const auto got =
        cluster.ask("admin", "GET", fmt::format("{}/networkattachments/{}", kOurs, name));
    const Json object = got->json();
    const Json* errors = wire::find(object, "status.errors.ipam");
    EXPECT_EQ(errors ? std::string(errors->at(0).get_string()) : "", one.error) << name;
    if (*one.error) {
      EXPECT_EQ(got->at("status.ipv4") + got->at("status.ipv6"), "") << name;
    } else {
      if (*one.ipv4) EXPECT_EQ(got->at("status.ipv4"), one.ipv4);
      if (*one.ipv6) EXPECT_EQ(got->at("status.ipv6"), one.ipv6);
      addresses += !got->at("status.ipv4").empty() + !got->at("status.ipv6").empty();
    }
  }
  const resource::Kind& locks = *cluster.catalog.find("fairlead.dev", "v1alpha1", "iplocks");
  EXPECT_EQ(cluster.cache.of(locks).object_count(), addresses);
}

// Blocks of any size give what they have, no address twice, and then say that they are full; who
// waits gets what is freed.
TEST(Addresses, SmallBlocksAreUsedUp) {
  const struct {
    const char *family, *block;
    std::size_t gives;
  } cases[] = {{"ipv4", "10.0.0.0/29", 5}, {"ipv4", "10.0.0.4/30", 4}, {"ipv4", "10.0.0.8/31", 2},
               {"ipv4", "10.0.0.9/32", 1}, {"ipv6", "fd00::/125", 6},  {"ipv6", "fd00::/126", 4},
               {"ipv6", "fd00::/127", 2},  {"ipv6", "fd00::5/128", 1}};
  for (const auto& one : cases) {
    Networks cluster;
    cluster.create(fmt::format("{}/subnets", kOurs),
                   JsonObject{{"metadata", JsonObject{{"name", "s"}}},
                              {"spec", JsonObject{{one.family, one.block}, {"vni", 7}}}});
    for (std::size_t i = 0; i < one.gives + 2; ++i) cluster.attach(fmt::format("a{}", i), "n1");
    const auto given = [&] {
      std::map<std::string, std::string> owners;  // by address
      for (std::size_t i = 0; i < one.gives + 2; ++i) {
        const auto got =
            cluster.ask("admin", "GET", fmt::format("{}/networkattachments/a{}", kOurs, i));
        if (const std::string ip = got->at(fmt::format("status.{}", one.family)); !ip.empty())
          owners[ip] = fmt::format("a{}", i);
      }
      return owners;
    };
    const auto before = given();
    EXPECT_EQ(before.size(), one.gives) << one.block;
    cluster.detach(before.begin()->second);
    const auto after = given();
    EXPECT_EQ(after.size(), one.gives) << one.block;
    EXPECT_TRUE(after.contains(before.begin()->first)) << one.block;
  }
}

// A freed address goes to an attachment that waits, also past those that waited before it and have
// got one meanwhile.
TEST(Addresses, AFreedOnePassesThoseThatHaveOne) {
  Networks server;
  const std::string subnet = fmt::format("{}/subnets/s", kOurs);
  const auto address = [&server](std::string_view name) {
    return server.ask("admin", "GET", fmt::format("{}/networkattachments/{}", kOurs, name))
        ->at("status.ipv4");
  };
  server.subnet("s", "10.0.0.4/31");
  for (const char* name : {"a", "b", "c", "d"}) server.attach(name, "n1");
  EXPECT_EQ(address("c") + address("d"), "");
  EXPECT_EQ(server.ask("admin", "DELETE", subnet)->status, 200);
  server.runtime.advance(1s);
  server.subnet("s", "10.0.0.4/30");  // just enough for the four
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_NE(address(name), "") << name;
  server.attach("e", "n1");
  EXPECT_EQ(address("e"), "");
  server.detach("a");
  EXPECT_NE(address("e"), "");
}

// An attachment to a node that nobody knows says so; the node's agent takes that back, and what an
// agent said stays.
TEST(Addresses, UnknownNodesAreTold) {
  Networks cluster;
  cluster.begin_reports("n1");
  cluster.subnet("s", "10.0.0.0/24");
  cluster.attach("known", "n1");
  cluster.attach("unknown", "nowhere");
  const auto errors = [&](std::string_view name) {
    const auto got =
        cluster.ask("admin", "GET", fmt::format("{}/networkattachments/{}", kOurs, name));
    const Json object = got->json();
    const Json* host = wire::find(object, "status.errors.host");
    return host ? wire::encode_json(*host) : std::string();
  };
  const std::string told = R"(["Node nowhere is not known: no agent has reported from there"])";
  EXPECT_EQ(errors("known"), "");
  EXPECT_EQ(errors("unknown"), told);
  EXPECT_NE(cluster.lock_path("unknown"), fmt::format("{}/iplocks/v1-7-", kOurs));  // it has one
  const auto tell = [&](const char* what) {
    const auto done =
        cluster.ask("admin", "PATCH", fmt::format("{}/networkattachments/known/status", kOurs),
                    fmt::format(R"({{"status":{{"errors":{{"host":{}}}}}}})", what), kMerge);
    EXPECT_EQ(done->status, 200) << done->text;
  };
  tell(R"(["broken"])");
  cluster.ask("admin", "DELETE", fmt::format("{}/subnets/s", kOurs));
  cluster.runtime.advance(1s);
  cluster.subnet("s", "10.0.0.0/24");
  EXPECT_EQ(errors("known"), R"(["broken"])");
  EXPECT_EQ(errors("unknown"), told);
}

// What becomes of an attachment is told; the same again is counted, not told anew.
TEST(Events, TellWhatBecameOfAttachments) {
  Networks cluster;
  cluster.begin_reports("n1");
  cluster.attach("a", "n1", "10.0.0.5");
  EXPECT_EQ(cluster.events("NetworkAttachment", "a"),
            std::vector<std::string>{"NoAddress ×1: Subnet s does not exist"});
  cluster.subnet("s", "10.0.0.0/29");
  const std::vector<std::string> assigned{
      "AddressAssigned ×1: Assigned IPv4 address 10.0.0.5 of virtual network 7, MAC "
      "02:00:0a:00:00:05",
      "NoAddress ×1: Subnet s does not exist"};
  std::vector<std::string> told = cluster.events("NetworkAttachment", "a");
  std::ranges::sort(told);
  EXPECT_EQ(told, assigned);
  cluster.attach("rival", "n1", "10.0.0.5");
  EXPECT_EQ(cluster.events("NetworkAttachment", "rival"),
            std::vector<std::string>{"AddressTaken ×1: 10.0.0.5 is taken by attachment a"});
  for (const char* name : {"b", "c", "d", "e", "f"}) cluster.attach(name, "n1");
  EXPECT_EQ(
      cluster.events("NetworkAttachment", "f"),
      std::vector<std::string>{
          "AddressExhausted ×1: no IPv4 address available in subnet default/s (10.0.0.0/29)"});
}

// So is what becomes of subnets.
TEST(Events, TellOfSubnetConflicts) {
  Networks cluster;
  cluster.subnet("s", "10.0.0.0/24");
  cluster.subnet("late", "10.0.0.128/25");
  EXPECT_EQ(cluster.events("Subnet", "s"),
            std::vector<std::string>{
                "SubnetValidated ×1: The subnet conflicts with no other of virtual network 7"});
  const auto told = cluster.events("Subnet", "late");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with("SubnetConflict ×1: CIDR overlaps with default/s")) << told[0];
}

// A Subnet that another server refused for an address which was freed before the refusal was
// committed: nothing else will happen to it, and it is validated all the same.
TEST(Subnets, WhatWasInTheWayMayBeGoneAlready) {
  Networks cluster;
  const resource::Kind& kind = *cluster.catalog.find("fairlead.dev", "v1alpha1", "subnets");
  const auto commit = [](store::Store& store, std::string key, Bytes stored) -> Task<void> {
    (void)co_await store.commit(
        {.compares = {}, .operations = {{store::Operation::Kind::put, std::move(key), stored}}});
  };
  Json refused = JsonObject{
      {"apiVersion", "fairlead.dev/v1alpha1"},
      {"kind", "Subnet"},
      {"metadata", JsonObject{{"name", "s"}, {"namespace", "default"}, {"uid", "u"}}},
      {"spec", JsonObject{{"ipv4", "10.0.0.0/24"}, {"vni", 7}}},
      {"status", JsonObject{{"validated", false}, {"errors", JsonArray{"in use by others"}}}}};
  cluster.controllers.spawn(commit(cluster.store, watchcache::store_key(kind, "default", "s"),
                                   watchcache::encode_stored(refused)));
  cluster.runtime.advance(1s);
  const Json subnet = cluster.ask("admin", "GET", fmt::format("{}/subnets/s", kOurs))->json();
  EXPECT_TRUE(wire::find(subnet, "status.validated")->as_bool()) << wire::encode_json(subnet);
}

// However many attachments are made at once, few events are written for them.
TEST(Events, AreFewHoweverMuchHappens) {
  Networks cluster;
  cluster.begin_reports("n1");
  cluster.subnet("s", "10.0.0.0/16");
  for (int i = 0; i < 500; ++i)
    cluster.create(fmt::format("{}/networkattachments", kOurs),
                   JsonObject{{"metadata", JsonObject{{"name", fmt::format("a{}", i)}}},
                              {"spec", JsonObject{{"node", "n1"}, {"subnet", "s"}}}});
  cluster.runtime.advance(1s);
  const resource::Kind& kind = *cluster.catalog.find("", "v1", "events");
  EXPECT_GT(cluster.cache.of(kind).object_count(), 10u);
  EXPECT_LT(cluster.cache.of(kind).object_count(), 40u);
}

}  // namespace
}  // namespace fairlead::ipam
