// The HTTP client: requests to one origin that may live at several endpoints.
//
// Over TLS it negotiates HTTP/2 and uses one connection for everything (all watches of a process,
// all etcd calls); further connections are opened only beyond the server's limit of concurrent
// streams (100 with kube-apiserver). With an HTTP/1.1 server it pools connections, one request at a
// time on each. After a failure it goes on to the next endpoint in the list; it never retries a
// request that may have reached the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/http/message.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::http {

struct ClientOptions {
  std::vector<runtime::Endpoint> endpoints;  // tried in order, starting from the last that worked
  std::shared_ptr<const runtime::TlsSource> tls;  // null: plain
  bool http2_prior_knowledge = false;             // plain HTTP/2 (etcd without TLS)
  Duration connect_time = 5s;
  std::size_t response_bytes = 1 << 30;  // for whole responses
  Duration ping_interval = 15s;          // HTTP/2: a silent connection is probed …
  Duration ping_time = 10s;              // … and given up after this
  Duration ping_answer_time = 0s;        // HTTP/2: how long the answer to a ping may wait
  std::size_t http1_connections = 64;
  std::size_t http2_connections = 64;  // when all their streams are in use, requests wait
};

// A request whose body and response are streams (watches, gRPC).
class ClientStream {
 public:
  virtual ~ClientStream() = default;                      // resets the stream if it has not ended
  virtual Task<Result<ResponseHead>> head() = 0;          // waits for the response headers
  virtual Task<Result<std::optional<Bytes>>> read() = 0;  // next piece; nullopt at the end
  virtual const Headers& trailers() const = 0;            // valid after read() returned nullopt
  virtual Task<Result<>> write(Bytes piece) = 0;          // more of the request body (HTTP/2 only)
  virtual Task<Result<>> finish() = 0;                    // the request body is complete
};

class Client {
 public:
  Client(runtime::Runtime& runtime, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One whole exchange. Fails with unavailable if the request surely was not processed, with
  // timeout or io if it may have been.
  Task<Result<Response>> send(Request request);

  // Opens a stream. With `more_body` the request body stays open for write().
  Task<Result<std::unique_ptr<ClientStream>>> open(Request request, bool more_body = false);

  // The credentials were replaced: requests from now on go over new connections. What is under way
  // ends on the old ones.
  void renew_connections();

  // The number of the HTTP/2 connection that the next request would use, from 1; 0: it would open a
  // new one. Distinguishes connections only if `http2_connections` is 1.
  std::uint64_t connection() const;
  // Like open(), but over that connection or not at all (unavailable): for callers that must know
  // their peer before they send anything.
  Task<Result<std::unique_ptr<ClientStream>>> open_on(std::uint64_t connection, Request request);

  // Closes every connection; streams under way fail with unavailable.
  void close();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace fairlead::http
