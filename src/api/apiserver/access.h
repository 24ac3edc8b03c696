// Access: authentication (impersonation included) and authorisation. Every request is checked once,
// every open watch again and again (watch_right.h).
#pragma once

#include "api/apimachinery/status.h"
#include "api/identity/authenticator.h"
#include "api/identity/authorizer.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

class Access {
 public:
  Access(runtime::Runtime& runtime, identity::Authenticator& authenticator,
         identity::Authorizer& authorizer)
      : runtime_(runtime), authenticator_(authenticator), authorizer_(authorizer) {}

  // The user of the request; of an impersonating request, the impersonated one. 401: the
  // credentials are wrong; 403: the user may not impersonate that one; 503: the authenticator
  // could not be reached. `known`: the user that the credentials were just found to be of, if any.
  Task<apimachinery::Answer<identity::UserRef>> identify(const runtime::PeerInfo& peer,
                                                         identity::HeaderFields headers,
                                                         identity::UserRef known = nullptr);

  // 403 when it is forbidden, 401 for an anonymous user; 503: the authorizer could not be reached.
  Task<apimachinery::Answer<>> permit(const identity::Attributes& wanted);

  // The answer as far as it is known without asking another server.
  bool known_permitted(const identity::Attributes& wanted);

  // Whether authentication or impersonation reads this header.
  bool looks_at(std::string_view header) const;

  runtime::Runtime& runtime() { return runtime_; }

 private:
  Task<apimachinery::Answer<identity::UserRef>> impersonate(identity::UserRef caller,
                                                            identity::HeaderFields headers);

  runtime::Runtime& runtime_;
  identity::Authenticator& authenticator_;
  identity::Authorizer& authorizer_;
};

}  // namespace fairlead::apiserver
