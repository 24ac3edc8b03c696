// JSON Patch (RFC 6902) with the limits of kube-apiserver: 10,000 operations, 3 MiB of copies.
#pragma once

#include <cstddef>

#include "api/apimachinery/status.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

inline constexpr std::size_t kMaxJsonPatchOperations = 10'000;
inline constexpr std::size_t kMaxJsonPatchCopyBytes = 3 << 20;

// 400 for a patch that is not one, 413 for too many operations or too much copied, 422 when an
// operation or test fails. All operations or none.
Answer<Json> apply_json_patch(const Json& document, const Json& patch);

}  // namespace fairlead::apimachinery
