#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/apimachinery/openapi/discovery.h"
#include "api/apimachinery/openapi/openapi_model.h"
#include "api/apimachinery/openapi/openapi_v2.h"
#include "api/apimachinery/openapi/openapi_v3.h"
#include "api/resource/condition.h"
#include "api/resource/test_kind_rules.h"
#include "features/networks/kinds/ip_lock.h"
#include "features/networks/kinds/network_attachment.h"
#include "features/networks/kinds/node_report.h"
#include "features/networks/kinds/subnet.h"
#include "features/networks/kinds/test_catalog.h"

namespace fairlead::networks {
namespace {

using namespace resource;
using resource::testing::json;
using resource::testing::object_of;
using resource::testing::row;
using resource::testing::Texts;
using resource::testing::write;

constexpr std::string_view kLater = "2024-05-01T12:34:56.000456Z";

Texts subnet_errors(std::string_view spec) {
  static const Kind kind = subnet_kind();
  return write(kind, object_of(kind, R"({"spec":)" + std::string(spec) + "}")).errors;
}

// Blocks of any unicast range and either family, and what is wrong with others.
TEST(Subnet, SpecIsChecked) {
  for (const std::string_view good :
       {R"({"vni":1,"ipv4":"10.0.0.0/24"})", R"({"vni":16777215,"ipv4":"8.8.8.8/32"})",
        R"({"vni":7,"ipv6":"fd00:1::/64"})",
        R"({"vni":7,"ipv6":"2001:db8::/32","ipv4":"192.168.0.0/16"})"}) {
    EXPECT_EQ(subnet_errors(good), Texts{}) << good;
  }
  struct Case {
    std::string_view spec;
    std::string_view error;
  };
  for (const auto& [spec, error] : {
           Case{R"({"ipv4":"10.0.0.0/24"})", "spec.vni: Required value"},
           Case{R"({"vni":0,"ipv4":"10.0.0.0/24"})",
                "spec.vni: Invalid value: 0: must be greater than or equal to 1"},
           Case{R"({"vni":16777216,"ipv4":"10.0.0.0/24"})",
                "spec.vni: Invalid value: 16777216: must be less than or equal to 16777215"},
           Case{R"({"vni":7})",
                "spec.ipv4: Required value: at least one of ipv4 and ipv6 must be given"},
           Case{R"({"vni":7,"ipv4":"10.0.0.1/24"})",
                "spec.ipv4: Invalid value: \"10.0.0.1/24\": must be an IPv4 block in CIDR notation "
                "without host bits, (e.g. 10.9.8.0/24)"},
           Case{R"({"vni":7,"ipv4":"fd00::/64"})",
                "spec.ipv4: Invalid value: \"fd00::/64\": must be an IPv4 block in CIDR notation "
                "without host bits, (e.g. 10.9.8.0/24)"},
           Case{R"({"vni":7,"ipv6":"10.0.0.0/8"})",
                "spec.ipv6: Invalid value: \"10.0.0.0/8\": must be an IPv6 block in CIDR notation "
                "without host bits, (e.g. fd00:9:8::/64)"},
           Case{R"({"vni":7,"ipv6":"FD00::/64"})",
                "spec.ipv6: Invalid value: \"FD00::/64\": must be in canonical form "
                "(\"fd00::/64\")"},
           Case{R"({"vni":7,"ipv4":"224.0.0.0/8"})",
                "spec.ipv4: Invalid value: \"224.0.0.0/8\": must be a unicast block; it overlaps "
                "224.0.0.0/3"},
           Case{R"({"vni":7,"ipv4":"0.0.0.0/0"})",
                "spec.ipv4: Invalid value: \"0.0.0.0/0\": must be a unicast block; it overlaps "
                "0.0.0.0/8"},
           Case{R"({"vni":7,"ipv4":"127.0.0.0/8"})",
                "spec.ipv4: Invalid value: \"127.0.0.0/8\": must be a unicast block; it overlaps "
                "127.0.0.0/8"},
           Case{R"({"vni":7,"ipv6":"ff00::/8"})",
                "spec.ipv6: Invalid value: \"ff00::/8\": must be a unicast block; it overlaps "
                "ff00::/8"},
           Case{R"({"vni":7,"ipv6":"fe80::/64"})",
                "spec.ipv6: Invalid value: \"fe80::/64\": must be a unicast block; it overlaps "
                "fe80::/10"},
       }) {
    EXPECT_EQ(subnet_errors(spec), Texts{std::string(error)}) << spec;
  }
}

// Nothing in a subnet's spec can change.
TEST(Subnet, SpecIsImmutable) {
  const Kind kind = subnet_kind();
  const Json old =
      write(kind, object_of(kind, R"({"spec":{"vni":7,"ipv4":"10.0.0.0/24"}})")).object;
  const auto change = [&](std::string_view spec) {
    return write(kind, object_of(kind, R"({"spec":)" + std::string(spec) + "}"), &old,
                 Write::update)
        .errors;
  };
  EXPECT_EQ(change(R"({"vni":7,"ipv4":"10.0.0.0/24"})"), Texts{});
  EXPECT_EQ(change(R"({"vni":8,"ipv4":"10.0.0.0/24"})"),
            Texts{"spec.vni: Forbidden: field is immutable"});
  EXPECT_EQ(change(R"({"vni":7,"ipv4":"10.0.1.0/24"})"),
            Texts{"spec.ipv4: Forbidden: field is immutable"});
  EXPECT_EQ(change(R"({"vni":7,"ipv4":"10.0.0.0/24","ipv6":"fd00::/64"})"),
            Texts{"spec.ipv6: Forbidden: field is immutable"});
}

// The server wipes status and write times a client sends on create, and stamps the spec.
TEST(Subnet, CreateWipesWhatTheServerOwns) {
  const Kind kind = subnet_kind();
  const auto created = write(
      kind,
      object_of(
          kind,
          R"({"spec":{"vni":7,"ipv4":"10.0.0.0/24"},"status":{"validated":true},)"
          R"("extendedMetadata":{"writes":[{"section":"spec","serverTime":"1999-01-01T00:00:00Z"}]}})"));
  EXPECT_EQ(created.errors, Texts{});
  EXPECT_EQ(wire::find(created.object, "status"), nullptr);
  EXPECT_EQ(wire::encode_json(*wire::find(created.object, "extendedMetadata")),
            R"({"writes":[{"section":"spec","serverTime":"2024-05-01T12:00:00.000123Z"}]})");
}

// A section's time moves only when its content does; a client's own times are ignored.
TEST(Subnet, SectionsAreStampedWhenTheyChange) {
  const Kind kind = subnet_kind();
  const Json old =
      write(kind, object_of(kind, R"({"spec":{"vni":7,"ipv4":"10.0.0.0/24"}})")).object;
  Json next = old;
  next.at("extendedMetadata") =
      json(R"({"writes":[{"section":"spec","serverTime":"2030-01-01T00:00:00Z"}]})");
  EXPECT_EQ(write(kind, next, &old, Write::update, kLater).object, old);

  next.as_object()["status"] = json(R"({"validated":true})");
  const Json validated = write(kind, next, &old, Write::update_status, kLater).object;
  EXPECT_EQ(wire::encode_json(*wire::find(validated, "extendedMetadata.writes")),
            R"([{"section":"spec","serverTime":"2024-05-01T12:00:00.000123Z"},)"
            R"({"section":"status","serverTime":"2024-05-01T12:34:56.000456Z"}])");
}

// What kubectl get shows.
TEST(Subnet, Columns) {
  const Kind kind = subnet_kind();
  const Json object = object_of(
      kind,
      R"({"metadata":{"creationTimestamp":"2024-05-01T11:00:00Z"},"spec":{"vni":7,"ipv4":"10.0.0.0/24"},)"
      R"("status":{"errors":["x","y"]}})");
  EXPECT_EQ(row(kind, object, false), "a|7|10.0.0.0/24||false|60m");
  EXPECT_EQ(row(kind, object, true), "a|7|10.0.0.0/24||false|60m|x; y");
  EXPECT_EQ(selected_value(object, "spec.vni"), "7");
  EXPECT_EQ(selected_value(object, "spec.ipv6"), "");
}

Texts attachment_errors(std::string_view spec) {
  static const Kind kind = network_attachment_kind();
  return write(kind, object_of(kind, R"({"spec":)" + std::string(spec) + "}")).errors;
}

// Node and subnet are names, not necessarily of anything that exists; a fixed address is optional.
TEST(NetworkAttachment, SpecIsChecked) {
  EXPECT_EQ(attachment_errors(R"({"node":"n.example","subnet":"s"})"), Texts{});
  EXPECT_EQ(
      attachment_errors(R"({"node":"n","subnet":"s","fixedIPv4":"10.0.0.5","fixedIPv6":"fd00::5",)"
                        R"("postCreateExec":["/bin/x","${ifname}"],"postDeleteExec":["/bin/y"]})"),
      Texts{});
  EXPECT_EQ(attachment_errors(R"({})"),
            (Texts{"spec.node: Required value", "spec.subnet: Required value"}));
  EXPECT_EQ(attachment_errors(R"({"node":"N","subnet":"s"})").size(), 1u);
  EXPECT_EQ(attachment_errors(R"({"node":"n","subnet":"a/b"})").size(), 1u);
  EXPECT_EQ(attachment_errors(R"({"node":"n","subnet":"s","fixedIPv4":"10.0.0"})"),
            Texts{"spec.fixedIPv4: Invalid value: \"10.0.0\": must be a valid IPv4 address"});
  EXPECT_EQ(attachment_errors(R"({"node":"n","subnet":"s","fixedIPv4":"224.0.0.1"})"),
            Texts{"spec.fixedIPv4: Invalid value: \"224.0.0.1\": must be a unicast address"});
  EXPECT_EQ(attachment_errors(R"({"node":"n","subnet":"s","fixedIPv6":"::1"})"),
            Texts{"spec.fixedIPv6: Invalid value: \"::1\": must be a unicast address"});
  EXPECT_EQ(attachment_errors(R"({"node":"n","subnet":"s","postCreateExec":[""]})"),
            Texts{"spec.postCreateExec[0]: Required value: the program to run"});
  EXPECT_EQ(attachment_errors(R"({"node":"n","subnet":"s","postDeleteExec":["",""]})"),
            Texts{"spec.postDeleteExec[0]: Required value: the program to run"});
}

// Only postDeleteExec may change, and that stamps the spec.
TEST(NetworkAttachment, OnlyPostDeleteExecChanges) {
  const Kind kind = network_attachment_kind();
  const Json old = write(kind, object_of(kind, R"({"spec":{"node":"n","subnet":"s"}})")).object;
  const auto change = [&](std::string_view spec) {
    return write(kind, object_of(kind, R"({"spec":)" + std::string(spec) + "}"), &old,
                 Write::update, kLater);
  };
  for (const std::string_view field :
       {"node", "subnet", "fixedIPv4", "fixedIPv6", "postCreateExec"}) {
    Json spec = json(R"({"node":"n","subnet":"s"})");
    spec.as_object()[field] = field == "postCreateExec" ? json(R"(["/x"])")
                              : field == "fixedIPv6"    ? Json("fd00::9")
                              : field == "fixedIPv4"    ? Json("10.0.0.9")
                                                        : Json("other");
    EXPECT_EQ(change(wire::encode_json(spec)).errors,
              Texts{"spec." + std::string(field) + ": Forbidden: field is immutable"});
  }
  const auto changed = change(R"({"node":"n","subnet":"s","postDeleteExec":["/x"]})");
  EXPECT_EQ(changed.errors, Texts{});
  EXPECT_EQ(wire::encode_json(*wire::find(changed.object, "extendedMetadata.writes")),
            R"([{"section":"spec","serverTime":"2024-05-01T12:34:56.000456Z"}])");
}

// Each part of the status has its own time.
TEST(NetworkAttachment, StatusSectionsAreStampedApart) {
  const Kind kind = network_attachment_kind();
  const Json old = write(kind, object_of(kind, R"({"spec":{"node":"n","subnet":"s"}})")).object;
  const auto stamped = [&](std::string_view status) {
    Json next = old;
    next.as_object()["status"] = json(status);
    const auto written = write(kind, next, &old, Write::update_status, kLater);
    EXPECT_EQ(written.errors, Texts{});
    Texts sections;
    for (const Json& one : wire::find(written.object, "extendedMetadata.writes")->as_array()) {
      if (wire::find_string(one, "serverTime") == kLater) {
        sections.emplace_back(wire::find_string(one, "section"));
      }
    }
    return sections;
  };
  EXPECT_EQ(stamped(R"({"ipv4":"10.0.0.5","addressVNI":7,"macAddress":"02:00:0a:00:00:05"})"),
            Texts{"status.address"});
  EXPECT_EQ(stamped(R"({"errors":{"ipam":["full"]}})"), Texts{"status.address"});
  EXPECT_EQ(stamped(R"({"ifcName":"fl0","hostIP":"192.0.2.1"})"), Texts{"status.impl"});
  EXPECT_EQ(stamped(R"({"errors":{"host":["no"]}})"), Texts{});
  EXPECT_EQ(stamped(R"({"postCreateExecReport":{"exitStatus":0}})"), Texts{"status.execReport"});
  EXPECT_EQ(stamped(R"({})"), Texts{});
}

// Addresses in status are addresses.
TEST(NetworkAttachment, StatusIsChecked) {
  const Kind kind = network_attachment_kind();
  const Json old = write(kind, object_of(kind, R"({"spec":{"node":"n","subnet":"s"}})")).object;
  const auto errors = [&](std::string_view status) {
    Json next = old;
    next.as_object()["status"] = json(status);
    return write(kind, next, &old, Write::update_status).errors.size();
  };
  EXPECT_EQ(errors(R"({"ipv4":"","macAddress":"","hostIP":""})"), 0u);
  EXPECT_EQ(errors(R"({"hostIP":"192.0.2.1"})") + errors(R"({"hostIP":"2001:db8::1"})"), 0u);
  for (const std::string_view bad :
       {R"({"ipv4":"x"})", R"({"ipv4":"fd00::1"})", R"({"ipv6":"10.0.0.1"})",
        R"({"macAddress":"02:00"})", R"({"hostIP":"h"})", R"({"hostIP":"224.0.0.1"})",
        R"({"hostIP":"255.255.255.255"})", R"({"hostIP":"0.0.0.0"})", R"({"hostIP":"127.0.0.1"})",
        R"({"hostIP":"ff02::1"})", R"({"hostIP":"::"})", R"({"hostIP":"::1"})",
        R"({"hostIP":"::ffff:224.0.0.1"})", R"({"hostIP":"fe80::1"})", R"({"addressVNI":16777216})",
        R"({"addressVNI":-1})", R"({"postCreateExecReport":{"startTime":"now"}})",
        R"({"errors":[]})"}) {
    EXPECT_EQ(errors(bad), 1u) << bad;
  }
}

// The state column tells how far an attachment has come.
TEST(NetworkAttachment, Columns) {
  const Kind kind = network_attachment_kind();
  const auto shown = [&](std::string_view status, bool wide) {
    return row(kind,
               object_of(kind, R"({"spec":{"node":"n","subnet":"s"},"status":)" +
                                   std::string(status) + "}"),
               wide);
  };
  EXPECT_EQ(shown("{}", false), "a|n|s|||Pending|<unknown>");
  EXPECT_EQ(shown(R"({"ipv4":"10.0.0.5"})", false), "a|n|s|10.0.0.5||Addressed|<unknown>");
  EXPECT_EQ(shown(R"({"errors":{"ipam":["full"]}})", false), "a|n|s|||Error|<unknown>");
  EXPECT_EQ(
      shown(
          R"({"ipv4":"10.0.0.5","ipv6":"fd00::5","macAddress":"02:00:0a:00:00:05","ifcName":"fl0","hostIP":"192.0.2.1"})",
          true),
      "a|n|s|10.0.0.5|fd00::5|Ready|<unknown>|02:00:0a:00:00:05|fl0|192.0.2.1|");
}

// A lock's name and its address are two spellings of one thing.
TEST(IPLock, NamesRoundTrip) {
  for (const auto& [vni, address, name] :
       {std::tuple{7u, "10.0.0.5", "v1-7-10-0-0-5"},
        std::tuple{16777215u, "255.255.255.254", "v1-16777215-255-255-255-254"},
        std::tuple{7u, "fd00::5", "v2-7-fd00-0-0-0-0-0-0-5"},
        std::tuple{1u, "2001:db8:1:2:3:4:5:ffff", "v2-1-2001-db8-1-2-3-4-5-ffff"}}) {
    const Ip ip = *Ip::parse(address);
    EXPECT_EQ(ip_lock_name(vni, ip), name);
    EXPECT_EQ(parse_ip_lock_name(name), (LockedAddress{vni, ip}));
  }
  for (const std::string_view bad :
       {"", "v1", "v1-", "v1-7", "v1-7-10-0-0", "v1-7-10-0-0-5-6", "v1-0-10-0-0-5",
        "v1-16777216-10-0-0-5", "v1-7-10-0-0-256", "v1-07-10-0-0-5", "v1-7-010-0-0-5",
        "v1--7-10-0-0-5", "v1-7-10-0-0-5 ", "v3-7-10-0-0-5", "v2-7-fd00-0-0-0-0-0-5",
        "v2-7-FD00-0-0-0-0-0-0-5", "v2-7-fd00-0-0-0-0-0-0-10000", "v2-7-fd00-00-0-0-0-0-0-5"}) {
    EXPECT_FALSE(parse_ip_lock_name(bad)) << bad;
  }
}

// A lock is named after an address, belongs to an attachment, and does not change hands.
TEST(IPLock, IsCheckedAndImmutable) {
  const Kind kind = ip_lock_kind();
  const auto lock = [&](std::string_view name, std::string_view uid, std::string_view subnet,
                        std::string_view owner = "NetworkAttachment") {
    return object_of(kind,
                     R"({"metadata":{"name":")" + std::string(name) +
                         R"(","ownerReferences":[{"apiVersion":"fairlead.dev/v1alpha1","kind":")" +
                         std::string(owner) + R"(","name":"at","uid":")" + std::string(uid) +
                         R"(","controller":true}]},"spec":{"subnetName":")" + std::string(subnet) +
                         R"("}})");
  };
  const auto created = write(kind, lock("v1-7-10-0-0-5", "u", "s"));
  EXPECT_EQ(created.errors, Texts{});
  EXPECT_EQ(
      write(kind, lock("v1-7-10-0-0-500", "u", "s")).errors,
      Texts{
          "metadata.name: Invalid value: \"v1-7-10-0-0-500\": must be v1-<VNI>-<a>-<b>-<c>-<d> or "
          "v2-<VNI>- and eight groups of hexadecimal digits"});
  EXPECT_EQ(
      write(kind, lock("v1-7-10-0-0-5", "u", "s", "Subnet")).errors,
      Texts{
          "metadata.ownerReferences: Required value: the NetworkAttachment that holds the address, "
          "with controller set"});
  EXPECT_EQ(
      write(kind,
            object_of(kind, R"({"metadata":{"name":"v1-7-10-0-0-5"},"spec":{"subnetName":"s"}})"))
          .errors.size(),
      1u);
  const Json& old = created.object;
  EXPECT_EQ(write(kind, lock("v1-7-10-0-0-5", "u", "s"), &old, Write::update).errors, Texts{});
  EXPECT_EQ(write(kind, lock("v1-7-10-0-0-5", "u", "t"), &old, Write::update).errors,
            Texts{"spec.subnetName: Forbidden: field is immutable"});
  EXPECT_EQ(write(kind, lock("v1-7-10-0-0-5", "w", "s"), &old, Write::update).errors,
            Texts{"metadata.ownerReferences: Forbidden: field is immutable"});
  EXPECT_EQ(row(kind, old, false), "v1-7-10-0-0-5|7|10.0.0.5|s|at|<unknown>");
}

