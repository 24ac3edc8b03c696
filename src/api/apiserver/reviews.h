// Reviews: questions about rights that are answered and never stored. `kubectl auth can-i` and
// `auth whoami` ask them; other servers delegate their own checks through them.
//
//   authorization.k8s.io/v1   SelfSubjectAccessReview, SubjectAccessReview,
//                             LocalSubjectAccessReview, SelfSubjectRulesReview
//   authentication.k8s.io/v1  TokenReview, SelfSubjectReview
#pragma once

#include <string_view>
#include <vector>

#include "api/apimachinery/openapi/discovery.h"
#include "api/apiserver/request.h"
#include "api/identity/authenticator.h"
#include "api/identity/authorizer.h"

namespace fairlead::apiserver {

std::vector<apimachinery::ServedResource> served_reviews();

class Reviews {
 public:
  Reviews(identity::Authenticator& authenticator, identity::Authorizer& authorizer)
      : authenticator_(authenticator), authorizer_(authorizer) {}

  static bool serves(const apimachinery::RequestInfo& info);
  // REQUIRES: serves(request.info).
  Task<Result<>> serve(Request& request, WallTime now);

 private:
  Task<apimachinery::Answer<Json>> answer(Request& request, const Json& review, WallTime now);
  Task<apimachinery::Answer<Json>> access(const identity::User& user, const Json& spec);
  Task<apimachinery::Answer<Json>> token(const Json& spec, WallTime now);

  identity::Authenticator& authenticator_;
  identity::Authorizer& authorizer_;
};

}  // namespace fairlead::apiserver
