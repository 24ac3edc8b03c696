// Strategic merge patch, driven by resource::Schema: lists with patch_merge merge by key (or as
// sets of primitives), everything else behaves as in a JSON merge patch. Directives: $patch
// (replace, delete, merge), $retainKeys, $deleteFromPrimitiveList/…, $setElementOrder/….
//
// Used for the core kinds (Kind::strategic_merge); others answer 415 before coming here.
#pragma once

#include "api/apimachinery/status.h"
#include "api/resource/schema/schema.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

// 400 when the patch contradicts the schema or its directives are malformed.
Answer<Json> apply_strategic_merge(const resource::Schema& schema, const Json& live,
                                   const Json& patch);

}  // namespace fairlead::apimachinery
