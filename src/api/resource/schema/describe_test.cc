#include "api/resource/schema/describe.h"

#include <gtest/gtest.h>

#include "api/resource/kind_test_support.h"
#include "api/resource/test_kinds.h"

namespace fairlead::resource {
namespace {

using testing::json;

struct Inner {
  std::string text;
  template <class V>
  static void describe(V& v) {
    v.field("text", &Inner::text).required().description("A text.");
  }
};

struct Sample {
  std::int32_t small = 0;
  std::uint32_t natural = 0;
  std::optional<std::int64_t> maybe;
  bool flag = false;
  double ratio = 0;
  std::vector<Inner> list;
  std::map<std::string, std::string> map;
  std::optional<Time> time;
  std::optional<MicroTime> micro;
  Inner inner;
  Json raw;

  template <class V>
  static void describe(V& v) {
    v.field("small", &Sample::small).minimum(-5).maximum(5).immutable();
    v.field("natural", &Sample::natural);
    v.field("maybe", &Sample::maybe);
    v.field("flag", &Sample::flag).default_value(true);
    v.field("ratio", &Sample::ratio);
    v.field("list", &Sample::list).keyed_by({"text"}).patch_merge("text").max_length(3);
    v.field("map", &Sample::map).atomic();
    v.field("time", &Sample::time);
    v.field("micro", &Sample::micro);
    v.field("inner", &Sample::inner);
    v.field("raw", &Sample::raw);
  }
};

// The description becomes a schema with types, formats and rules.
TEST(Describe, MakesASchema) {
  const Schema schema = schema_of<Sample>();
  const Field* small = schema.find("small");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->schema.type, Schema::Type::integer);
  EXPECT_EQ(small->schema.format, "int32");
  EXPECT_EQ(small->schema.minimum, -5);
  EXPECT_TRUE(small->immutable);
  EXPECT_EQ(schema.find("natural")->schema.minimum, 0);
  EXPECT_EQ(schema.find("natural")->schema.format, "int64");
  EXPECT_EQ(schema.find("flag")->schema.default_value, Json(true));
  EXPECT_EQ(schema.find("time")->schema.format, "date-time");
  EXPECT_EQ(schema.find("micro")->schema.format, "micro-time");
  const Schema& list = schema.find("list")->schema;
  EXPECT_EQ(list.list_type, Schema::ListType::map);
  EXPECT_EQ(list.map_keys, std::vector<std::string>{"text"});
  EXPECT_TRUE(list.items->find("text")->required);
  EXPECT_EQ(schema.find("map")->schema.values->type, Schema::Type::string);
  EXPECT_EQ(schema.find("nothing"), nullptr);
}

// What is decoded encodes to the same JSON; what is empty is left out, what is optional and zero is
// not.
TEST(Describe, RoundTrips) {
  const std::string_view full =
      R"({"small":-5,"natural":4294967295,"maybe":0,"flag":true,"ratio":0.5,"list":[{"text":"a"},{}],)"
      R"("map":{"k":"v"},"time":"2024-05-01T12:00:00Z","micro":"2024-05-01T12:00:00.000123Z",)"
      R"("inner":{"text":"b"},"raw":{"any":[1]}})";
  const auto sample = decode<Sample>(json(full));
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->natural, 4294967295u);
  EXPECT_EQ(sample->maybe, 0);
  EXPECT_EQ(wire::encode_json(encode(*sample)), full);
  EXPECT_EQ(wire::encode_json(encode(Sample{})), "{}");
  const auto null = decode<Sample>(json(R"({"small":null,"list":null,"unknown":1})"));
  ASSERT_TRUE(null);
  EXPECT_EQ(wire::encode_json(encode(*null)), "{}");
}

// Members of the wrong type are all reported, by path.
TEST(Describe, ReportsWrongTypes) {
  const auto sample = decode<Sample>(json(
      R"({"small":2147483648,"natural":-1,"flag":"x","list":[{"text":1}],"map":{"k":2},"time":"x","inner":[]})"));
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().code, Code::invalid);
  EXPECT_EQ(sample.error().message,
            "[small: Invalid value: 2147483648: must be of type integer, "
            "natural: Invalid value: -1: must be of type integer, "
            "flag: Invalid value: \"x\": must be of type boolean, "
            "list[0].text: Invalid value: 1: must be of type string, "
            "map.k: Invalid value: 2: must be of type string, "
            "time: Invalid value: \"x\": must be of type date-time, "
            "inner: Invalid value: []: must be of type object]");
  EXPECT_FALSE(decode<Sample>(Json("text")));
}

// A whole object carries its type out and refuses another's.
TEST(Describe, ObjectsCarryTheirType) {
  Parcel parcel;
  parcel.metadata.name = "a";
  parcel.metadata.namespace_ = "ns";
  parcel.spec.number = 7;
  parcel.spec.text = "x";
  const Json encoded = encode(parcel);
  EXPECT_EQ(
      wire::encode_json(encoded),
      R"({"apiVersion":"fairlead.dev/v1alpha1","kind":"Parcel","metadata":{"name":"a","namespace":"ns"},)"
      R"("spec":{"number":7,"text":"x"}})");
  const auto back = decode<Parcel>(encoded);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->spec.number, 7u);
  EXPECT_FALSE(decode<Mooring>(encoded));
  EXPECT_TRUE(decode<Parcel>(json(R"({"spec":{"number":1}})")));
}

// Metadata a controller does not know about survives its read and write back.
TEST(Describe, MetadataSurvives) {
  const std::string_view text =
      R"({"apiVersion":"fairlead.dev/v1alpha1","kind":"Mooring","metadata":{"name":"a","namespace":"ns",)"
      R"("uid":"u","resourceVersion":"9","generation":2,"creationTimestamp":"2024-05-01T12:00:00Z",)"
      R"("labels":{"x":"y"},"annotations":{"p":"q"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"v","controller":false}],)"
      R"("finalizers":["a/b"],"managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}]},)"
      R"("extendedMetadata":{"writes":[{"section":"spec","serverTime":"2024-05-01T12:00:00.000001Z"}]},)"
      R"("spec":{"node":"n"},"status":{"channel":7,"line":"x"}})";
  const auto mooring = decode<Mooring>(json(text));
  ASSERT_TRUE(mooring) << mooring.error().message;
  EXPECT_EQ(wire::encode_json(encode(*mooring)), text);
  EXPECT_EQ(mooring->extended_metadata.written("spec"),
            testing::moment("2024-05-01T12:00:00.000001Z"));
  EXPECT_EQ(mooring->extended_metadata.written("status"), std::nullopt);
}

}  // namespace
}  // namespace fairlead::resource
