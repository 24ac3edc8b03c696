#include "api/apiserver/watch_frames.h"

#include "api/apimachinery/partial_metadata.h"
#include "foundation/base/encoding.h"

namespace fairlead::apiserver {
namespace {

Bytes frame(std::string_view type, std::string_view object) {
  std::string text;
  text.reserve(object.size() + 40);
  text.append("{\"type\":\"").append(type).append("\",\"object\":");
  text.append(object).append("}\n");
  return Bytes(std::move(text));
}

}  // namespace

Json WatchFrames::shaped(Json object, resource::Moment now) {
  if (plain()) return object;
  if (form_.shape != apimachinery::Shape::table)
    return apimachinery::make_partial_metadata(object, form_.meta_version);
  const Json* const objects[] = {&object};
  const apimachinery::ListMeta meta{
      .resource_version = std::string(wire::find_string(object, "metadata.resourceVersion")),
      .continue_token = {},
      .remaining = {}};
  return apimachinery::make_table(kind_, objects, meta,
                                  {.meta_version = form_.meta_version,
                                   .include = include_,
                                   .column_definitions = !std::exchange(columns_sent_, true),
                                   .now = now});
}

Bytes WatchFrames::event(watchcache::EventType type, const watchcache::Event& event,
                         resource::Moment now) {
  if (shared()) return event.frame(type);
  const Json value = shaped(kind_.shown(event.shown(type)->decode()), now);
  return frame(watchcache::event_type_name(type), wire::encode_json(value));
}

Bytes WatchFrames::initial(const watchcache::ObjectRef& object, resource::Moment now) {
  if (shared()) return frame("ADDED", object->json);
  return frame("ADDED", wire::encode_json(shaped(kind_.shown(object->decode()), now)));
}

std::size_t WatchFrames::most_bytes(const watchcache::Object& object) const {
  constexpr std::size_t kFrame = 64;
  constexpr std::size_t kTable = 4 << 10;  // the definitions of columns above all
  return object.json.size() + (shared() ? kFrame : kTable);
}

std::string WatchFrames::empty_list() const {
  const bool whole = plain() || form_.shape == apimachinery::Shape::table;
  return wire::encode_json(
      JsonObject{{"kind", whole ? kind_.list_kind() : "PartialObjectMetadataList"},
                 {"apiVersion", whole ? kind_.api_version() : "meta.k8s.io/" + form_.meta_version},
                 {"metadata", JsonObject{}},
                 {"items", JsonArray{}}});
}

Bytes WatchFrames::bookmark(store::Place place, bool initial_end, resource::Moment now) {
  JsonObject metadata{{"resourceVersion", std::to_string(place.number())},
                      {"creationTimestamp", nullptr}};
  if (initial_end)
    metadata["annotations"] =
        JsonObject{{"k8s.io/initial-events-end", "true"},
                   {"kubernetes.io/initial-events-list-blueprint", encode_base64(empty_list())}};
  Json object = JsonObject{
      {"kind", kind_.kind}, {"apiVersion", kind_.api_version()}, {"metadata", std::move(metadata)}};
  return frame("BOOKMARK", wire::encode_json(shaped(std::move(object), now)));
}

Bytes WatchFrames::error(const apimachinery::Status& status) const {
  return frame("ERROR", wire::encode_json(status.to_json()));
}

}  // namespace fairlead::apiserver
