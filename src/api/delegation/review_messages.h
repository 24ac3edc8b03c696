// TokenReview and SubjectAccessReview: what is sent to the host cluster and what its answers mean.
// Pure.
#pragma once

#include <string_view>

#include "api/identity/authorizer.h"
#include "api/identity/digest.h"
#include "api/identity/user.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::delegation {

inline constexpr std::string_view kTokenReviewPath = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr std::string_view kAccessReviewPath =
    "/apis/authorization.k8s.io/v1/subjectaccessreviews";

// With an audience: is the token for it? Without: for the cluster's own API.
Json encode_token_review(std::string_view token, std::string_view audience = {});
// The user it proves; null when the token proves nobody. Fails with corrupt when it is no review.
Result<identity::UserRef> decode_token_review(const Json& review);

// As a kube-apiserver would ask about a request of its own: the name of an object that is to be
// created counts for nothing there.
Json encode_access_review(const identity::Attributes& wanted);
Result<identity::Decision> decode_access_review(const Json& review);
// The same for what encode_access_review() writes the same, and for nothing else.
identity::Digest access_key(const identity::Attributes& wanted);

}  // namespace fairlead::delegation
