#include "api/resource/schema/schema.h"

#include <algorithm>

namespace fairlead::resource {

const Field* Schema::find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace fairlead::resource