// A report names virtual networks and versions, and nothing else.
TEST(NodeReport, IsChecked) {
  const Kind kind = node_report_kind();
  const auto errors = [&](std::string_view members) {
    return write(kind, object_of(kind, members)).errors;
  };
  const auto made = write(
      kind, object_of(kind, R"({"applied":{"7":"1024","16777215":"9"},"appliedElsewhere":"3"})"));
  EXPECT_EQ(made.errors, Texts{});
  EXPECT_EQ(row(kind, made.object, false), "a|2||<unknown>");
  EXPECT_EQ(errors("{}"), Texts{});
  for (const char* vni : {"0", "07", "-1", "x", "", "16777216"})
    EXPECT_EQ(errors(R"({"applied":{")" + std::string(vni) + R"(":"1"}})").size(), 1u) << vni;
  for (const char* version : {"0", "01", "x", "-4", "99999999999999999999"}) {
    EXPECT_EQ(errors(R"({"applied":{"7":")" + std::string(version) + R"("}})").size(), 1u);
    EXPECT_EQ(errors(R"({"appliedElsewhere":")" + std::string(version) + R"("})").size(), 1u);
    EXPECT_EQ(errors(R"({"appliedOwn":")" + std::string(version) + R"("})").size(), 1u);
  }
  EXPECT_FALSE(errors(R"({"applied":{"7":1}})").empty());
  EXPECT_FALSE(errors(R"({"applied":[]})").empty());
}

