#include "foundation/http/outgoing_request.h"

#include <utility>

#include "foundation/wire/http1.h"

namespace fairlead::http {

Result<OutgoingRequest> make_outgoing(Request request, bool more_body, bool tls,
                                      const std::string& default_authority) {
  namespace http1 = wire::http1;
  if (!http1::is_token(request.method)) return fail(Code::invalid, "malformed method");
  if (!http1::is_target(request.target) || (request.target[0] != '/' && request.target != "*"))
    return fail(Code::invalid, "malformed target");
  if (request.authority.empty()) request.authority = default_authority;
  if (!http1::is_target(request.authority)) return fail(Code::invalid, "malformed authority");
  for (const auto& [name, value] : request.headers)
    if (!http1::is_token(name) || !http1::is_field_value(value))
      return fail(Code::invalid, "malformed header");
  OutgoingRequest outgoing;
  outgoing.body = Bytes(std::exchange(request.body, {}));
  outgoing.head = std::move(request);
  outgoing.more_body = more_body;
  outgoing.tls = tls;
  return outgoing;
}

}  // namespace fairlead::http
