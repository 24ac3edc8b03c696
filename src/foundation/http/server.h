// The HTTP server: accepts connections, speaks HTTP/1.1 or HTTP/2 (ALPN, or prior knowledge on
// plain connections), and hands each request to a Handler.
//
// Everything a stranger can send has a limit (Limits). Requests arrive whole; responses are sent
// whole or streamed. Each request runs as a fiber of its own; it is cancelled when its peer goes
// away, its stream is reset, or the server is told to stop and the drain time has passed.
//
// Room is shared by who asks (docs/design/014): the Handler recognises the caller of a request from
// its head, before the body is read. Strangers have a part of the connections and of the memory,
// each address a part of that; so have users, by their standing.
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

// How much room a caller gets: strangers little, limited ones (nodes) so much that a stolen
// credential locks nobody out, trusted ones the rest.
enum class Standing : std::uint8_t { stranger, limited, trusted };

// Who asks, as the Handler recognised them from a request's head.
struct Caller {
  Standing standing = Standing::stranger;
  std::string_view name;             // of a user; lives as long as `note`
  std::shared_ptr<const void> note;  // the Handler's own, handed back by Exchange::caller()
  // How much of a body is worth reading. 0: the request is served without it, and the connection
  // (of HTTP/1) or the stream ends after the answer.
  std::size_t body_bytes = static_cast<std::size_t>(-1);
};

// One request under way. Exactly one of respond() or start()…finish() is used, once.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual Request& request() = 0;  // the handler may move the body out
  virtual const runtime::PeerInfo& peer() const = 0;
  // What Handler::recognise() said; a stranger where nobody asked it.
  virtual const Caller& caller() const;
  // The request is not needed any more; what it held is free for others.
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
  // Called before that, with the head alone (`head.body` is empty). Never waits. The default knows
  // no strangers.
  virtual Caller recognise(const Request& head, const runtime::PeerInfo& peer);
  // The answer to what the server refuses by itself. The default is a short text; 429 says when to
  // come back.
  virtual Response refusal(int status, std::string_view reason) const;
};

// Why somebody was not served.
enum class Refusal : std::uint8_t {
  connections,       // everybody inside is known
  strangers,         // a stranger's connection gave way to another
  handshake,         // failed, or too slow
  user_connections,  // of one user, or of all of limited standing
  memory,            // no room for a head or body in the caller's share
  head_size,         // 431
  body_size,         // 413
  body_of_stranger,  // not read
  slow,              // 408
  streams,           // HTTP/2, before a caller was known
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

  // The server will stop soon: everything is served as before, but HTTP/1 answers say "Connection:
  // close", so that few connections are left when it does. (HTTP/2 has GOAWAY for that moment.)
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
