#include "api/resource/core/core_kinds.h"

#include <gtest/gtest.h>

#include "api/resource/kind_test_support.h"

namespace fairlead::resource {
namespace {

using testing::json;
using testing::object_of;
using testing::row;
using testing::Texts;
using testing::write;
using testing::Written;

struct Case {
  std::string_view members;
  Texts errors;
};

// Creates each object and compares what is wrong with it.
void expect_errors(const Kind& kind, std::initializer_list<Case> cases) {
  for (const auto& [members, errors] : cases) {
    EXPECT_EQ(write(kind, object_of(kind, members)).errors, errors) << kind.kind << members;
  }
}

std::string text_at_path(const Json& object, std::string_view path) {
  const Json* value = wire::find(object, path);
  return value ? wire::encode_json(*value) : "";
}

// A new namespace is active, held by its finalizer, and labelled with its name.
TEST(Namespace, IsPrepared) {
  const Kind kind = namespace_kind();
  const Json made = write(kind, object_of(kind, R"({"status":{"phase":"Terminating"}})")).object;
  EXPECT_EQ(text_at_path(made, "spec.finalizers"), R"(["kubernetes"])");
  EXPECT_EQ(text_at_path(made, "status"), R"({"phase":"Active"})");
  EXPECT_EQ(text_at_path(made, "metadata.labels"), R"({"kubernetes.io/metadata.name":"a"})");
  EXPECT_EQ(row(kind, made, true), "a|Active|<unknown>");

  const Json kept = write(kind, object_of(kind, R"({"spec":{"finalizers":["x/y"]}})")).object;
  EXPECT_EQ(text_at_path(kept, "spec.finalizers"), R"(["x/y","kubernetes"])");
}

// Only the finalize endpoint takes finalizers out; a deleted namespace is Terminating.
TEST(Namespace, FinalizersGoOnlyByFinalize) {
  const Kind kind = namespace_kind();
  const Json old = write(kind, object_of(kind, "{}")).object;
  const Json bare = object_of(kind, R"({"spec":{"finalizers":[]},"status":{}})");
  EXPECT_EQ(text_at_path(write(kind, bare, &old, Write::update).object, "spec.finalizers"),
            R"(["kubernetes"])");
  EXPECT_EQ(text_at_path(write(kind, bare, &old, Write::update).object, "status.phase"),
            R"("Active")");
  EXPECT_EQ(text_at_path(write(kind, bare, &old, Write::finalize).object, "spec.finalizers"), "[]");
  const Json deleted =
      object_of(kind, R"({"metadata":{"deletionTimestamp":"2024-05-01T12:00:00Z"}})");
  EXPECT_EQ(text_at_path(write(kind, deleted, &old, Write::update).object, "status.phase"),
            R"("Terminating")");
}

// Roles, readiness and addresses as kubectl shows them.
TEST(Node, Columns) {
  const Kind kind = node_kind();
  EXPECT_EQ(row(kind, object_of(kind, "{}"), false), "a|Unknown|<none>|<unknown>|");
  const Json node = object_of(
      kind,
      R"({"metadata":{"creationTimestamp":"2024-04-29T12:00:00Z","labels":{"node-role.kubernetes.io/worker":"",)"
      R"("node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"x"}},"spec":{"unschedulable":true},)"
      R"("status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"192.0.2.1"}],)"
      R"("nodeInfo":{"kubeletVersion":"v1","osImage":"Debian","kernelVersion":"6.1"}}})");
  EXPECT_EQ(row(kind, node, true),
            "a|Ready,SchedulingDisabled|control-plane,worker,x|2d|v1|192.0.2.1|<none>|Debian|6.1|<"
            "unknown>");
  EXPECT_EQ(selected_value(node, "spec.unschedulable"), "true");
  EXPECT_EQ(write(kind, node).errors, Texts{});
}

