#include "foundation/http/http2_server_stream.h"

#include <utility>

#include "foundation/base/log.h"
#include "foundation/wire/http1.h"

namespace fairlead::http {
namespace {

// What one stream may have waiting for its window before its writer has to wait.
constexpr std::size_t kWaitingBytes = 64 << 10;
// What a field takes beside its text: two strings and their allocations, less what RFC 9113 counts.
constexpr std::size_t kFieldBytes = 96;

}  // namespace

bool Http2ServerStream::hold(std::size_t bytes) {
  if (bytes > held_) {
    if (!server_.hold_heads(bytes - held_)) return false;
  } else {
    server_.drop_heads(held_ - bytes);
  }
  held_ = bytes;
  return true;
}

void Http2ServerStream::forget_request() {
  request_ = {};
  hold(0);  // a stream that goes on is counted by whoever lets it: watches have seats
}

void Http2ServerStream::release_body() {
  body_lease_.reset();
  body_account_.reset();
}

bool Http2ServerStream::hold_answer(std::size_t more) {
  const std::size_t bytes = out_.own() + more;
  if (!answer_lease_) {
    if (bytes <= kLittleAnswer) return true;
    answer_account_ = server_.visit_.account_of(caller_);
    answer_lease_.emplace(answer_account_->bytes);
  }
  return answer_lease_->resize(bytes > kLittleAnswer ? bytes : 0);
}

bool Http2ServerStream::take_field(std::string_view name, std::string_view value) {
  head_bytes_ += name.size() + value.size() + 32;  // as RFC 9113 counts
  ++head_fields_;
  const Limits& limits = server_.core_.limits;
  if (head_bytes_ > limits.header_bytes || head_fields_ > limits.header_count) return false;
  if (!hold(held_ + name.size() + value.size() + kFieldBytes)) {
    server_.no_room_for_heads();
    return true;
  }
  if (name == ":method") {
    request_.method = value;
  } else if (name == ":path") {
    request_.target = value;
  } else if (name == ":authority") {
    request_.authority = value;
  } else if (name == "host") {
    if (std::exchange(has_host_, true) ||
        (!request_.authority.empty() && request_.authority != value))
      objection_ = "conflicting Host";
    request_.authority = value;
  } else if (!name.starts_with(':')) {
    request_.headers.add(std::string(name), std::string(value));
  }
  return true;
}

std::optional<std::pair<int, std::string_view>> Http2ServerStream::objection() const {
  if (!objection_.empty()) return std::pair(400, objection_);
  if (request_.method == "CONNECT") return std::pair(501, "CONNECT is not supported");
  if (!wire::http1::is_target(request_.target)) return std::pair(400, "malformed target");
  const std::string_view expect = request_.headers.get("expect");
  if (!expect.empty() && !equals_ignoring_case(expect, "100-continue"))
    return std::pair(417, "unsupported expectation");
  return std::nullopt;
}

void Http2ServerStream::closed() {
  closed_ = true;
  out_.discard();
  hold_answer(0);
  if (handling_ && phase_ != Phase::ended) handling_->cancel();
  changed_.notify();
}

Result<> Http2ServerStream::closed_error() const {
  return fail(Code::unavailable, "stream closed by the peer");
}

Task<Result<>> Http2ServerStream::respond(Response response) {
  CHECK(phase_ == Phase::waiting);
  if (closed_) co_return closed_error();
  Result<> outcome;
  if (!is_sendable(response.status, response.headers)) {
    log::error("response with an invalid head", {{"status", response.status}});
    response = plain_response(500, "invalid response");
    outcome = fail(Code::invalid, "response head cannot be sent");
  }
  // What was changed is done, and whoever did it is told; what was only asked for can wait.
  if (!hold_answer(own_bytes(response.body)) && request_.method == "GET") {
    server_.core_.count(Refusal::memory);
    response = server_.core_.handler.refusal(429, kUnreadAnswers);
    outcome = fail(Code::exhausted, kUnreadAnswers);
  }
  std::size_t length = response.body_size();
  const bool body = length > 0 && request_.method != "HEAD" && !has_no_body(response.status);
  if (!has_no_body(response.status)) {
    std::uint64_t told = length;
    if (length == 0 && request_.method == "HEAD")
      wire::http1::parse_content_length(response.headers.get("content-length"), told);
    response.headers.set("content-length", std::to_string(told));
  }
  if (body)
    for (Bytes& piece : response.body) out_.push(std::move(piece));
  out_.finish();
  phase_ = Phase::ended;
  FL_CO_CHECKED(server_.submit_response(*this, response.status, response.headers, body));
  // Not only for back pressure: while a large answer waits for its peer, its request counts as
  // under way wherever requests are counted.
  FL_CO_CHECKED(co_await room(kLittleAnswer));
  co_return outcome;
}

Task<Result<>> Http2ServerStream::start(ResponseHead head) {
  CHECK(phase_ == Phase::waiting);
  if (closed_) co_return closed_error();
  if (!is_sendable(head.status, head.headers)) {
    Response replacement = plain_response(500, "invalid response");
    FL_CO_CHECKED(co_await respond(std::move(replacement)));
    co_return fail(Code::invalid, "response head cannot be sent");
  }
  muted_ = request_.method == "HEAD" || has_no_body(head.status);
  head.headers.remove("content-length");
  phase_ = Phase::streaming;
  co_return server_.submit_response(*this, head.status, head.headers, !muted_);
}

Task<Result<>> Http2ServerStream::room(std::size_t most) {
  while (out_.waiting() > most && !closed_) {
    FL_CO_CHECKED(co_await changed_.wait());
  }
  if (closed_ && out_.waiting() > 0) co_return closed_error();
  co_return Result<>{};
}

Task<Result<>> Http2ServerStream::write(Bytes piece) {
  CHECK(phase_ == Phase::streaming);
  FL_CO_CHECKED(co_await room(kWaitingBytes));
  if (closed_) co_return closed_error();
  if (muted_ || piece.empty()) co_return Result<>{};
  const std::size_t own = piece.is_shared() ? 0 : piece.size();
  if (!hold_answer(own)) {
    FL_CO_CHECKED(co_await room(0));  // what was taken before goes first
    if (closed_) co_return closed_error();
    // One piece of usual size always finds its place, so that a busy reader gets on.
    if (!hold_answer(own) && own > kWaitingBytes) {
      server_.core_.count(Refusal::memory);
      co_return fail(Code::exhausted, kUnreadAnswers);
    }
  }
  out_.push(std::move(piece));
  nghttp2_session_resume_data(server_.session(), id_);
  server_.wake_writer();
  co_return Result<>{};
}

Task<Result<>> Http2ServerStream::finish() {
  CHECK(phase_ == Phase::streaming);
  if (closed_) co_return closed_error();
  phase_ = Phase::ended;
  out_.finish();
  if (!muted_) nghttp2_session_resume_data(server_.session(), id_);
  server_.wake_writer();
  co_return Result<>{};
}

}  // namespace fairlead::http
