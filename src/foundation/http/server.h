// The HTTP server: accepts connections, speaks HTTP/1.1 or HTTP/2 (ALPN, or prior knowledge on
// plain connections), and hands each request to a Handler.
//
// Everything that a peer can send has a limit (Limits). Requests are read whole; responses are sent
// whole or streamed. Each request is served by a fiber of its own, which is cancelled when its peer
// goes away, its stream is reset, or the server stops and the drain time has passed.
//
// Connections and memory are shared by caller (docs/design/014): the Handler recognises the caller
// from the head of a request, before the body is read. Strangers (unauthenticated callers) have a
// part of the whole, each of their addresses a part of that; users have shares by their standing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "foundation/base/result.h"
#include "foundation/http/message.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::http {

struct Limits {
  std::size_t header_bytes = 64 << 10;           // request line and headers together → 431
  std::size_t header_count = 200;                // → 431
  std::size_t body_bytes = 3 << 20;              // → 413
  std::size_t request_bytes = 128 << 20;         // heads and bodies of all together → 429
  std::size_t connections = 10'000;              // further ones are closed at once
  std::size_t strangers = 2'000;                 // of them without a known caller, handshakes too
  std::uint32_t streams_per_connection = 2'000;  // HTTP/2 SETTINGS_MAX_CONCURRENT_STREAMS
  std::uint32_t stranger_streams = 100;          // the same until a caller is known
  Duration handshake_time = 10s;
  Duration header_time = 10s;       // first byte of a request to its last header → 408
  Duration body_time = 60s;         // last header to last byte of body → 408
  Duration idle_time = 180s;        // keep-alive without a request
  Duration write_stall_time = 30s;  // a peer that takes no bytes is cut
};

// A caller's share of connections and memory: small for strangers; for limited callers (nodes) so
// large that one stolen credential locks nobody else out; the rest for trusted ones.
enum class Standing : std::uint8_t { stranger, limited, trusted };

// The caller of a request, as the Handler recognised it from the head.
struct Caller {
  Standing standing = Standing::stranger;
  std::string_view name;             // the user's; lives as long as `note`
  std::shared_ptr<const void> note;  // opaque; Exchange::caller() returns it to the Handler
  // How much of a body may be read. 0: the request is served without its body, and the connection
  // (HTTP/1) or the stream (HTTP/2) ends after the response.
  std::size_t body_bytes = static_cast<std::size_t>(-1);
};

// One request under way. Exactly one of respond() or start()…finish() is used, once.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual Request& request() = 0;  // the handler may move the body out
  virtual const runtime::PeerInfo& peer() const = 0;
  // The result of Handler::recognise(); a stranger if it was not called.
  virtual const Caller& caller() const;
  // The request is not needed any more: frees its memory and its charge.
  virtual void forget_request() { request() = {}; }

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
  // Called before that, with the head alone (`head.body` is empty). Must not wait. By default every
  // caller is trusted.
  virtual Caller recognise(const Request& head, const runtime::PeerInfo& peer);
  // The response when the server itself refuses a request. The default is a short text, with
  // Retry-After for 429.
  virtual Response refusal(int status, std::string_view reason) const;
};

// Why a connection or request was refused.
enum class Refusal : std::uint8_t {
  connections,       // all are taken, by authenticated callers
  strangers,         // a stranger's connection was closed for another one
  handshake,         // failed, or too slow
  user_connections,  // too many of one user, or of all of limited standing
  memory,            // the caller's account has no room for a head or body
  head_size,         // 431
  body_size,         // 413
  body_of_stranger,  // not read
  slow,              // 408
  streams,           // too many HTTP/2 streams before a caller was authenticated
};
inline constexpr std::size_t kRefusals = 10;
std::string_view refusal_name(Refusal refusal);

struct ServerCounters {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;  // over the limit, or failed handshake
  std::uint64_t connections_open = 0;
  std::uint64_t protocol_errors = 0;  // malformed requests, floods, smuggling forms
  std::uint64_t requests = 0;
  std::uint64_t requests_under_way = 0;
  std::uint64_t strangers_open = 0;  // of the open connections
  std::uint64_t buffers_lent = 0;    // of 64 KiB, to connections that are being written to
  std::array<std::uint64_t, kRefusals> refused{};
  std::uint64_t of(Refusal refusal) const { return refused[static_cast<std::size_t>(refusal)]; }
};

class Server {
 public:
  Server(runtime::Runtime& runtime, Handler& handler, Limits limits = {});
  ~Server();

  // Serves until stop(): accepts on `listener`, one fiber per connection. May run on several
  // listeners at once.
  Task<void> serve(std::unique_ptr<runtime::Listener> listener);

  // The server will stop soon: everything is served as before, but HTTP/1 responses carry
  // "Connection: close", so that few connections are left then. (HTTP/2 has GOAWAY for that
  // moment.)
  void retire();

  // No new connections; HTTP/2 GOAWAY, HTTP/1 "Connection: close"; idle connections closed at once.
  // Requests under way get `drain` to end, then are cancelled. Returns when all is closed; a second
  // call only waits for that. The Server may be destroyed after it, or when its loop turns no more.
  Task<void> stop(Duration drain);

  const ServerCounters& counters() const;
  std::size_t request_bytes() const;  // held by heads and bodies now

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace fairlead::http
