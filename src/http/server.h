// The HTTP server: accepts connections, speaks HTTP/1.1 or HTTP/2 (ALPN, or prior knowledge on
// plain connections), and hands each request to a Handler.
//
// Everything a stranger can send has a limit (Limits). Requests arrive whole; responses are sent
// whole or streamed. Each request runs as a fiber of its own; it is cancelled when its peer goes
// away, its stream is reset, or the server is told to stop and the drain time has passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "http/message.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"

namespace fairlead::http {

struct Limits {
  std::size_t header_bytes = 64 << 10;           // request line and headers together → 431
  std::size_t header_count = 200;                // → 431
  std::size_t body_bytes = 3 << 20;              // → 413
  std::size_t bodies_under_way = 128 << 20;      // all connections together → 429
  std::size_t connections = 10'000;              // further ones are closed at once
  std::uint32_t streams_per_connection = 2'000;  // HTTP/2 SETTINGS_MAX_CONCURRENT_STREAMS
  Duration handshake_time = 10s;
  Duration header_time = 10s;       // first byte of a request to its last header → 408
  Duration body_time = 60s;         // last header to last byte of body → 408
  Duration idle_time = 180s;        // keep-alive without a request
  Duration write_stall_time = 30s;  // a peer that takes no bytes is cut
};

// One request under way. Exactly one of respond() or start()…finish() is used, once.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual Request& request() = 0;  // the handler may move the body out
  virtual const runtime::PeerInfo& peer() const = 0;

  virtual Task<Result<>> respond(Response response) = 0;

  // Streaming (watches): head first, then pieces; write() returns when the piece was accepted for
  // sending, so a slow peer slows only its own stream.
  virtual Task<Result<>> start(ResponseHead head) = 0;
  virtual Task<Result<>> write(Bytes piece) = 0;
  virtual Task<Result<>> finish() = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called for every well-formed request. If it returns without responding, 500 is sent.
  virtual Task<void> serve(Exchange& exchange) = 0;
};

struct ServerCounters {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;  // over the limit, or failed handshake
  std::uint64_t connections_open = 0;
  std::uint64_t protocol_errors = 0;  // malformed requests, floods, smuggling forms
  std::uint64_t requests = 0;
  std::uint64_t requests_under_way = 0;
};

class Server {
 public:
  Server(runtime::Runtime& runtime, Handler& handler, Limits limits = {});
  ~Server();

  // Serves until stop(): accepts on `listener`, one fiber per connection. May run on several
  // listeners at once.
  Task<void> serve(std::unique_ptr<runtime::Listener> listener);

  // The server will stop soon: everything is served as before, but HTTP/1 answers say "Connection:
  // close", so that few connections are left when it does. (HTTP/2 has GOAWAY for that moment.)
  void retire();

  // No new connections; HTTP/2 GOAWAY, HTTP/1 "Connection: close"; idle connections closed at once.
  // Requests under way get `drain` to end, then are cancelled. Returns when all is closed; a second
  // call only waits for that. The Server may be destroyed after it, or when its loop turns no more.
  Task<void> stop(Duration drain);

  const ServerCounters& counters() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace fairlead::http
