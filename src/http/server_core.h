// What the connections of one Server share: limits, counters, buffers, the handler. Internal to
// http/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "http/buffer_pool.h"
#include "http/server.h"

namespace fairlead::http {

struct ServerCore {
  ServerCore(runtime::Runtime& its_runtime, Handler& its_handler, const Limits& its_limits)
      : runtime(its_runtime), handler(its_handler), limits(its_limits) {}

  // The Date field's value, made once per second.
  std::string_view date();

  runtime::Runtime& runtime;
  Handler& handler;
  const Limits limits;
  ServerCounters counters;
  BufferPool buffers;
  std::size_t bodies_under_way = 0;
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
  // Lets what is under way end and takes nothing new. Never waits.
  virtual void drain() = 0;
};

// The share of Limits::bodies_under_way that one request holds.
class BodyLease {
 public:
  explicit BodyLease(ServerCore& core) : core_(core) {}
  BodyLease(const BodyLease&) = delete;
  BodyLease& operator=(const BodyLease&) = delete;
  ~BodyLease() { release(); }
  // False when the server as a whole holds too much; nothing was taken then.
  bool grow(std::size_t bytes) {
    if (bytes > core_.limits.bodies_under_way - core_.bodies_under_way) return false;
    core_.bodies_under_way += bytes;
    held_ += bytes;
    return true;
  }
  void release() { core_.bodies_under_way -= std::exchange(held_, 0); }

 private:
  ServerCore& core_;
  std::size_t held_ = 0;
};

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

// A short text/plain answer of the server itself; 429 says when to come back.
Response plain_response(int status, std::string_view reason);

// Whether a handler's head may be sent: a final status, names and values without anything that
// could end a line early.
bool is_sendable(int status, const Headers& headers);

// Fields that belong to the connection, not to the message; the server writes them itself.
bool is_connection_field(std::string_view name);

inline bool has_no_body(int status) { return status == 204 || status == 304; }

// Sends the end of our side and swallows, for a moment, what the peer still sends: closing with
// unread bytes would destroy the answer on its way.
Task<void> linger(runtime::Runtime& runtime, runtime::Stream& stream, bool peer_may_be_sending);

}  // namespace fairlead::http
