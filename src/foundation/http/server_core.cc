#include "foundation/http/server_core.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <span>

#include "foundation/wire/http1.h"

namespace fairlead::http {

std::string_view ServerCore::date() {
  const auto second = std::chrono::floor<std::chrono::seconds>(runtime.wall_now());
  if (second.time_since_epoch().count() == date_second_) return date_;
  date_second_ = second.time_since_epoch().count();
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day civil(day);
  const std::chrono::hh_mm_ss clock(second - day);
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      kDays[std::chrono::weekday(day).c_encoding()], static_cast<unsigned>(civil.day()),
      kMonths[static_cast<unsigned>(civil.month()) - 1], static_cast<int>(civil.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  date_.assign(text.data(), static_cast<std::size_t>(length));
  return date_;
}

const Caller& Exchange::caller() const {
  static const Caller stranger;
  return stranger;
}

Caller Handler::recognise(const Request&, const runtime::PeerInfo&) {
  return {.standing = Standing::trusted, .name = {}, .note = nullptr};
}

Response Handler::refusal(int status, std::string_view reason) const {
  return plain_response(status, reason);
}

std::string_view refusal_name(Refusal refusal) {
  static constexpr std::string_view kNames[kRefusals] = {
      "connections", "strangers",        "handshake", "user_connections", "memory", "head_size",
      "body_size",   "body_of_stranger", "slow",      "streams"};
  return kNames[static_cast<std::size_t>(refusal)];
}

bool append_body(std::string& body, std::string_view bytes, std::size_t expected, Lease& lease) {
  constexpr std::size_t kSmallBody = 64 << 10;
  const std::size_t needed = body.size() + bytes.size();
  if (needed > lease.held()) {
    const std::size_t grown =
        expected <= kSmallBody ? expected : std::min(2 * lease.held(), expected);
    const std::size_t room = std::max(needed, grown);
    if (!lease.resize(room)) return false;
    body.reserve(room);
  }
  body.append(bytes);
  return true;
}

std::size_t own_bytes(const std::vector<Bytes>& body) {
  std::size_t bytes = 0;
  for (const Bytes& piece : body)
    if (!piece.is_shared()) bytes += piece.size();
  return bytes;
}

Response plain_response(int status, std::string_view reason) {
  Response response;
  response.status = status;
  response.headers.add("content-type", "text/plain; charset=utf-8");
  if (status == 429) response.headers.add("retry-after", "1");
  response.body.emplace_back(std::string(reason).append("\n"));
  return response;
}

bool is_connection_field(std::string_view name) {
  static constexpr std::string_view kNames[] = {"connection",       "keep-alive",
                                                "content-length",   "upgrade",
                                                "proxy-connection", "transfer-encoding"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [name](auto known) { return equals_ignoring_case(known, name); });
}

bool is_sendable(int status, const Headers& headers) {
  if (status < 200 || status > 599) return false;
  return std::all_of(headers.begin(), headers.end(), [](const auto& field) {
    return wire::http1::is_token(field.first) && wire::http1::is_field_value(field.second);
  });
}

namespace {

Task<Result<>> discard(runtime::Stream& stream) {
  constexpr std::size_t kMost = 4 << 20;
  std::array<char, 4096> scratch;
  for (std::size_t total = 0; total < kMost;) {
    FL_CO_TRY(const std::size_t n, co_await stream.read(scratch));
    if (n == 0) break;
    total += n;
  }
  co_return Result<>{};
}

}  // namespace

Task<void> linger(runtime::Runtime& runtime, runtime::Stream& stream, bool peer_may_be_sending) {
  constexpr Duration kShutdownTime = 2s;
  constexpr Duration kLingerTime = 1s;
  const Result<> ended =
      co_await runtime::with_timeout<void>(runtime, kShutdownTime, stream.shutdown_write());
  if (ended && peer_may_be_sending)
    (void)co_await runtime::with_timeout<void>(runtime, kLingerTime, discard(stream));
  stream.close();
}

}  // namespace fairlead::http
