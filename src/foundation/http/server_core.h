// ServerCore: what the connections of one Server share (limits, counters, buffers, the handler).
// Internal to http/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/share.h"
#include "foundation/http/buffer_pool.h"
#include "foundation/http/doorkeeper.h"
#include "foundation/http/ledger.h"
#include "foundation/http/server.h"
#include "foundation/http/visit.h"

namespace fairlead::http {

struct ServerCore {
  ServerCore(runtime::Runtime& its_runtime, Handler& its_handler, const Limits& its_limits)
      : runtime(its_runtime),
        handler(its_handler),
        limits(its_limits),
        ledger(limits),
        door(limits.connections, strangers_of(limits)) {}

  // Some connections are reserved for authenticated callers.
  static std::size_t strangers_of(const Limits& limits) {
    return std::max<std::size_t>(1, std::min(limits.strangers, limits.connections * 4 / 5));
  }
  void count(Refusal refusal) { ++counters.refused[static_cast<std::size_t>(refusal)]; }

  // The Date field's value, made once per second.
  std::string_view date();

  runtime::Runtime& runtime;
  Handler& handler;
  const Limits limits;
  ServerCounters counters;
  BufferPool buffers;
  Ledger ledger;
  Doorkeeper door;
  bool retiring = false;  // connections are not kept, requests are served
  bool draining = false;

 private:
  std::string date_;
  std::int64_t date_second_ = -1;
};

// A connection as the Server sees it once the protocol is known.
class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  // Serves until the connection has ended; everything it started has ended too.
  virtual Task<void> run() = 0;
  // Accepts no new request and ends with the last one under way. Never waits.
  virtual void drain() = 0;
};

// Appends to a body as it arrives. Its capacity, not its size, is charged, before it is allocated.
// `expected`: its length if known, or the most it may have. False when the caller's account is used
// up.
bool append_body(std::string& body, std::string_view bytes, std::size_t expected, Lease& lease);

// The bytes of a response that nobody else holds: memory that is occupied until it is sent.
std::size_t own_bytes(const std::vector<Bytes>& body);
// Unsent bytes of a response up to this are not charged.
inline constexpr std::size_t kLittleAnswer = 16 << 10;
// The size of a write without a buffer of the pool.
inline constexpr std::size_t kSmallWrite = 4 << 10;
inline constexpr char kUnreadAnswers[] = "too many answers wait to be read";

// Counts one request from construction to destruction.
class RequestCount {
 public:
  explicit RequestCount(ServerCore& core) : core_(core) {
    ++core_.counters.requests;
    ++core_.counters.requests_under_way;
  }
  RequestCount(const RequestCount&) = delete;
  RequestCount& operator=(const RequestCount&) = delete;
  ~RequestCount() { --core_.counters.requests_under_way; }

 private:
  ServerCore& core_;
};

// A short text/plain response, with Retry-After for 429.
Response plain_response(int status, std::string_view reason);

// The text of 413.
inline std::string limit_text(std::size_t bytes) { return "limit is " + std::to_string(bytes); }

// Whether a handler's head may be sent: a final status, names and values without anything that
// could end a line early.
bool is_sendable(int status, const Headers& headers);

// Fields that belong to the connection, not to the message; the server writes them itself.
bool is_connection_field(std::string_view name);

inline bool has_no_body(int status) { return status == 204 || status == 304; }

// Ends our side, then for a moment reads and drops what the peer still sends: closing a socket with
// unread bytes would reset the connection and destroy the response on its way.
Task<void> linger(runtime::Runtime& runtime, runtime::Stream& stream, bool peer_may_be_sending);

}  // namespace fairlead::http
