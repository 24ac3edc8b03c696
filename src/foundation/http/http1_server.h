// The server side of one HTTP/1.1 connection: requests one after the other, each read whole,
// checked against the limits and handed to the handler. Internal to http/.
#pragma once

#include <optional>

#include "foundation/http/http1_exchange.h"
#include "foundation/http/http1_transport.h"
#include "foundation/http/server_core.h"
#include "foundation/wire/http1.h"

namespace fairlead::http {

class Http1Server final : public ServerConnection {
 public:
  Http1Server(ServerCore& core, runtime::Stream& stream, Visit& visit);

  Task<void> run() override;
  void drain() override;

  // Everything received so far if a plain connection began with HTTP/2's preface: run() has then
  // returned with the connection open. Otherwise empty.
  std::string_view http2_preface() const { return http2_preface_; }

 private:
  // True when exchange_ holds a whole request; false when the connection is to end.
  Task<bool> receive();
  Task<bool> receive_head();
  Task<bool> receive_body(const wire::http1::RequestHead& head, Request& request,
                          const Caller& caller);
  // Charges the request's head; false when the account is used up.
  bool hold_head(std::size_t request_bytes);
  Task<bool> refuse(const wire::http1::Rejection& rejection);
  Task<bool> more(Instant deadline);

  ServerCore& core_;
  runtime::Stream& stream_;
  Visit& visit_;
  Http1Transport transport_;
  Http1Exchange exchange_;
  wire::http1::HeadScanner scanner_;
  // Of the request under way, if it has a body.
  AccountRef body_account_;
  std::optional<Lease> body_lease_;
  std::string http2_preface_;
  bool first_ = true;
  bool idle_ = false;     // waiting for the first byte of a request
  bool refused_ = false;  // the peer may still be sending what will not be read
};

}  // namespace fairlead::http