// A node registers with its status; afterwards each endpoint writes its own half.
TEST(Node, HalvesAreKeptApart) {
  const Kind kind = node_kind();
  const Json old =
      write(kind, object_of(kind, R"({"spec":{"podCIDR":"10.0.0.0/24"},"status":{"phase":"x"}})"))
          .object;
  EXPECT_EQ(text_at_path(old, "status.phase"), R"("x")");
  const Json next = object_of(kind, R"({"spec":{"podCIDR":"10.0.1.0/24"},"status":{"phase":"y"}})");
  const Json updated = write(kind, next, &old, Write::update).object;
  EXPECT_EQ(text_at_path(updated, "status.phase") + text_at_path(updated, "spec.podCIDR"),
            R"("x""10.0.1.0/24")");
  const Json reported = write(kind, next, &old, Write::update_status).object;
  EXPECT_EQ(text_at_path(reported, "status.phase") + text_at_path(reported, "spec.podCIDR"),
            R"("y""10.0.0.0/24")");
  EXPECT_EQ(
      write(kind, object_of(kind, R"({"spec":{"taints":[{"key":"k","effect":"X"}]}})")).errors,
      Texts{"spec.taints[0].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", "
            "\"PreferNoSchedule\", \"NoExecute\""});
}

// Keys, duplicates, size and the immutable flag.
TEST(ConfigMap, IsChecked) {
  const Kind kind = config_map_kind();
  expect_errors(
      kind,
      {{R"({"data":{"a":"1","b.c":"2"},"binaryData":{"d":"aGk="},"unknown":{"kept":1}})", {}},
       {R"({"data":{"a":"1"},"binaryData":{"a":"aGk="}})",
        {"data[a]: Invalid value: \"a\": duplicate of key present in binaryData"}},
       {R"({"binaryData":{"a":"aG\nk=\n"}})", {}},
       {R"({"binaryData":{"a":"?"}})", {"binaryData[a]: Invalid value: \"?\": must be base64"}},
       {R"({"data":{"a":1}})",
        {"data[a]: Invalid value: \"integer\": data[a] in body must be of type string: "
         "\"integer\""}}});
  EXPECT_EQ(write(kind, object_of(kind, R"({"data":{"a b":"1"}})")).errors.size(), 1u);
  EXPECT_EQ(write(kind, object_of(kind, R"({"binaryData":{"a b":""}})")).errors.size(), 1u);
  const std::string big = R"({"data":{"a":")" + std::string((1 << 20) + 1, 'x') + R"("}})";
  EXPECT_EQ(write(kind, object_of(kind, big)).errors,
            Texts{": Too long: must have at most 1048576 bytes"});

  const Json old = object_of(kind, R"({"data":{"a":"1"},"immutable":true})");
  const auto change = [&](std::string_view members) {
    return write(kind, object_of(kind, members), &old, Write::update).errors;
  };
  EXPECT_EQ(change(R"({"data":{"a":"1"},"immutable":true,"metadata":{"labels":{"x":"y"}}})"),
            Texts{});
  EXPECT_EQ(change(R"({"data":{"a":"2"},"immutable":true})"),
            Texts{"data: Forbidden: field is immutable when `immutable` is set"});
  EXPECT_EQ(change(R"({"data":{"a":"1"}})"),
            Texts{"immutable: Forbidden: field is immutable when `immutable` is set"});
  EXPECT_EQ(change(R"({"data":{"a":"1"},"binaryData":{"b":""},"immutable":true})"),
            Texts{"binaryData: Forbidden: field is immutable when `immutable` is set"});
  EXPECT_EQ(row(kind, old, false), "a|1|<unknown>");
}

// Fields a core kind does not declare are kept at every depth.
TEST(CoreKinds, UnknownFieldsAreKept) {
  for (const Kind& kind : {config_map_kind(), node_kind(), service_kind()}) {
    Json object =
        object_of(kind, R"({"novel":{"a":[1]},"spec":{"ports":[{"novel":1}],"novel":{"b":2}}})");
    EXPECT_EQ(unknown_fields(kind.schema, object, true), Texts{}) << kind.kind;
    EXPECT_EQ(text_at_path(object, "spec.novel.b"), "2");
    object.at("metadata").as_object()["bogus"] = 1;
    EXPECT_EQ(unknown_fields(kind.schema, object, true), Texts{"metadata.bogus"}) << kind.kind;
  }
}

