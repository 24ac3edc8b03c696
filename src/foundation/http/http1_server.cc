#include "foundation/http/http1_server.h"

#include <algorithm>
#include <utility>

namespace fairlead::http {
namespace {

namespace http1 = wire::http1;

constexpr std::size_t kUsualHead = 2 << 10;  // part of what every connection costs
constexpr unsigned kTurnRequests = 16;  // requests served before others on the loop get their turn

const http1::Rejection kBusy{429, "too many requests are being received"};

Request to_request(const http1::RequestHead& head) {
  Request request;
  request.method = head.method;
  request.target = head.target;
  request.authority = head.authority;
  request.headers.reserve(head.fields.size());
  for (const http1::Field& field : head.fields) {
    if (field.name.size() == 4 && http1::equals_ignoring_case(field.name, "host")) continue;
    request.headers.add(std::string(field.name), std::string(field.value));
  }
  return request;
}

}  // namespace

Http1Server::Http1Server(ServerCore& core, runtime::Stream& stream, Visit& visit)
    : core_(core),
      stream_(stream),
      visit_(visit),
      transport_(core.runtime, stream),
      exchange_(core, transport_, visit),
      scanner_(core.limits.header_bytes) {}

Task<void> Http1Server::run() {
  for (unsigned served = 0;;) {
    if (!co_await receive()) break;
    {
      RequestCount count(core_);
      co_await exchange_.run();
    }
    body_lease_.reset();
    body_account_.reset();
    if (!exchange_.keep_alive() || core_.draining) break;
    if (++served % kTurnRequests == 0) co_await runtime::yield(core_.runtime);
  }
  if (!http2_preface_.empty()) co_return;
  if (exchange_.broken()) {
    stream_.close();
    co_return;
  }
  co_await linger(core_.runtime, stream_, refused_ || !transport_.buffer().empty());
}

void Http1Server::drain() {
  if (idle_) transport_.interrupt_read();
}

// False at the peer's end, on an error, or when told to drain while idle.
Task<bool> Http1Server::more(Instant deadline) {
  const bool between_requests = transport_.buffer().empty() && scanner_.length() == 0;
  const Result<std::size_t> got = co_await transport_.read_more(deadline);
  if (got) co_return *got > 0;
  if (got.error().code == Code::timeout && !between_requests) {
    refused_ = true;
    core_.count(Refusal::slow);
    co_await exchange_.refuse(408, "the request did not arrive in time");
  }
  co_return false;
}

Task<bool> Http1Server::refuse(const http1::Rejection& rejection) {
  if (rejection.status != 413 && rejection.status != 429) ++core_.counters.protocol_errors;
  if (rejection.status == 413) core_.count(Refusal::body_size);
  if (rejection.status == 431) core_.count(Refusal::head_size);
  refused_ = true;
  co_await exchange_.refuse(rejection.status, rejection.reason);
  co_return false;
}

bool Http1Server::hold_head(std::size_t request_bytes) {
  const std::size_t copied = request_bytes > kUsualHead ? 2 * request_bytes : 0;
  if (visit_.hold_heads(transport_.buffer().extra_bytes() + copied)) return true;
  core_.count(Refusal::memory);
  return false;
}

Task<bool> Http1Server::receive_head() {
  ReadBuffer& buffer = transport_.buffer();
  scanner_.reset();
  Instant header_deadline = Instant::max();
  for (;;) {
    switch (scanner_.scan(buffer.view())) {
      case http1::HeadScanner::Outcome::complete:
        co_return true;
      case http1::HeadScanner::Outcome::rejected:
        co_return co_await refuse(scanner_.rejection());
      case http1::HeadScanner::Outcome::need_more:
        break;
    }
    if (!hold_head(0)) co_return co_await refuse(kBusy);
    Instant deadline;
    if (buffer.empty()) {
      if (core_.draining) co_return false;
      buffer.shrink();
      hold_head(0);
      deadline = core_.runtime.now() + core_.limits.idle_time;
    } else {
      if (header_deadline == Instant::max())
        header_deadline = core_.runtime.now() + core_.limits.header_time;
      deadline = header_deadline;
    }
    idle_ = buffer.empty();
    const bool arrived = co_await more(deadline);
    idle_ = false;
    if (!arrived) co_return false;
  }
}

Task<bool> Http1Server::receive() {
  if (!co_await receive_head()) co_return false;
  ReadBuffer& buffer = transport_.buffer();
  if (std::exchange(first_, false) && !stream_.peer().tls &&
      buffer.view().starts_with("PRI * HTTP/2.0\r\n\r\n")) {
    http2_preface_ = buffer.view();
    co_return false;
  }
  const http1::HeadLimits limits{.bytes = core_.limits.header_bytes,
                                 .fields = core_.limits.header_count};
  const auto head =
      http1::parse_request_head(buffer.view().substr(scanner_.begin(), scanner_.length()), limits);
  if (!head) co_return co_await refuse(head.error());
  if (!hold_head(scanner_.length())) co_return co_await refuse(kBusy);
  Request request = to_request(*head);
  const bool http11 = head->minor_version > 0;
  bool keep_alive = head->keep_alive;
  buffer.consume(scanner_.begin() + scanner_.length());
  // From here on only the numbers of `head` are used: its views died with the buffer's content.
  Caller caller = core_.handler.recognise(request, stream_.peer());
  if (!visit_.recognise(caller)) co_return co_await refuse(kBusy);
  if (head->framing != http1::Framing::none) {
    if (caller.body_bytes == 0) {
      // Answered without its body; nothing after the head can be told from it.
      core_.count(Refusal::body_of_stranger);
      keep_alive = false;
      refused_ = true;
    } else if (!co_await receive_body(*head, request, caller)) {
      co_return false;
    }
  }
  exchange_.reset(std::move(request), std::move(caller), http11, keep_alive);
  co_return true;
}

Task<bool> Http1Server::receive_body(const http1::RequestHead& head, Request& request,
                                     const Caller& caller) {
  ReadBuffer& buffer = transport_.buffer();
  const Limits& limits = core_.limits;
  const std::size_t most = std::min(limits.body_bytes, caller.body_bytes);
  const std::string limit = limit_text(most);
  const http1::Rejection too_large{413, limit};
  if (head.content_length > most) co_return co_await refuse(too_large);
  if (head.expect_continue && buffer.empty()) {
    const Result<> asked = co_await transport_.write(http1::kContinue, limits.write_stall_time);
    if (!asked) co_return false;
  }
  const Instant deadline = core_.runtime.now() + limits.body_time;
  http1::BodyDecoder body(head.framing, head.content_length);
  const std::size_t expected = head.content_length > 0 ? head.content_length : most;
  body_account_ = visit_.account_of(caller);
  Lease& lease = body_lease_.emplace(body_account_->bytes);
  while (!body.done()) {
    if (buffer.empty() && !co_await more(deadline)) co_return false;
    const http1::BodyDecoder::Step step = body.decode(buffer.view());
    if (body.rejected()) co_return co_await refuse(body.rejection());
    if (request.body.size() + step.payload.size() > most) co_return co_await refuse(too_large);
    if (!append_body(request.body, step.payload, expected, lease)) {
      core_.count(Refusal::memory);
      co_return co_await refuse(kBusy);
    }
    buffer.consume(step.consumed);
  }
  co_return true;
}

}  // namespace fairlead::http
