// From list options to the watch cache's Selection.
#pragma once

#include <string_view>

#include "api/apimachinery/request/list_options.h"
#include "api/resource/kind.h"
#include "api/watchcache/subscriber_index.h"

namespace fairlead::apiserver {

// REQUIRES: the field selector was checked against the kind. `name` restricts to one object; empty:
// any.
watchcache::Selection make_selection(const resource::Kind& kind, std::string_view namespace_name,
                                     std::string_view name,
                                     const apimachinery::ListOptions& options);

}  // namespace fairlead::apiserver
