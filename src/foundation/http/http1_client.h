// The client side of one HTTP/1.1 connection, and the ClientStream over it: one request at a time.
// Internal to http/.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "foundation/http/client.h"
#include "foundation/http/http1_transport.h"
#include "foundation/http/outgoing_request.h"
#include "foundation/runtime/channel.h"
#include "foundation/wire/http1.h"

namespace fairlead::http {

class Http1Client {
 public:
  Http1Client(runtime::Runtime& runtime, std::unique_ptr<runtime::Stream> stream)
      : stream_(std::move(stream)), transport_(runtime, *stream_) {}

  Http1Transport& transport() { return transport_; }
  void close() {
    closed_ = true;
    stream_->close();
  }
  bool closed() const { return closed_; }

  // Reads an idle connection, to notice when the server closes it. To be spawned each time the
  // connection goes to the pool; ends with leave_pool() or with the connection, then calls `died`.
  static Task<void> rest(std::shared_ptr<Http1Client> self, std::function<void()> died);
  void enter_pool() {
    resting_ = true;
    leaving_ = false;
  }
  Task<Result<>> leave_pool();

 private:
  std::unique_ptr<runtime::Stream> stream_;
  Http1Transport transport_;
  bool closed_ = false;
  bool resting_ = false;
  bool leaving_ = false;
  runtime::Signal rested_;
};

// Takes a connection back after its response, for the pool or to be closed. Outlives the client.
class Http1Home {
 public:
  virtual ~Http1Home() = default;
  virtual void come_back(std::shared_ptr<Http1Client> connection, bool reusable) = 0;
};

// Sends the request on `connection`; the response follows through the stream.
Task<Result<std::unique_ptr<ClientStream>>> open_http1(std::shared_ptr<Http1Client> connection,
                                                       std::weak_ptr<Http1Home> home,
                                                       OutgoingRequest request);

}  // namespace fairlead::http
