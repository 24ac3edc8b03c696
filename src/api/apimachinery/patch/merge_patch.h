// JSON Merge Patch (RFC 7386).
#pragma once

#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

// null removes, objects merge, everything else replaces.
void apply_merge_patch(Json& target, const Json& patch);

// The smallest merge patch that turns `from` into `to`; an empty object when they are equal.
// REQUIRES: both are objects. A null inside `to` cannot be expressed and reads as absent.
Json make_merge_patch(const Json& from, const Json& to);

}  // namespace fairlead::apimachinery
