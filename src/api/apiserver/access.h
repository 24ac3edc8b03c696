// Access: who asks, and whether they may. Every request is asked once, every open watch again and
// again (watch_right.h).
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

  // The user that the request speaks for, impersonation included. 401: nobody; 403: somebody who
  // may not speak for that user; 503: it could not be found out. `known`: whose credentials they
  // were found to be a moment ago, if that is known.
  Task<apimachinery::Answer<identity::UserRef>> identify(const runtime::PeerInfo& peer,
                                                         identity::HeaderFields headers,
                                                         identity::UserRef known = nullptr);

  // 403, for a stranger 401; 503: it could not be found out.
  Task<apimachinery::Answer<>> permit(const identity::Attributes& wanted);

  // Whether it is allowed, as far as is known without asking anybody.
  bool known_permitted(const identity::Attributes& wanted);

  // Whether a header has to do with who asks.
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
