// Reviews: kinds that are answered and never stored. Described like the others, for discovery,
// OpenAPI and `kubectl explain`; api/apiserver/reviews.h answers them.
#pragma once

#include "api/resource/catalog.h"

namespace fairlead::resource {

// authorization.k8s.io/v1 and authentication.k8s.io/v1.
const Catalog& review_catalog();

}  // namespace fairlead::resource