// Whatever a client sends, preparing it does not crash; the checks then refuse it.
TEST(FairleadKinds, MalformedObjectsAreRefused) {
  for (const Kind& kind : {subnet_kind(), network_attachment_kind(), ip_lock_kind()}) {
    for (const std::string_view members :
         {R"({"spec":[]})", R"({"spec":"x"})", R"({})", R"({"spec":null})",
          R"({"spec":{"vni":[]},"extendedMetadata":7})",
          R"({"spec":{"node":{},"subnet":[],"subnetName":1,"vni":"x"},"status":[]})"}) {
      EXPECT_FALSE(write(kind, object_of(kind, members)).errors.empty()) << kind.kind << members;
    }
  }
}

Moment at(int seconds) { return Moment(std::chrono::seconds(seconds)); }

Condition condition(const char* status, const char* reason) {
  return {.type = "Ready",
          .status = status,
          .observed_generation = 1,
          .last_transition_time = {},
          .reason = reason,
          .message = "m"};
}

// The cells of `kubectl get na`, by name.
std::map<std::string, std::string> cells(const Json& object) {
  std::map<std::string, std::string> shown;
  static const Kind kind = network_attachment_kind();
  for (const Column& column : kind.columns) {
    const Json cell = column.cell(object, at(0));
    shown[column.name + (column.priority > 0 ? "*" : "")] =
        cell.is_string() ? std::string(cell.get_string()) : "";
  }
  return shown;
}

