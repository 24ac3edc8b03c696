#include "api/apiserver/watch_frames.h"

#include <gtest/gtest.h>

#include "api/resource/test_kinds.h"
#include "foundation/base/encoding.h"

namespace fairlead::apiserver {
namespace {

const resource::Kind& parcels() {
  return *resource::test_catalog().find("fairlead.dev", "v1alpha1", "parcels");
}

// What the end of the initial events says: the bookmark's annotations.
Json annotations_of(apimachinery::Representation form, bool initial_end) {
  WatchFrames frames(parcels(), std::move(form), apimachinery::IncludeObject::metadata);
  const Bytes frame = frames.bookmark({7, 0}, initial_end, {});
  const auto parsed = wire::parse_json(frame.view());
  const Json* annotations = wire::find(parsed->value, "object.metadata.annotations");
  return annotations ? *annotations : Json();
}

std::string blueprint_in(const Json& annotations) {
  const Json* text =
      annotations.get_object().if_contains("kubernetes.io/initial-events-list-blueprint");
  if (!text) return "none";
  return *decode_base64(std::string_view(text->get_string()));
}

// client-go makes its list from an empty one in the form it asked for; without it, it lists again.
TEST(WatchFrames, TheEndOfInitialEventsBringsAnEmptyList) {
  EXPECT_TRUE(annotations_of({}, false).is_null());
  EXPECT_EQ(
      blueprint_in(annotations_of({}, true)),
      R"({"kind":"ParcelList","apiVersion":"fairlead.dev/v1alpha1","metadata":{},"items":[]})");
  apimachinery::Representation partial;
  partial.shape = apimachinery::Shape::partial_metadata;
  partial.meta_version = "v1";
  EXPECT_EQ(blueprint_in(annotations_of(partial, true)),
            R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",)"
            R"("metadata":{},"items":[]})");
}

}  // namespace
}  // namespace fairlead::apiserver