// stringData becomes data and is not stored; the type defaults, is fixed, and may demand keys.
TEST(Secret, IsPreparedAndChecked) {
  const Kind kind = secret_kind();
  const Written made = write(
      kind, object_of(kind, R"({"data":{"a":"aGk=","b":"aGk="},"stringData":{"b":"new","c":""}})"));
  EXPECT_EQ(made.errors, Texts{});
  EXPECT_EQ(text_at_path(made.object, "data"), R"({"a":"aGk=","b":"bmV3","c":""})");
  EXPECT_EQ(text_at_path(made.object, "stringData"), "");
  EXPECT_EQ(text_at_path(made.object, "type"), R"("Opaque")");
  EXPECT_EQ(row(kind, made.object, false), "a|Opaque|3|<unknown>");
  const Written lines = write(kind, object_of(kind, R"({"data":{"a":"aG\nk=\r\n"}})"));
  EXPECT_EQ(lines.errors, Texts{});
  EXPECT_EQ(text_at_path(lines.object, "data"), R"({"a":"aGk="})");
  expect_errors(kind, {{R"({"data":{"a":"x"}})", {"data[a]: Invalid value: \"x\": must be base64"}},
                       {R"({"stringData":{"a":1}})",
                        {"stringData[a]: Invalid value: \"integer\": stringData[a] in body must be "
                         "of type string: \"integer\""}},
                       {R"({"stringData":[]})",
                        {"stringData: Invalid value: \"array\": stringData in body must be of type "
                         "object: \"array\""}},
                       {R"({"type":"kubernetes.io/tls","data":{"tls.crt":""}})",
                        {"data[tls.key]: Required value"}},
                       {R"({"type":"example.com/other"})", {}}});
  EXPECT_EQ(write(kind, object_of(kind, R"({"type":"x/y"})"), &made.object, Write::update).errors,
            Texts{"type: Invalid value: \"x/y\": field is immutable"});
}

// What a service does not say is filled in as Kubernetes fills it.
TEST(Service, Defaults) {
  const Kind kind = service_kind();
  const Json made =
      write(kind, object_of(kind, R"({"spec":{"ports":[{"port":80}]},"status":{"x":1}})")).object;
  EXPECT_EQ(
      text_at_path(made, "spec"),
      R"({"ports":[{"port":80,"protocol":"TCP","targetPort":80}],"type":"ClusterIP","sessionAffinity":"None",)"
      R"("internalTrafficPolicy":"Cluster"})");
  EXPECT_EQ(text_at_path(made, "status"), R"({"loadBalancer":{}})");
  const Json balanced =
      write(
          kind,
          object_of(kind, R"({"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP",)"
                          R"("clusterIP":"10.96.0.1","ports":[{"port":80,"targetPort":"web"}]}})"))
          .object;
  EXPECT_EQ(text_at_path(balanced, "spec.externalTrafficPolicy"), R"("Cluster")");
  EXPECT_EQ(text_at_path(balanced, "spec.allocateLoadBalancerNodePorts"), "true");
  EXPECT_EQ(text_at_path(balanced, "spec.clusterIPs"), R"(["10.96.0.1"])");
  EXPECT_EQ(text_at_path(balanced, "spec.sessionAffinityConfig"),
            R"({"clientIP":{"timeoutSeconds":10800}})");
  // An update that does not mention the address keeps it.
  const Written kept =
      write(kind, object_of(kind, R"({"spec":{"type":"LoadBalancer","ports":[{"port":81}]}})"),
            &balanced, Write::update);
  EXPECT_EQ(kept.errors, Texts{});
  EXPECT_EQ(text_at_path(kept.object, "spec.clusterIP"), R"("10.96.0.1")");
}

