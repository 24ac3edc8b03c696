#include "api/apiserver/list_text.h"

#include <gtest/gtest.h>

#include "api/apimachinery/partial_metadata.h"
#include "api/resource/test_kinds.h"
#include "foundation/wire/yaml.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::Format;
using apimachinery::Representation;
using apimachinery::Shape;

const resource::Kind& config_maps() {
  return *resource::test_catalog().find("", "v1", "configmaps");
}

std::vector<watchcache::ObjectRef> some_objects(int count) {
  std::vector<watchcache::ObjectRef> objects;
  for (int i = 0; i < count; ++i) {
    const Json object = JsonObject{
        {"kind", "ConfigMap"},
        {"apiVersion", "v1"},
        {"metadata",
         JsonObject{
             {"name", "m" + std::to_string(i)}, {"namespace", "ns"}, {"uid", std::to_string(i)}}},
        {"data", JsonObject{{"text", "two\nlines: [] {}\n" + std::string(i * 10, '"')}}}};
    objects.push_back(watchcache::decode_stored(
                          config_maps(), watchcache::encode_stored(object).view(), {i + 1, 0})
                          .value());
  }
  return objects;
}

const apimachinery::ListMeta kMeta{
    .resource_version = "77", .continue_token = "go-on", .remaining = 3};

// The list as one value, encoded at once: what the pieces must add up to.
std::string whole(const std::vector<watchcache::ObjectRef>& objects, const Representation& form,
                  const apimachinery::TableOptions& options) {
  std::vector<Json> values;
  for (const auto& object : objects) values.push_back(object->decode());
  std::vector<const Json*> pointers;
  for (const Json& value : values) pointers.push_back(&value);
  Json list = JsonObject{{"kind", "ConfigMapList"},
                         {"apiVersion", "v1"},
                         {"metadata", kMeta.to_json()},
                         {"items", JsonArray(values.begin(), values.end())}};
  if (form.shape == Shape::table)
    list = apimachinery::make_table(config_maps(), pointers, kMeta, options);
  if (form.shape == Shape::partial_metadata_list)
    list = apimachinery::make_partial_metadata_list(pointers, kMeta, form.meta_version);
  if (form.format == Format::yaml) return wire::encode_yaml(list);
  return (form.pretty ? wire::encode_json_pretty(list) : wire::encode_json(list)) + "\n";
}

// In every form, of any length and cut anywhere, the pieces are the encoded list.
TEST(ListText, PiecesAreTheList) {
  for (const Shape shape : {Shape::object, Shape::table, Shape::partial_metadata_list})
    for (const int style : {0, 1, 2})
      for (const int count : {0, 1, 2, 30})
        for (const std::size_t enough : {1u, 300u, 1u << 20}) {
          const Representation form{.format = style == 2 ? Format::yaml : Format::json,
                                    .shape = shape,
                                    .meta_version = "v1",
                                    .pretty = style == 1};
          const apimachinery::TableOptions options{};
          const auto objects = some_objects(count);
          ListText text(config_maps(), objects, kMeta, form, options);
          std::string joined;
          for (std::string piece = text.next(enough); !piece.empty(); piece = text.next(enough)) {
            EXPECT_TRUE(text.ended() || piece.size() >= enough);
            joined.append(piece);
          }
          EXPECT_TRUE(text.ended());
          EXPECT_EQ(joined, whole(objects, form, options))
              << static_cast<int>(shape) << " " << style << " " << count << " " << enough;
        }
}

}  // namespace
}  // namespace fairlead::apiserver
