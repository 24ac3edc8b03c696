// gRPC over HTTP/2, the parts that are bytes and header values: message framing, the status a call
// ends with, and the timeout header. The calls themselves are api/store/etcd/client.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::wire {

// The five bytes before each message: a flag for compression, then the length.
constexpr std::size_t kGrpcPrefixBytes = 5;

// `write(std::string&)` appends the message behind a prefix that is then filled in.
void begin_grpc_message(std::string& out);
// REQUIRES: begin_grpc_message() was called when `out` had `start` bytes.
void end_grpc_message(std::string& out, std::size_t start);
std::string frame_grpc_message(std::string_view message);

// Cuts a stream of body pieces into messages. The bytes of a message are copied at most once.
class GrpcMessageReader {
 public:
  explicit GrpcMessageReader(std::size_t max_message) : max_message_(max_message) {}

  void append(std::string_view piece);
  // The next whole message, valid until the next append(); nullopt when more bytes are needed.
  // Fails with exhausted for a message above the limit and unsupported for a compressed one; every
  // later call then fails too.
  Result<std::optional<std::string_view>> next();
  // Nothing is left over: the stream may end here.
  bool at_boundary() const { return start_ == buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t start_ = 0;
  std::size_t max_message_;
};

enum class GrpcCode {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

struct GrpcStatus {
  GrpcCode code = GrpcCode::unknown;
  std::string message;
  bool operator==(const GrpcStatus&) const = default;
};

// From the values of grpc-status and grpc-message (percent-encoded). A status that is missing or
// not a known number is `unknown`.
GrpcStatus parse_grpc_status(std::string_view status, std::string_view message);

// What an HTTP status other than 200 means to a gRPC client.
GrpcStatus grpc_status_of_http(int http_status);

// The value of grpc-message: everything but printable ASCII, and '%', is percent-encoded.
std::string encode_grpc_message(std::string_view message);

// The value of grpc-timeout, "2500m"; never less than a millisecond.
std::string encode_grpc_timeout(std::int64_t milliseconds);

}  // namespace fairlead::wire
