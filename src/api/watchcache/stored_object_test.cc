#include "api/watchcache/stored_object.h"

#include <gtest/gtest.h>

#include "api/resource/test_kinds.h"

namespace fairlead::watchcache {
namespace {

const resource::Kind& parcels() {
  return *resource::test_catalog().find("fairlead.dev", "v1alpha1", "parcels");
}

Json parcel(std::string_view name) {
  return JsonObject{{"kind", "Parcel"},
                    {"spec", JsonObject{{"number", 7}, {"text", "x"}}},
                    {"metadata", JsonObject{{"name", name},
                                            {"namespace", "default"},
                                            {"uid", "u-1"},
                                            {"resourceVersion", "99"},
                                            {"labels", JsonObject{{"tier", "front"}, {"app", "x"}}},
                                            {"creationTimestamp", "2026-01-02T03:04:05Z"}}},
                    {"apiVersion", "fairlead.dev/v1alpha1"}};
}

// What is read back is what was stored, with the version of its place and without the client's.
TEST(StoredObject, RoundTripWithItsOwnVersion) {
  const Bytes stored = encode_stored(parcel("blue"));
  const store::Place place{5, 3};
  const ObjectRef object = decode_stored(parcels(), stored.view(), place).value();
  Json expected = parcel("blue");
  expected.at("metadata").get_object()["resourceVersion"] = std::to_string(5 * 1024 + 3);
  EXPECT_EQ(object->decode(), expected);
  EXPECT_EQ(object->json, served_text(stored, place));
  EXPECT_EQ(object->key(), "default/blue");
  EXPECT_EQ(object->uid, "u-1");
  EXPECT_EQ(object->created_at, 1767323045);
}

// Labels and selectable fields are at hand without decoding again.
TEST(StoredObject, SelectorsFindTheirValues) {
  const ObjectRef object =
      decode_stored(parcels(), encode_stored(parcel("blue")).view(), {1, 0}).value();
  EXPECT_EQ(object->label("tier"), "front");
  EXPECT_TRUE(object->has_label("app"));
  EXPECT_FALSE(object->has_label("other"));
  ASSERT_EQ(object->fields.size(), parcels().selectable.size());
  for (std::size_t i = 0; i < object->fields.size(); ++i)
    if (parcels().selectable[i] == "spec.number") EXPECT_EQ(object->fields[i], "7");
}

// A deletion shows the last content with the deletion's version, also when the number is longer.
TEST(StoredObject, AnotherVersionIsSplicedIn) {
  const ObjectRef object =
      decode_stored(parcels(), encode_stored(parcel("blue")).view(), {1, 0}).value();
  const auto later = wire::parse_json(with_version(*object, {1'000'000, 2}));
  ASSERT_TRUE(later);
  EXPECT_EQ(wire::find_string(later->value, "metadata.resourceVersion"), "1024000002");
  EXPECT_EQ(wire::find_string(later->value, "metadata.name"), "blue");
}

// Bytes that nobody stored are an error, never a crash.
TEST(StoredObject, ForeignBytesAreCorrupt) {
  const std::string good(encode_stored(parcel("blue")).view());
  std::vector<std::string> bad{"",
                               std::string(1, '\1'),
                               "\2" + good.substr(1),
                               "{}",
                               std::string("\1\xff\xff\xff\xff\xff\xff"),
                               std::string("\1\x05{}", 4),
                               good.substr(0, good.size() / 2)};
  for (const std::string& bytes : bad) {
    const auto decoded = decode_stored(parcels(), bytes, {1, 0});
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Code::corrupt);
  }
}

}  // namespace
}  // namespace fairlead::watchcache
