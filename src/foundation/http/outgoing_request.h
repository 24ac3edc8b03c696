// A request to be sent: validated once, with a shared body, so that it can be sent again if the
// server certainly did not process it. Internal to http/.
#pragma once

#include <string>

#include "foundation/base/bytes.h"
#include "foundation/base/result.h"
#include "foundation/http/message.h"

namespace fairlead::http {

struct OutgoingRequest {
  Request head;  // its body has moved to `body`; its authority is never empty
  Bytes body;
  bool more_body = false;  // write() follows
  bool tls = false;        // the scheme HTTP/2 names

  // Whether to send Content-Length: there is a body, or the method usually has one.
  bool has_length() const {
    return !more_body && (!body.empty() || head.method == "POST" || head.method == "PUT" ||
                          head.method == "PATCH");
  }
};

// Fails with invalid on a method, target or header that cannot be sent.
Result<OutgoingRequest> make_outgoing(Request request, bool more_body, bool tls,
                                      const std::string& default_authority);

}  // namespace fairlead::http
