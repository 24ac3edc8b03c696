// The rules for Services that their schema cannot say.
#pragma once

#include "api/resource/kind.h"

namespace fairlead::resource {

FieldErrors validate_service(const Json& object, const Json* old, Write write);

}  // namespace fairlead::resource