// `kubectl get na` shows both addresses and, in one word, how far the attachment is; -o wide why it
// is no further.
TEST(Attachment, ColumnsTellItsState) {
  const Json six = JsonObject{{"status", JsonObject{{"ipv6", "fd00::5"}}}};
  EXPECT_EQ(cells(six).at("IPv6"), "fd00::5");
  EXPECT_EQ(cells(six).at("State"), "Addressed");
  Json object = six;
  set_condition(object, condition("True", "Implemented"), at(0));
  EXPECT_EQ(cells(object).at("State"), "Ready");
  EXPECT_EQ(cells(object).at("Message*"), "");
  set_condition(object, condition("Unknown", "AgentSilent"), at(0));
  EXPECT_EQ(cells(object).at("State"), "Silent");
  EXPECT_EQ(cells(object).at("Message*"), "m");
  Json hook = JsonObject{{"spec", JsonObject{{"postCreateExec", JsonArray{"/bin/hook"}}}},
                         {"status", JsonObject{{"ipv4", "10.0.0.5"}, {"ifcName", "f"}}}};
  EXPECT_EQ(cells(hook).at("State"), "Implemented");
  hook.at("status").get_object()["postCreateExecReport"] = JsonObject{{"exitStatus", 7}};
  EXPECT_EQ(cells(hook).at("State"), "Error");
  hook.at("status").get_object()["postCreateExecReport"] = JsonObject{{"exitStatus", 0}};
  EXPECT_EQ(cells(hook).at("State"), "Ready");
}