// The rules for ports, addresses, selectors and types.
TEST(Service, IsChecked) {
  expect_errors(
      service_kind(),
      {{R"({"spec":{}})", {"spec.ports: Required value"}},
       {R"({"spec":{"clusterIP":"None"}})", {}},
       {R"({"spec":{"type":"ExternalName","externalName":"example.com."}})", {}},
       {R"({"spec":{"type":"ExternalName"}})", {"spec.externalName: Required value"}},
       {R"({"spec":{"type":"Other","ports":[{"port":80}]}})",
        {"spec.type: Unsupported value: \"Other\": supported values: \"ClusterIP\", "
         "\"ExternalName\", \"LoadBalancer\", \"NodePort\""}},
       {R"({"spec":{"ports":[{"port":0}]}})",
        {"spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
         "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive"}},
       {R"({"spec":{"ports":[{"port":80,"targetPort":65536}]}})",
        {"spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive"}},
       {R"({"spec":{"ports":[{"port":80,"targetPort":"a--b"}]}})",
        {"spec.ports[0].targetPort: Invalid value: \"a--b\": must not contain consecutive "
         "hyphens"}},
       {R"({"spec":{"ports":[{"port":80,"nodePort":70000}]}})",
        {"spec.ports[0].nodePort: Invalid value: 70000: must be between 1 and 65535, inclusive"}},
       {R"({"spec":{"ports":[{"port":80,"protocol":"tcp"}]}})",
        {"spec.ports[0].protocol: Unsupported value: \"tcp\": supported values: \"TCP\", \"UDP\", "
         "\"SCTP\""}},
       {R"({"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":80}]}})",
        {"spec.ports[1]: Duplicate value: {\"port\":80,\"protocol\":\"TCP\"}"}},
       {R"({"spec":{"ports":[{"name":"a","port":80},{"name":"a","port":81}]}})",
        {"spec.ports[1].name: Duplicate value: \"a\""}},
       {R"({"spec":{"ports":[{"name":"a","port":80},{"port":81}]}})",
        {"spec.ports[1].name: Required value"}},
       {R"({"spec":{"clusterIP":"x","ports":[{"port":80}]}})",
        {"spec.clusterIP: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or "
         "2001:db8::ffff)"}},
       {R"({"spec":{"externalIPs":["1.2.3"],"ports":[{"port":80}]}})",
        {"spec.externalIPs[0]: Invalid value: \"1.2.3\": must be a valid IP address, (e.g. "
         "10.9.8.7 or 2001:db8::ffff)"}},
       {R"({"spec":{"loadBalancerSourceRanges":["1.2.3.4"],"ports":[{"port":80}]}})",
        {"spec.loadBalancerSourceRanges[0]: Invalid value: \"1.2.3.4\": must be a valid CIDR "
         "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"}},
       {R"({"spec":{"type":"LoadBalancer","clusterIP":"None","ports":[{"port":80}]}})",
        {"spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer "
         "services"}},
       {R"({"spec":{"selector":{"a/":"x"},"ports":[{"port":80}]}})",
        {"spec.selector: Invalid value: \"a/\": name part must be non-empty"}}});
  const Kind kind = service_kind();
  const Json old =
      write(kind, object_of(kind, R"({"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}})"))
          .object;
  EXPECT_EQ(
      write(kind, object_of(kind, R"({"spec":{"clusterIP":"10.96.0.2","ports":[{"port":80}]}})"),
            &old, Write::update)
          .errors,
      Texts{"spec.clusterIP: Invalid value: \"10.96.0.2\": field is immutable"});
  EXPECT_EQ(write(kind, object_of(kind, R"({"spec":{"type":"ExternalName","externalName":"x"}})"),
                  &old, Write::update)
                .errors,
            Texts{});
}

