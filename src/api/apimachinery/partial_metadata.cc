#include "api/apimachinery/partial_metadata.h"

#include <fmt/format.h>

namespace fairlead::apimachinery {

Json make_partial_metadata(const Json& object, std::string_view meta_version) {
  const Json* metadata = wire::find(object, "metadata");
  JsonObject partial;
  partial["kind"] = "PartialObjectMetadata";
  partial["apiVersion"] = fmt::format("meta.k8s.io/{}", meta_version);
  partial["metadata"] = metadata ? *metadata : Json(JsonObject());
  return partial;
}

Json make_partial_metadata_list(std::span<const Json* const> objects, const ListMeta& list,
                                std::string_view meta_version) {
  JsonArray items;
  items.reserve(objects.size());
  for (const Json* object : objects) items.push_back(make_partial_metadata(*object, meta_version));
  JsonObject result;
  result["kind"] = "PartialObjectMetadataList";
  result["apiVersion"] = fmt::format("meta.k8s.io/{}", meta_version);
  result["metadata"] = list.to_json();
  result["items"] = std::move(items);
  return result;
}

}  // namespace fairlead::apimachinery