// A whole object carries its type out and refuses another's.
TEST(Describe, ObjectsCarryTheirType) {
  Subnet subnet;
  subnet.metadata.name = "a";
  subnet.metadata.namespace_ = "ns";
  subnet.spec.vni = 7;
  subnet.spec.ipv4 = "10.0.0.0/24";
  const Json encoded = encode(subnet);
  EXPECT_EQ(
      wire::encode_json(encoded),
      R"({"apiVersion":"fairlead.dev/v1alpha1","kind":"Subnet","metadata":{"name":"a","namespace":"ns"},)"
      R"("spec":{"vni":7,"ipv4":"10.0.0.0/24"}})");
  const auto back = decode<Subnet>(encoded);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->spec.vni, 7u);
  EXPECT_FALSE(decode<IPLock>(encoded));
  EXPECT_TRUE(decode<Subnet>(json(R"({"spec":{"vni":1}})")));
}

// Metadata a controller does not know about survives its read and write back.
TEST(Describe, MetadataSurvives) {
  const std::string_view text =
      R"({"apiVersion":"fairlead.dev/v1alpha1","kind":"NetworkAttachment","metadata":{"name":"a","namespace":"ns",)"
      R"("uid":"u","resourceVersion":"9","generation":2,"creationTimestamp":"2024-05-01T12:00:00Z",)"
      R"("labels":{"x":"y"},"annotations":{"p":"q"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"v","controller":false}],)"
      R"("finalizers":["a/b"],"managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}]},)"
      R"("extendedMetadata":{"writes":[{"section":"spec","serverTime":"2024-05-01T12:00:00.000001Z"}]},)"
      R"("spec":{"node":"n","subnet":"s"},"status":{"addressVNI":7,"ipv4":"10.0.0.5"}})";
  const auto attachment = decode<NetworkAttachment>(json(text));
  ASSERT_TRUE(attachment) << attachment.error().message;
  EXPECT_EQ(wire::encode_json(encode(*attachment)), text);
  EXPECT_EQ(attachment->extended_metadata.written("spec"),
            resource::testing::moment("2024-05-01T12:00:00.000001Z"));
  EXPECT_EQ(attachment->extended_metadata.written("status"), std::nullopt);
}