// The columns kubectl users know.
TEST(Service, Columns) {
  const Kind kind = service_kind();
  const auto shown = [&](std::string_view members) {
    return row(kind, object_of(kind, members), true);
  };
  EXPECT_EQ(shown("{}"), "a||<none>|<none>|<none>|<unknown>|<none>");
  EXPECT_EQ(
      shown(
          R"({"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.1","selector":{"b":"2","a":"1"},)"
          R"("ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}})"),
      "a|LoadBalancer|10.96.0.1|<pending>|80:30080/TCP,53/UDP|<unknown>|a=1,b=2");
  EXPECT_EQ(
      shown(
          R"({"spec":{"type":"LoadBalancer","externalIPs":["192.0.2.9"]},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"},{"hostname":"h"}]}}})"),
      "a|LoadBalancer|<none>|192.0.2.1,h,192.0.2.9|<none>|<unknown>|<none>");
  EXPECT_EQ(shown(R"({"spec":{"type":"ExternalName","externalName":"example.com"}})"),
            "a|ExternalName|<none>|example.com|<none>|<unknown>|<none>");
}

// Endpoints: addresses are needed, valid and reachable; ports are numbers.
TEST(Endpoints, AreCheckedAndShown) {
  const Kind kind = endpoints_kind();
  expect_errors(
      kind,
      {{"{}", {}},
       {R"({"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]})", {}},
       {R"({"subsets":[{}]})",
        {"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"}},
       {R"({"subsets":[{"addresses":[{"ip":"x"}]}]})",
        {"subsets[0].addresses[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. "
         "10.9.8.7 or 2001:db8::ffff)"}},
       {R"({"subsets":[{"notReadyAddresses":[{"ip":"127.0.0.1"}]}]})",
        {"subsets[0].notReadyAddresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the "
         "loopback or multicast range"}},
       {R"({"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"a","port":1},{"port":70000}]}]})",
        {"subsets[0].ports[1].name: Required value",
         "subsets[0].ports[1].port: Invalid value: 70000: must be between 1 and 65535, "
         "inclusive"}}});
  EXPECT_EQ(row(kind, object_of(kind, "{}"), false), "a|<none>|<unknown>");
  EXPECT_EQ(
      row(kind,
          object_of(
              kind,
              R"({"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}],"ports":[{"port":80},{"port":81}]}]})"),
          false),
      "a|10.0.0.1:80,10.0.0.1:81,[fd00::1]:80 + 1 more...|<unknown>");
}

// EndpointSlices: addresses match the type, which is fixed.
TEST(EndpointSlice, IsCheckedAndShown) {
  const Kind kind = endpoint_slice_kind();
  expect_errors(
      kind,
      {{R"({"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":80}]})",
        {}},
       {R"({"addressType":"FQDN","endpoints":[{"addresses":["example.com"]}]})", {}},
       {R"({})", {"addressType: Required value"}},
       {R"({"addressType":"X"})",
        {"addressType: Unsupported value: \"X\": supported values: \"FQDN\", \"IPv4\", \"IPv6\""}},
       {R"({"addressType":"IPv4","endpoints":[{"addresses":[]}]})",
        {"endpoints[0].addresses: Required value: must contain at least 1 address"}},
       {R"({"addressType":"IPv4","endpoints":[{"addresses":["fd00::1"]}]})",
        {"endpoints[0].addresses[0]: Invalid value: \"fd00::1\": must be a valid IPv4 address"}},
       {R"({"addressType":"IPv6","endpoints":[{"addresses":["::1"]}]})",
        {"endpoints[0].addresses[0]: Invalid value: \"::1\": may not be in the loopback or "
         "multicast range"}},
       {R"({"addressType":"IPv4","ports":[{"port":1},{"port":2}]})",
        {"ports[1].name: Duplicate value: \"\""}},
       {R"({"addressType":"IPv4","ports":[{"port":-1}]})",
        {"ports[0].port: Invalid value: -1: must be between 1 and 65535, inclusive"}}});
  const Json old = object_of(
      kind,
      R"({"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1","10.0.0.2"]},{"addresses":["10.0.0.3","10.0.0.4"]}],"ports":[{}]})");
  EXPECT_EQ(write(kind, object_of(kind, R"({"addressType":"IPv6"})"), &old, Write::update).errors,
            Texts{"addressType: Invalid value: \"IPv6\": field is immutable"});
  EXPECT_EQ(row(kind, old, false), "a|IPv4|*|10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...|<unknown>");
  EXPECT_EQ(row(kind, object_of(kind, "{}"), false), "a||<unset>|<unset>|<unknown>");
}

