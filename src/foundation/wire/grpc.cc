#include "foundation/wire/grpc.h"

#include <algorithm>
#include <charconv>

#include "foundation/base/check.h"
#include "foundation/base/encoding.h"

namespace fairlead::wire {
namespace {

// What is no escape stands for itself: status messages are meant for people.
std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::optional<char> escaped = percent_escape(text, i);
    decoded.push_back(escaped.value_or(text[i]));
    if (escaped) i += 2;
  }
  return decoded;
}

}  // namespace

void begin_grpc_message(std::string& out) { out.append(kGrpcPrefixBytes, '\0'); }

void end_grpc_message(std::string& out, std::size_t start) {
  CHECK(out.size() >= start + kGrpcPrefixBytes);
  const std::size_t length = out.size() - start - kGrpcPrefixBytes;
  CHECK(length <= 0xffffffffU);
  for (int i = 0; i < 4; ++i)
    out[start + 1 + i] = static_cast<char>((length >> (8 * (3 - i))) & 0xff);
}

std::string frame_grpc_message(std::string_view message) {
  std::string framed;
  framed.reserve(kGrpcPrefixBytes + message.size());
  begin_grpc_message(framed);
  framed.append(message);
  end_grpc_message(framed, 0);
  return framed;
}

void GrpcMessageReader::append(std::string_view piece) {
  buffer_.erase(0, start_);
  start_ = 0;
  buffer_.append(piece);
}

Result<std::optional<std::string_view>> GrpcMessageReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kGrpcPrefixBytes) return std::optional<std::string_view>();
  if (rest[0] != 0) return fail(Code::unsupported, "compressed gRPC message");
  std::size_t length = 0;
  for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(rest[1 + i]);
  if (length > max_message_) return fail(Code::exhausted, "gRPC message above the size limit");
  if (rest.size() - kGrpcPrefixBytes < length) return std::optional<std::string_view>();
  start_ += kGrpcPrefixBytes + length;
  return std::optional(rest.substr(kGrpcPrefixBytes, length));
}

GrpcStatus parse_grpc_status(std::string_view status, std::string_view message) {
  int number = 0;
  const auto [end, error] = std::from_chars(status.data(), status.data() + status.size(), number);
  if (error != std::errc() || end != status.data() + status.size() || number < 0 ||
      number > static_cast<int>(GrpcCode::unauthenticated))
    return {GrpcCode::unknown, status.empty() ? "no grpc-status" : percent_decode(message)};
  return {static_cast<GrpcCode>(number), percent_decode(message)};
}

GrpcStatus grpc_status_of_http(int http_status) {
  std::string message = "HTTP status " + std::to_string(http_status);
  switch (http_status) {
    case 400:
      return {GrpcCode::internal, std::move(message)};
    case 401:
      return {GrpcCode::unauthenticated, std::move(message)};
    case 403:
      return {GrpcCode::permission_denied, std::move(message)};
    case 404:
      return {GrpcCode::unimplemented, std::move(message)};
    case 429:
    case 502:
    case 503:
    case 504:
      return {GrpcCode::unavailable, std::move(message)};
    default:
      return {GrpcCode::unknown, std::move(message)};
  }
}

std::string encode_grpc_message(std::string_view message) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(message.size());
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && c != '%') {
      encoded.push_back(c);
      continue;
    }
    encoded.push_back('%');
    encoded.push_back(kHex[byte >> 4]);
    encoded.push_back(kHex[byte & 15]);
  }
  return encoded;
}

std::string encode_grpc_timeout(std::int64_t milliseconds) {
  // At most eight digits are allowed; a hundred million milliseconds are more than a day.
  return std::to_string(std::clamp<std::int64_t>(milliseconds, 1, 99'999'999)) + "m";
}

}  // namespace fairlead::wire