// What holds for every kind.
TEST(FairleadKinds, AreSound) {
  resource::testing::expect_sound_kinds(test_catalog());
  EXPECT_EQ(kinds().size(), 4u);
}

// Users make Subnets and NetworkAttachments; locks and reports are not in `kubectl get all`.
// Updates need a resourceVersion, and there is no strategic merge.
TEST(FairleadKinds, UpdateRules) {
  const std::set<std::string> made_by_users = {"Subnet", "NetworkAttachment"};
  for (const Kind& kind : kinds()) {
    const bool users = made_by_users.contains(kind.kind);
    const bool listed = std::ranges::find(kind.categories, "all") != kind.categories.end();
    EXPECT_EQ(listed, users) << kind.kind;
    EXPECT_EQ(kind.has_status, users) << kind.kind;
    EXPECT_EQ(kind.namespaced, kind.kind != "NodeReport") << kind.kind;
    EXPECT_FALSE(kind.create_on_update) << kind.kind;
    EXPECT_FALSE(kind.unconditional_update) << kind.kind;
    EXPECT_FALSE(kind.strategic_merge) << kind.kind;
    EXPECT_EQ(kind.time_to_live.count(), 0) << kind.kind;
    EXPECT_EQ(kind.qualified(), kind.plural + ".fairlead.dev");
  }
}

// They are in discovery and in both versions of OpenAPI.
TEST(FairleadKinds, AreDocumented) {
  std::vector<const Kind*> all;
  for (const auto& kind : test_catalog().kinds()) all.push_back(kind.get());
  const apimachinery::Discovery discovery(test_catalog(), {});
  EXPECT_NE(discovery.resources("fairlead.dev", "v1alpha1"), nullptr);
  for (const apimachinery::ServedResource& served : discovery.served())
    EXPECT_FALSE(served.singular.empty()) << served.plural;
  const apimachinery::OpenApiV3 v3(all);
  const Json v2 = apimachinery::make_openapi_v2(all);
  const auto* document = v3.document("apis/fairlead.dev/v1alpha1");
  ASSERT_NE(document, nullptr);
  for (const Kind& kind : kinds()) {
    const std::string model = apimachinery::model_name(kind);
    EXPECT_NE(document->body.find("\"" + model + "\""), std::string::npos) << model;
    EXPECT_TRUE(v2.at("definitions").as_object().contains(model)) << model;
  }
}

}  // namespace
}  // namespace fairlead::networks
