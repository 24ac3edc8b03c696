// What Fairlead's own kinds have in common.
#pragma once

#include <string>
#include <vector>

#include "api/resource/extended_metadata.h"
#include "api/resource/kind.h"
#include "api/resource/metadata.h"
#include "api/resource/schema/describe.h"

namespace fairlead::resource {

// A namespaced kind of group fairlead.dev with the given schema and section times; updates of the
// object need a resourceVersion, updates of the status do not.
Kind fairlead_kind(std::string kind, std::string plural, std::string singular,
                   std::string short_name, Schema schema, std::vector<Section> sections);

}  // namespace fairlead::resource
