#include "api/apimachinery/kube_protobuf.h"

#include <gtest/gtest.h>

#include <string>

#include "foundation/wire/protobuf.h"

namespace fairlead::apimachinery {
namespace {

using wire::ProtoWriter;

// A body as a typed client sends it: magic, envelope, message.
std::string body_of(std::string_view api_version, std::string_view kind, std::string_view raw) {
  std::string bytes("k8s\0", 4);
  ProtoWriter writer(bytes);
  writer.message(1, [&](ProtoWriter& type) {
    type.bytes(1, api_version);
    type.bytes(2, kind);
  });
  writer.present_bytes(2, raw);
  return bytes;
}

std::string config_map() {
  std::string raw;
  ProtoWriter writer(raw);
  writer.message(1, [](ProtoWriter& metadata) {
    metadata.bytes(1, "settings");
    metadata.present_bytes(2, "");  // generateName, empty: absent in JSON
    metadata.present_bytes(8, "");  // creationTimestamp, empty: no time
    metadata.message(11, [](ProtoWriter& entry) {
      entry.bytes(1, "tier");
      entry.bytes(2, "front");
    });
  });
  writer.message(2, [](ProtoWriter& entry) {
    entry.bytes(1, "colour");
    entry.present_bytes(2, "");
  });
  writer.message(3, [](ProtoWriter& entry) {
    entry.bytes(1, "blob");
    entry.bytes(2, std::string("\0\1", 2));
  });
  writer.present_signed_number(4, 0);  // immutable: a pointer, so false is a value
  return raw;
}

// Texts, maps, bytes and pointers arrive as the JSON that the same client would have sent.
TEST(KubeProtobuf, ReadsAConfigMap) {
  const Json object = decode_kube_protobuf(body_of("v1", "ConfigMap", config_map())).value();
  const Json expected = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", JsonObject{{"name", "settings"}, {"labels", JsonObject{{"tier", "front"}}}}},
      {"data", JsonObject{{"colour", ""}}},
      {"binaryData", JsonObject{{"blob", "AAE="}}},
      {"immutable", false}};
  EXPECT_EQ(object, expected);
}

// Ports may be numbers or names; times are written as RFC 3339.
TEST(KubeProtobuf, ReadsNumbersNamesAndTimes) {
  std::string raw;
  ProtoWriter writer(raw);
  writer.message(1, [](ProtoWriter& metadata) {
    metadata.message(9, [](ProtoWriter& time) { time.signed_number(1, 1'700'000'000); });
  });
  writer.message(2, [](ProtoWriter& spec) {
    spec.message(1, [](ProtoWriter& port) {
      port.signed_number(3, 80);
      port.message(4, [](ProtoWriter& target) {
        target.signed_number(1, 1);
        target.bytes(3, "http");
      });
    });
  });
  const Json object = decode_kube_protobuf(body_of("v1", "Service", raw)).value();
  EXPECT_EQ(wire::find_string(object, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
  const Json& port = wire::find(object, "spec.ports")->get_array().at(0);
  EXPECT_EQ(port, Json(JsonObject{{"port", 80}, {"targetPort", "http"}}));
}

// Kinds that are not known this way are told to come as JSON; broken bytes and bad UTF-8 are
// refused.
TEST(KubeProtobuf, RefusesWhatItCannotRead) {
  EXPECT_EQ(decode_kube_protobuf(body_of("v1", "Pod", "")).error().code, Code::unsupported);
  EXPECT_EQ(decode_kube_protobuf("").error().code, Code::invalid);
  EXPECT_EQ(decode_kube_protobuf("k8s").error().code, Code::invalid);
  EXPECT_EQ(decode_kube_protobuf(body_of("v1", "ConfigMap", "\x0a\xff")).error().code,
            Code::invalid);
  std::string raw;
  ProtoWriter writer(raw);
  writer.message(1, [](ProtoWriter& metadata) { metadata.bytes(1, "\xff\xfe"); });
  EXPECT_EQ(decode_kube_protobuf(body_of("v1", "ConfigMap", raw)).error().code, Code::invalid);
  const std::string whole = body_of("v1", "ConfigMap", config_map());
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    (void)decode_kube_protobuf(std::string_view(whole).substr(0, cut));
}

}  // namespace
}  // namespace fairlead::apimachinery
