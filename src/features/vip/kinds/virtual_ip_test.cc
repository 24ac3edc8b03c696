#include "features/vip/kinds/virtual_ip.h"

#include <gtest/gtest.h>

#include "api/resource/test_kind_rules.h"
#include "features/vip/kinds/test_catalog.h"

namespace fairlead::vip {
namespace {

using resource::testing::json;
using resource::testing::object_of;
using resource::testing::row;
using resource::testing::Texts;
using resource::testing::write;

Texts errors_of(std::string_view spec) {
  static const resource::Kind kind = virtual_ip_kind();
  return write(kind, object_of(kind, R"({"spec":)" + std::string(spec) + "}")).errors;
}

// What holds for every kind.
TEST(VirtualIp, IsSound) { resource::testing::expect_sound_kinds(test_catalog()); }

// The rules of an entry in an agent's file hold, and those of nodes and priorities.
TEST(VirtualIp, SpecIsChecked) {
  for (const std::string_view good :
       {R"({"address":"10.0.0.75","interface":"eth0"})",
        R"({"address":"fd00::75","interface":"eth0.7","nodes":["a","b"],"priorities":{"a":200}})",
        R"({"address":"10.0.0.75","interface":"eth0","health":[{"tcp":"127.0.0.1:80"}],
            "preferredNode":"a","group":"g","preempt":false,"preemptDelay":"1s"})",
        R"({"address":"10.0.0.75","interface":"eth0","notify":["/bin/true"]})"})
    EXPECT_EQ(errors_of(good), Texts{}) << good;
  struct Case {
    std::string_view spec, error;
  };
  for (const auto& [spec, error] : {
           Case{R"({"interface":"eth0"})", "spec.address: Required value"},
           Case{R"({"address":"10.0.0.75"})", "spec.interface: Required value"},
           Case{R"({"address":"10.0.0.75/24","interface":"eth0"})",
                "spec.address: Invalid value: \"10.0.0.75/24\": must be an address without a "
                "prefix length"},
           Case{R"({"address":"224.0.0.1","interface":"eth0"})", "spec.address: "},
           Case{R"({"address":"10.0.0.75","interface":"lo"})", "spec.interface: "},
           Case{R"({"address":"10.0.0.75","interface":"eth0","nodes":["A_"]})", "spec.nodes[0]: "},
           Case{R"({"address":"10.0.0.75","interface":"eth0","nodes":["a","a"]})",
                "spec.nodes[1]: Duplicate value"},
           Case{R"({"address":"10.0.0.75","interface":"eth0","nodes":["a"],"preferredNode":"b"})",
                "spec.preferredNode: Invalid value: \"b\": is not among spec.nodes"},
           Case{R"({"address":"10.0.0.75","interface":"eth0","nodes":["a"],"priorities":{"b":7}})",
                "spec.priorities[b]: Invalid value: \"b\": is not among spec.nodes"},
           Case{R"({"address":"10.0.0.75","interface":"eth0","priorities":{"b":0}})",
                "spec.priorities[b]: Invalid value: 0: must be 1 to 1000"},
           Case{R"({"address":"10.0.0.75","interface":"eth0","health":[{"tcp":"nowhere"}]})",
                "spec.health[0]"},
           Case{R"({"address":"10.0.0.75","interface":"eth0","notify":["true"]})",
                "spec.notify[0]: Invalid value: \"true\": must be the absolute path of a program"},
           Case{R"({"address":"10.0.0.75","interface":"eth0",
                    "health":[{"http":"https://127.0.0.1/","caFile":"/etc/shadow"}]})",
                "spec.health[0].caFile: Forbidden: is a file of a node"},
       }) {
    const Texts errors = errors_of(spec);
    ASSERT_EQ(errors.size(), 1U) << spec << " " << (errors.empty() ? "" : errors[0]);
    EXPECT_TRUE(errors[0].starts_with(error)) << errors[0];
  }
}

// The address and how it is announced are what they are; the rest can change.
TEST(VirtualIp, AddressAndAnnounceAreImmutable) {
  const resource::Kind kind = virtual_ip_kind();
  const Json old =
      write(kind, object_of(kind, R"({"spec":{"address":"10.0.0.75","interface":"eth0"}})")).object;
  const auto change = [&](std::string_view spec) {
    return write(kind, object_of(kind, R"({"spec":)" + std::string(spec) + "}"), &old,
                 resource::Write::update)
        .errors;
  };
  EXPECT_EQ(change(R"({"address":"10.0.0.75","interface":"eth1"})"), Texts{});
  EXPECT_EQ(change(R"({"address":"10.0.0.76","interface":"eth0"})"),
            Texts{"spec.address: Forbidden: field is immutable"});
  EXPECT_EQ(change(R"({"address":"10.0.0.75","interface":"lo","announce":"route"})"),
            Texts{"spec.announce: Forbidden: field is immutable"});
}

// What a spec says to a node: its own priority, and the defaults of an entry of its file.
TEST(VirtualIp, SaysToANode) {
  const Json spec = json(
      R"({"address":"10.0.0.75","interface":"eth0","nodes":["a","b"],"priorities":{"a":200}})");
  EXPECT_TRUE(takes_part(spec, "a"));
  EXPECT_FALSE(takes_part(spec, "c"));
  EXPECT_TRUE(takes_part(json("{}"), "c"));
  const Result<VirtualIpSettings> first = settings_for(spec, "a"), second = settings_for(spec, "b");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->priority, 200);
  EXPECT_EQ(second->priority, 100);
  EXPECT_EQ(second->notify_timeout, "10s");
  EXPECT_FALSE(settings_for(json(R"({"interface":"eth0"})"), "a"));
  EXPECT_FALSE(settings_for(json("7"), "a"));
}

// `kubectl get virtualips`.
TEST(VirtualIp, Columns) {
  const resource::Kind kind = virtual_ip_kind();
  Json object = object_of(kind, R"({"metadata":{"creationTimestamp":"2024-05-01T11:55:00Z"},
                "spec":{"address":"10.0.0.75","interface":"eth0"},
                "status":{"holder":"b","epoch":7,"since":"2024-05-01T11:59:00Z","conditions":[
                  {"type":"Ready","status":"True","message":"b answers"},
                  {"type":"Accepted","status":"False","message":"a: no"}]}})");
  EXPECT_EQ(row(kind, object, false), "a|10.0.0.75|b|True|5m");
  EXPECT_EQ(row(kind, object, true), "a|10.0.0.75|b|True|5m|eth0|7|2024-05-01T11:59:00Z|a: no");
}

}  // namespace
}  // namespace fairlead::vip
