#include "features/vip/node/api_vips.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "features/vip/config/test_vip_file.h"

namespace fairlead::vip {
namespace {

Json json(std::string_view text) {
  auto parsed = wire::parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? parsed->value : Json();
}

ApiVip object(std::string name, std::string_view spec,
              std::string created = "2030-01-01T00:00:00Z") {
  ApiVip vip{.name = std::move(name), .uid = "u", .created = std::move(created), .generation = 1};
  vip.spec = json(spec);
  return vip;
}

// This node is a, and its file holds 10.0.0.75.
VipPlan file(const std::string& from_api) {
  Result<VipPlan> plan = plan_of(
      "node: a\nkubeconfig: /k\nelection:\n  listen: 10.0.0.1:10000\n"
      "  peers: [{name: b, address: '10.0.0.2:10000'}]\n"
      "virtualIPs:\n- {address: 10.0.0.75, interface: eth0}\nvirtualIPsFromAPI: " +
      from_api + "\n");
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  VipPlan named = plan ? std::move(*plan) : VipPlan();
  EXPECT_TRUE(name_node(named, "a"));
  return named;
}

// What an object of the API becomes beside the file: held, refused with the reason, or none of this
// node's business.
TEST(ApiVips, BesideTheFile) {
  struct Case {
    const char* from_api;
    const char* spec;
    const char* refusal;  // empty: held
  };
  const char* address = R"({"address":"10.0.0.80","interface":"eth0"})";
  for (const auto& [from_api, spec, refusal] : {
           Case{"{}", address, ""},
           Case{"{addresses: [10.0.0.64/26]}", address, ""},
           Case{"{addresses: [10.0.0.0/26, 'fd00::/64']}", address,
                "the address is in none of virtualIPsFromAPI.addresses"},
           Case{"{}", R"({"address":"10.0.0.75","interface":"eth0"})",
                "this node's file has the address, and counts"},
           Case{"{}", R"({"address":"10.0.0.2","interface":"eth0"})",
                "the address is that of member b"},
           Case{"{}", R"({"address":"10.0.0.80","interface":"eth0","notify":["/bin/true"]})",
                "/bin/true is not among virtualIPsFromAPI.allowedPrograms"},
           Case{"{allowedPrograms: [/bin/true]}",
                R"({"address":"10.0.0.80","interface":"eth0","notify":["/bin/true","x"]})", ""},
           Case{"{allowedPrograms: [/bin/true]}",
                R"({"address":"10.0.0.80","interface":"eth0","health":[{"command":["/bin/sh"]}]})",
                "/bin/sh is not among virtualIPsFromAPI.allowedPrograms"},
           Case{"{}",
                R"({"address":"10.0.0.80","interface":"eth0",
                    "health":[{"http":"https://h/","caFile":"/etc/x"}]})",
                "health: caFile is a file of this node"},
           Case{"{}", R"({"address":"10.0.0.80","interface":"lo"})", "spec.interface: "},
           Case{"{}", R"({"address":7})", "address: "},
           Case{"{}", R"({"address":"10.0.0.80","interface":"lo","announce":"route"})", ""},
           Case{"{}", R"({"address":"10.0.0.80","interface":"lo","announce":"bgp"})",
                "this node's file has no bgp"},
           Case{"{}",
                R"({"address":"10.0.0.80","interface":"lo","announce":"route","anycast":true})",
                "anycast, and announce: external, are only for the agents' files"},
       }) {
    const MergedVips merged = merge_vips(file(from_api), {object("v", spec)});
    const std::string why = merged.refused.contains("v") ? merged.refused.at("v") : "";
    if (*refusal == '\0') {
      EXPECT_EQ(why, "") << spec;
      ASSERT_EQ(merged.vips.size(), 2U) << spec;
      EXPECT_EQ(merged.names.at(*Ip::parse("10.0.0.80")), "v");
    } else {
      EXPECT_TRUE(why.starts_with(refusal)) << why;
      EXPECT_EQ(merged.vips.size(), 1U) << spec;
    }
  }
  const MergedVips others = merge_vips(
      file("{}"), {object("v", R"({"address":"10.0.0.80","interface":"eth0","nodes":["b"]})")});
  EXPECT_EQ(others.vips.size(), 1U);
  EXPECT_TRUE(others.refused.empty());
}

// Of two with one address, and of more than the limit, the older count.
TEST(ApiVips, TheOlderCount) {
  const char* one = R"({"address":"10.0.0.80","interface":"eth0"})";
  const char* two = R"({"address":"10.0.0.81","interface":"eth0"})";
  const MergedVips same = merge_vips(file("{}"), {object("a", one, "2030-01-02T00:00:00Z"),
                                                  object("b", one, "2030-01-01T00:00:00Z")});
  EXPECT_EQ(same.names.at(*Ip::parse("10.0.0.80")), "b");
  EXPECT_EQ(same.refused.at("a"), "VirtualIP b has the address, too, and is older");
  const MergedVips many = merge_vips(
      file("{limit: 1}"),
      {object("a", one, "2030-01-02T00:00:00Z"), object("b", two, "2030-01-01T00:00:00Z")});
  EXPECT_EQ(many.names.size(), 1U);
  EXPECT_TRUE(many.refused.at("a").starts_with("this node follows 1 VirtualIPs already"));
}

// What goes to the disk comes back.
TEST(ApiVips, SurviveTheDisk) {
  const ApiVip vip = object("v", R"({"address":"10.0.0.80","interface":"eth0"})");
  const Result<ApiVip> back = parse_api_vip(json(wire::encode_json(to_json(vip))));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, "v");
  EXPECT_EQ(back->uid, "u");
  EXPECT_EQ(back->created, vip.created);
  EXPECT_EQ(back->generation, 1);
  EXPECT_EQ(back->spec, vip.spec);
  for (const char* wrong :
       {"{}", R"({"metadata":{"name":"v"}})", "[]", "7", R"({"metadata":{"name":"v"},"spec":[]})"})
    EXPECT_FALSE(parse_api_vip(json(wrong))) << wrong;
}

}  // namespace
}  // namespace fairlead::vip
