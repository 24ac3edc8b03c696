#include "foundation/http/http1_exchange.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/wire/http1.h"

namespace fairlead::http {
namespace {

namespace http1 = wire::http1;

constexpr std::size_t kFlushBytes = BufferPool::kBufferBytes;
constexpr std::size_t kDirectBytes = 32 << 10;  // larger pieces are written from where they are
constexpr Duration kSlowHandler = 1s;
constexpr std::size_t kQuietBytes = 1024;  // what a stream keeps to be written into while quiet

}  // namespace

Http1Exchange::Http1Exchange(ServerCore& core, Http1Transport& transport, Visit& visit)
    : core_(core),
      transport_(transport),
      visit_(visit),
      slow_timer_(core.runtime, [this] { watch_peer(); }),
      fibers_(core.runtime) {}

void Http1Exchange::reset(Request request, Caller caller, bool http11, bool keep_alive) {
  request_ = std::move(request);
  caller_ = std::move(caller);
  head_request_ = request_.method == "HEAD";
  http11_ = http11;
  keep_alive_ = keep_alive;
  phase_ = Phase::waiting;
  chunked_ = muted_ = false;
  writer_ends_ = false;
  write_error_.reset();
  pending_.clear();
}

void Http1Exchange::forget_request() {
  request_ = {};
  if (!transport_.reading()) transport_.buffer().shrink();  // a read under way is into it
  visit_.hold_heads(transport_.buffer().extra_bytes());     // less than before: never refused
}

Task<void> Http1Exchange::run() {
  {
    runtime::Nested<void> handling(core_.runtime, core_.handler.serve(*this));
    handling_ = &handling;
    slow_timer_.set(core_.runtime.now() + kSlowHandler);
    co_await handling;
    handling_ = nullptr;
    slow_timer_.clear();
  }
  if (phase_ == Phase::waiting && !broken_) {
    Response response = plain_response(500, "the request was not answered");
    (void)co_await send(std::move(response));
  } else if (phase_ == Phase::streaming) {
    abandon({Code::internal, "response not finished"});
  }
  co_await end_fibers();
  pending_.release();
  sending_.release();
  visit_.hold_buffers(0);
  if (phase_ != Phase::ended || write_error_) broken_ = true;
}

void Http1Exchange::append_head(std::string& out, int status, const Headers& headers) {
  if (core_.retiring || core_.draining) keep_alive_ = false;
  http1::append_status_line(out, status);
  bool dated = false;
  for (const auto& [name, value] : headers) {
    if (is_connection_field(name)) continue;
    if (name.size() == 4 && equals_ignoring_case(name, "date")) dated = true;
    http1::append_field(out, name, value);
  }
  if (!dated) http1::append_field(out, "Date", core_.date());
  if (!keep_alive_) {
    out.append("Connection: close\r\n");
  } else if (!http11_) {
    out.append("Connection: keep-alive\r\n");
  }
}

Task<Result<>> Http1Exchange::respond(Response response) {
  CHECK(phase_ == Phase::waiting);
  if (!is_sendable(response.status, response.headers)) {
    log::error("response with an invalid head", {{"status", response.status}});
    Response replacement = plain_response(500, "invalid response");
    FL_CO_CHECKED(co_await send(std::move(replacement)));
    co_return fail(Code::invalid, "response head cannot be sent");
  }
  co_return co_await send(std::move(response));
}

std::size_t Http1Exchange::make_room(Response& response) {
  const std::size_t own = own_bytes(response.body);
  const std::size_t counted = own > kLittleAnswer ? own : 0;
  if (visit_.known() && visit_.hold_buffers(kFlushBytes + counted)) return kFlushBytes;
  // What was changed is done, and whoever did it is told; what was only asked for can wait.
  if (!visit_.hold_buffers(counted) && request_.method == "GET") {
    core_.count(Refusal::memory);
    response = core_.handler.refusal(429, kUnreadAnswers);
  }
  return kSmallWrite;
}

Task<Result<>> Http1Exchange::send(Response response) {
  const std::size_t flush = make_room(response);
  const bool pooled = flush == kFlushBytes;
  std::string out = pooled ? core_.buffers.take() : std::string();
  append_head(out, response.status, response.headers);
  if (!has_no_body(response.status)) {
    std::uint64_t length = response.body_size();
    // A handler may tell a HEAD request the length without making the body.
    if (is_head() && length == 0)
      http1::parse_content_length(response.headers.get("content-length"), length);
    http1::append_content_length(out, length);
  }
  http1::append_end_of_head(out);
  Result<> sent;
  if (body_allowed(response.status) && !response.body.empty()) {
    sent = co_await gather(out, response.body, flush);
  } else {
    sent = co_await put(out);
  }
  if (pooled) core_.buffers.give(std::move(out));
  visit_.hold_buffers(0);
  if (sent) phase_ = Phase::ended;
  co_return sent;
}

// Small pieces join the buffer, large ones go out as they are.
Task<Result<>> Http1Exchange::gather(std::string& out, const std::vector<Bytes>& pieces,
                                     std::size_t flush) {
  for (const Bytes& piece : pieces) {
    const std::string_view bytes = piece.view();
    if (bytes.size() < std::min(kDirectBytes, flush)) {
      if (out.size() + bytes.size() > flush) {
        FL_CO_CHECKED(co_await put(out));
        out.clear();
      }
      out.append(bytes);
      continue;
    }
    if (!out.empty()) {
      FL_CO_CHECKED(co_await put(out));
      out.clear();
    }
    FL_CO_CHECKED(co_await put(bytes));
  }
  if (!out.empty()) {
    FL_CO_CHECKED(co_await put(out));
    out.clear();
  }
  co_return Result<>{};
}

Task<Result<>> Http1Exchange::put(std::string_view bytes) {
  Result<> written = co_await transport_.write(bytes, core_.limits.write_stall_time);
  if (!written) broken_ = true;
  co_return written;
}

Task<void> Http1Exchange::refuse(int status, std::string_view reason) {
  keep_alive_ = false;
  head_request_ = false;
  http11_ = true;
  phase_ = Phase::waiting;
  Response response = core_.handler.refusal(status, reason);
  (void)co_await send(std::move(response));
}

Task<Result<>> Http1Exchange::start(ResponseHead head) {
  CHECK(phase_ == Phase::waiting);
  if (!is_sendable(head.status, head.headers)) {
    log::error("response with an invalid head", {{"status", head.status}});
    Response replacement = plain_response(500, "invalid response");
    FL_CO_CHECKED(co_await send(std::move(replacement)));
    co_return fail(Code::invalid, "response head cannot be sent");
  }
  muted_ = !body_allowed(head.status);
  chunked_ = http11_ && !muted_;
  if (!http11_) keep_alive_ = false;  // the end of the connection is the end of the body
  append_head(pending_.text, head.status, head.headers);
  if (http11_ && !has_no_body(head.status)) pending_.text.append("Transfer-Encoding: chunked\r\n");
  http1::append_end_of_head(pending_.text);
  phase_ = Phase::streaming;
  watch_peer();
  writer_running_ = true;
  fibers_.spawn(write_loop());
  co_return Result<>{};
}

bool Http1Exchange::hold_stream(std::size_t more) {
  const std::size_t capacity = pending_.text.capacity();
  const std::size_t needed = pending_.text.size() + more;
  const std::size_t grown = needed > capacity ? std::max(needed, 2 * capacity) : capacity;
  const std::size_t bytes =
      grown + pending_.piece_bytes + sending_.text.capacity() + sending_.piece_bytes;
  return visit_.hold_buffers(bytes > kLittleAnswer ? bytes : 0);
}

Task<Result<>> Http1Exchange::write(Bytes piece) {
  CHECK(phase_ == Phase::streaming);
  while (pending_.size() >= kFlushBytes && !write_error_) {
    FL_CO_CHECKED(co_await written_.wait());
  }
  if (write_error_) co_return fail(*write_error_);
  if (muted_ || piece.empty()) co_return Result<>{};
  constexpr std::size_t kChunkBytes = 20;  // its size and two ends of line
  if (!hold_stream(piece.size() + kChunkBytes)) {
    while ((!pending_.empty() || !sending_.empty()) && !write_error_) {
      FL_CO_CHECKED(co_await written_.wait());  // what was taken before goes first
    }
    if (write_error_) co_return fail(*write_error_);
    if (!hold_stream(piece.size() + kChunkBytes)) {
      core_.count(Refusal::memory);
      co_return fail(Code::exhausted, kUnreadAnswers);
    }
  }
  if (chunked_) http1::append_chunk_size(pending_.text, piece.size());
  pending_.add(std::move(piece));
  if (chunked_) pending_.text.append("\r\n");
  to_write_.notify();
  co_return Result<>{};
}

Task<Result<>> Http1Exchange::finish() {
  CHECK(phase_ == Phase::streaming);
  if (chunked_) pending_.text.append(http1::kLastChunk);
  writer_ends_ = true;
  to_write_.notify();
  while (writer_running_) {
    FL_CO_CHECKED(co_await written_.wait());
  }
  if (write_error_) co_return fail(*write_error_);
  phase_ = Phase::ended;
  co_return Result<>{};
}

// The response cannot be completed: nothing more is sent, the connection will be closed.
void Http1Exchange::abandon(Error error) {
  if (!write_error_) write_error_ = std::move(error);
  broken_ = true;
  to_write_.notify();
  written_.notify();
  transport_.interrupt_write();
  if (handling_) handling_->cancel();
}

void Http1Exchange::Pending::add(Bytes piece) {
  if (piece.size() >= kDirectBytes) {
    piece_bytes += piece.size();
    pieces.emplace_back(text.size(), std::move(piece));
    return;
  }
  text.append(piece.view());
  copied.push_back(std::move(piece));
}

void Http1Exchange::Pending::clear() {
  text.clear();
  pieces.clear();
  copied.clear();
  piece_bytes = 0;
}

// Assigning an empty string would leave the memory where it is.
void Http1Exchange::Pending::release() {
  Pending nothing;
  std::swap(*this, nothing);
}

Task<Result<>> Http1Exchange::write_out(const Pending& sending) {
  const Duration stall = core_.limits.write_stall_time;
  const std::string_view text = sending.text;
  std::size_t written = 0;
  for (const auto& [at, piece] : sending.pieces) {
    FL_CO_CHECKED(co_await transport_.write(text.substr(written, at - written), stall));
    FL_CO_CHECKED(co_await transport_.write(piece.view(), stall));
    written = at;
  }
  co_return co_await transport_.write(text.substr(written), stall);
}

Task<void> Http1Exchange::write_loop() {
  for (;;) {
    while (pending_.empty() && !writer_ends_ && !write_error_) {
      if (!co_await to_write_.wait()) {
        abandon({Code::cancelled, "cancelled"});
        break;
      }
      co_await runtime::yield(core_.runtime);  // whoever else has something to say now, first
    }
    if (write_error_ || pending_.empty()) break;
    std::swap(pending_, sending_);
    written_.notify();
    const Result<> written = co_await write_out(sending_);
    if (!written) {
      abandon(written.error());
      break;
    }
    // A quiet stream keeps no buffer.
    sending_.clear();
    if (pending_.empty())
      for (Pending* buffer : {&pending_, &sending_})
        if (buffer->text.capacity() > kQuietBytes) buffer->release();
    hold_stream(0);  // no more than before: never refused
    written_.notify();
  }
  writer_running_ = false;
  written_.notify();
}

void Http1Exchange::watch_peer() {
  if (std::exchange(watching_, true)) return;
  stop_watching_ = false;
  fibers_.spawn(watch_loop());
}

Task<void> Http1Exchange::watch_loop() {
  // Pipelined bytes are kept for later; when there are many, the peer is evidently alive.
  constexpr std::size_t kKept = 16 << 10;
  while (!stop_watching_ && transport_.buffer().size() < kKept) {
    const std::size_t before = transport_.buffer().extra_bytes();
    const Result<std::size_t> got = co_await transport_.read_more(Instant::max());
    if (got && *got > 0) {
      const std::size_t grown = transport_.buffer().extra_bytes() - before;
      if (!visit_.hold_heads(visit_.heads() + grown)) break;
      continue;
    }
    if (got || got.error().code != Code::cancelled) abandon({Code::unavailable, "peer went away"});
    break;
  }
  watching_ = false;
}

Task<void> Http1Exchange::end_fibers() {
  if (fibers_.size() == 0) co_return;
  writer_ends_ = stop_watching_ = true;
  to_write_.notify();
  if (watching_) transport_.interrupt_read();
  co_await fibers_.join();
}

}  // namespace fairlead::http
