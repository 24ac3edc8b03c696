// PartialObjectMetadata and its list: objects reduced to their metadata.
#pragma once

#include <span>
#include <string_view>

#include "api/apimachinery/table.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

// `meta_version` is "v1" or "v1beta1" of meta.k8s.io.
Json make_partial_metadata(const Json& object, std::string_view meta_version = "v1");
Json make_partial_metadata_list(std::span<const Json* const> objects, const ListMeta& list,
                                std::string_view meta_version = "v1");

}  // namespace fairlead::apimachinery