// Leases: durations make sense, times have microseconds.
TEST(Lease, IsChecked) {
  const Kind kind = lease_kind();
  expect_errors(
      kind,
      {{R"({"spec":{"holderIdentity":"h","leaseDurationSeconds":15,"renewTime":"2024-05-01T12:00:00.000000Z"}})",
        {}},
       {R"({"spec":{"leaseDurationSeconds":0}})",
        {"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"}},
       {R"({"spec":{"leaseTransitions":-1}})",
        {"spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"}},
       {R"({"spec":{"renewTime":"x"}})",
        {"spec.renewTime: Invalid value: \"x\": must be an RFC 3339 time, (e.g. "
         "2006-01-02T15:04:05Z)"}}});
  EXPECT_EQ(row(kind, object_of(kind, R"({"spec":{"holderIdentity":"h"}})"), false),
            "a|h|<unknown>");
}

// Events belong to the namespace of what they are about; the table tells when, what and why.
TEST(Event, IsCheckedAndShown) {
  const Kind kind = event_kind();
  expect_errors(
      kind,
      {{R"({"involvedObject":{"kind":"Pod","name":"p","namespace":"ns"}})", {}},
       {R"({"involvedObject":{"kind":"Pod","name":"p","namespace":"other"}})",
        {"involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"}},
       {R"({"involvedObject":{"kind":"Node","name":"n"}})",
        {"involvedObject.namespace: Invalid value: \"\": does not match event.namespace"}},
       {R"({"metadata":{"namespace":"default"},"involvedObject":{"kind":"Node","name":"n"}})", {}},
       {"{}", {"involvedObject: Required value"}}});
  const Json event = object_of(
      kind,
      R"({"involvedObject":{"kind":"Parcel","name":"s","namespace":"ns","fieldPath":"spec"},"type":"Warning","reason":"R",)"
      R"("message":" text \n","firstTimestamp":"2024-05-01T11:00:00Z","lastTimestamp":"2024-05-01T11:55:00Z","count":3,)"
      R"("source":{"component":"c","host":"h"}})");
  EXPECT_EQ(row(kind, event, false), "5m|Warning|R|parcel/s|text");
  EXPECT_EQ(row(kind, event, true), "5m|Warning|R|parcel/s|spec|c, h|text|60m|3|a");
  EXPECT_EQ(selected_value(event, "source"), "c");
  EXPECT_EQ(selected_value(event, "involvedObject.name"), "s");
  const Json series = object_of(
      kind,
      R"({"eventTime":"2024-05-01T11:00:00.000000Z","series":{"count":7,"lastObservedTime":"2024-05-01T11:59:30.000000Z"}})");
  EXPECT_EQ(row(kind, series, true),
            "30s||||||"
            "|60m|7|a");
}

// A network's configuration is JSON.
TEST(NetworkAttachmentDefinition, ConfigIsJson) {
  const Kind kind = network_attachment_definition_kind();
  expect_errors(kind,
                {{R"({"spec":{"config":"{\"cniVersion\":\"1.0.0\"}"}})", {}},
                 {R"({"spec":{}})", {}},
                 {R"({"spec":{"config":"{"}})",
                  {"spec.config: Invalid value: \"{\": must be a CNI configuration in JSON"}}});
}

}  // namespace
}  // namespace fairlead::resource
