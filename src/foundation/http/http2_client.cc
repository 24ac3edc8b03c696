#include "foundation/http/http2_client.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "foundation/http/server_core.h"

namespace fairlead::http {
namespace {

constexpr std::int32_t kStreamWindow = 256 << 10;
constexpr std::int32_t kConnectionWindow = 64 << 20;
constexpr std::size_t kReadBytes = 32 << 10;
constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::size_t kWaitingBytes = 256 << 10;
constexpr Duration kWriteStall = 30s;
// Concurrent requests until the server has said how many it takes: what RFC 9113 recommends as the
// least.
constexpr std::size_t kFirstCalls = 100;

nghttp2_nv pair_of(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

Error stream_error(std::uint32_t code) {
  if (code == NGHTTP2_REFUSED_STREAM) return {Code::unavailable, "request refused by the server"};
  return {Code::io, std::string("stream reset: ").append(nghttp2_http2_strerror(code))};
}

}  // namespace

class Http2ClientStream final : public ClientStream {
 public:
  Http2ClientStream(std::shared_ptr<Http2Client> connection, std::shared_ptr<Http2Call> call)
      : connection_(std::move(connection)), call_(std::move(call)) {}
  ~Http2ClientStream() override {
    if (!call_->closed) connection_->reset(*call_, NGHTTP2_CANCEL);
  }

  Task<Result<ResponseHead>> head() override {
    while (!call_->head && !call_->ended) {
      FL_CO_CHECKED(co_await call_->changed.wait());
    }
    if (call_->head) co_return *call_->head;
    if (call_->error) co_return fail(*call_->error);
    co_return fail(Code::corrupt, "response without a head");
  }

  Task<Result<std::optional<Bytes>>> read() override {
    while (call_->pieces.empty() && !call_->ended) {
      FL_CO_CHECKED(co_await call_->changed.wait());
    }
    if (call_->pieces.empty()) {
      if (call_->error) co_return fail(*call_->error);
      co_return std::optional<Bytes>();
    }
    std::optional<Bytes> piece(std::move(call_->pieces.front()));
    call_->pieces.pop_front();
    if (!call_->closed) {
      nghttp2_session_consume_stream(connection_->session(), call_->id, piece->size());
      connection_->wake_writer();
    }
    co_return piece;
  }

  const Headers& trailers() const override { return call_->trailers; }

  Task<Result<>> write(Bytes piece) override {
    while (call_->out.waiting() > kWaitingBytes && !call_->closed) {
      FL_CO_CHECKED(co_await call_->changed.wait());
    }
    if (call_->error) co_return fail(*call_->error);
    if (call_->closed) co_return fail(Code::io, "the server ended the stream");
    CHECK(!call_->out.finished());
    call_->out.push(std::move(piece));
    resume();
    co_return Result<>{};
  }

  Task<Result<>> finish() override {
    if (call_->error) co_return fail(*call_->error);
    call_->out.finish();
    if (!call_->closed) resume();
    co_return Result<>{};
  }

 private:
  void resume() {
    nghttp2_session_resume_data(connection_->session(), call_->id);
    connection_->wake_writer();
  }

  std::shared_ptr<Http2Client> connection_;
  std::shared_ptr<Http2Call> call_;
};

Http2Client::Http2Client(runtime::Runtime& runtime, std::unique_ptr<runtime::Stream> stream,
                         const ClientOptions& options)
    : Http2Session(runtime, *stream, buffers_, Side::client,
                   {.quiet = kReadBytes, .most = kReadBytes}, kWriteStall),
      stream_(std::move(stream)),
      ping_interval_(options.ping_interval),
      ping_time_(options.ping_time),
      ping_answer_time_(options.ping_answer_time),
      ping_timer_(runtime, [this] { look_for_silence(); }),
      held_ping_timer_(runtime, [this] { answer_ping(*std::exchange(held_ping_, std::nullopt)); }) {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeadBytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  CHECK(nghttp2_submit_settings(session(), NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  CHECK(nghttp2_session_set_local_window_size(session(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
        0);
}

Http2Client::~Http2Client() = default;

Task<void> Http2Client::run(std::shared_ptr<Http2Client> self, Notices notices) {
  self->notices_ = std::move(notices);
  const Error reason = co_await self->pump({});
  self->make_unusable(reason);
  self->fail_calls(reason);
  self->notices_ = {};
  self->stream_->close();
}

void Http2Client::make_unusable(const Error& why) {
  if (std::exchange(usable_, false) && notices_.unusable) notices_.unusable(why);
}

bool Http2Client::has_room() const {
  const std::size_t limit = settled_ ? nghttp2_session_get_remote_settings(
                                           session(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
                                     : kFirstCalls;
  return usable_ && calls_.size() < limit;
}

void Http2Client::retire() {
  make_unusable({Code::unavailable, "a new connection takes over"});
  if (calls_.empty()) terminate(NGHTTP2_NO_ERROR);
}

void Http2Client::close() {
  closing_ = true;
  make_unusable({Code::unavailable, "client closed"});
  fail_calls({Code::unavailable, "client closed"});
  abort({Code::unavailable, "client closed"});
  stream_->close();
}

void Http2Client::fail_calls(const Error& why) {
  auto calls = std::exchange(calls_, {});
  for (auto& [id, call] : calls) {
    const Code code = closing_ || !call->handed_over ? Code::unavailable
                      : why.code == Code::timeout    ? Code::timeout
                                                     : Code::io;
    call->closed = true;
    call->out.discard();
    call->end_with({code, why.message});
    call->changed.notify();
  }
}

Result<std::unique_ptr<ClientStream>> Http2Client::open(const OutgoingRequest& request) {
  if (!usable_) return fail(Code::unavailable, "connection is ending");
  std::vector<nghttp2_nv> fields;
  fields.reserve(request.head.headers.size() + 5);
  fields.push_back(pair_of(":method", request.head.method));
  fields.push_back(pair_of(":scheme", request.tls ? "https" : "http"));
  fields.push_back(pair_of(":authority", request.head.authority));
  fields.push_back(pair_of(":path", request.head.target));
  const std::string length = std::to_string(request.body.size());
  if (request.has_length()) fields.push_back(pair_of("content-length", length));
  for (const auto& [name, value] : request.head.headers)
    if (!is_connection_field(name) && !equals_ignoring_case(name, "host"))
      fields.push_back(pair_of(name, value));

  auto call = std::make_shared<Http2Call>();
  call->out.push(request.body);
  if (!request.more_body) call->out.finish();
  const bool with_body = request.more_body || !request.body.empty();
  const nghttp2_data_provider provider = provider_of(call->out);
  const std::int32_t id = nghttp2_submit_request(session(), nullptr, fields.data(), fields.size(),
                                                 with_body ? &provider : nullptr, call.get());
  if (id < 0) {
    make_unusable({Code::unavailable, nghttp2_strerror(id)});
    return fail(Code::unavailable, nghttp2_strerror(id));
  }
  call->id = id;
  calls_.emplace(id, call);
  const Instant now = runtime().now();
  // After a silence nobody knows whether the other side is still there: ask along with the request.
  if (now - last_received() >= ping_interval_ && pinged_at_ == Instant::max()) {
    send_ping();
  } else if (pinged_at_ == Instant::max()) {
    ping_timer_.set(now + ping_interval_);
  }
  wake_writer();
  return std::make_unique<Http2ClientStream>(shared_from_this(), std::move(call));
}

void Http2Client::send_ping() {
  pinged_at_ = runtime().now();
  nghttp2_submit_ping(session(), NGHTTP2_FLAG_NONE, nullptr);
  wake_writer();
  ping_timer_.set(pinged_at_ + ping_time_);
}

void Http2Client::look_for_silence() {
  const Instant now = runtime().now();
  if (pinged_at_ != Instant::max()) {
    if (last_received() < pinged_at_) {
      abort({Code::timeout, "server is silent"});
      return;
    }
    pinged_at_ = Instant::max();
  }
  if (calls_.empty()) return;  // servers take pings without calls for abuse
  if (now - last_received() >= ping_interval_) {
    send_ping();
  } else {
    ping_timer_.set(last_received() + ping_interval_);
  }
}

// One ping may wait for its answer; what comes beside it is answered at once.
void Http2Client::hold_or_answer(const PingContent& content) {
  if (ping_answer_time_ == 0s || held_ping_) return answer_ping(content);
  held_ping_ = content;
  held_ping_timer_.set(runtime().now() + ping_answer_time_);
}

void Http2Client::answer_ping(const PingContent& content) {
  if (nghttp2_submit_ping(session(), NGHTTP2_FLAG_ACK, content.data()) != 0)
    return abort({Code::exhausted, "the server pings without end"});
  wake_writer();
}

void Http2Client::reset(Http2Call& call, std::uint32_t code) {
  if (call.closed) return;
  nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, call.id, code);
  call.pieces.clear();
  call.out.discard();
  wake_writer();
}

void Http2Client::forget(std::int32_t id) {
  calls_.erase(id);
  if (calls_.empty() && !usable_) terminate(NGHTTP2_NO_ERROR);
}

void Http2Client::on_header(const nghttp2_frame& frame, std::string_view name,
                            std::string_view value) {
  Http2Call* call = find(frame.hd.stream_id);
  if (!call || call->ended) return;
  call->head_bytes += name.size() + value.size() + 32;
  if (call->head_bytes > kHeadBytes) {
    call->end_with({Code::exhausted, "response header too large"});
    reset(*call, NGHTTP2_ENHANCE_YOUR_CALM);
    return;
  }
  if (name == ":status") {
    call->arriving.emplace();
    std::from_chars(value.data(), value.data() + value.size(), call->arriving->status);
  } else if (call->arriving) {
    call->arriving->headers.add(std::string(name), std::string(value));
  } else {
    call->trailers.add(std::string(name), std::string(value));
  }
}

void Http2Client::on_frame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) {
    make_unusable({Code::unavailable, "server is going away"});
    if (calls_.empty()) terminate(NGHTTP2_NO_ERROR);
    return;
  }
  if (frame.hd.type == NGHTTP2_SETTINGS && !(frame.hd.flags & NGHTTP2_FLAG_ACK)) {
    settled_ = true;
    if (notices_.settled) notices_.settled();
    return;
  }
  if (frame.hd.type == NGHTTP2_PING && !(frame.hd.flags & NGHTTP2_FLAG_ACK)) {
    hold_or_answer(std::to_array(frame.ping.opaque_data));
    return;
  }
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  Http2Call* call = find(frame.hd.stream_id);
  if (!call) return;
  if (call->arriving) {
    if (call->arriving->status >= 200) call->head = std::move(call->arriving);
    call->arriving.reset();  // interim heads (1xx) are passed over
  }
  if (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) call->ended = true;
  call->changed.notify();
}

void Http2Client::on_body(std::int32_t id, std::string_view bytes) {
  nghttp2_session_consume_connection(session(), bytes.size());
  Http2Call* call = find(id);
  if (!call || call->ended) return;
  call->pieces.push_back(Bytes(std::string(bytes)));
  call->changed.notify();
}

void Http2Client::on_stream_closed(std::int32_t id, std::uint32_t code) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const std::shared_ptr<Http2Call> call = found->second;
  call->closed = true;
  call->out.discard();
  call->end_with(stream_error(code));
  call->changed.notify();
  forget(id);
}

void Http2Client::on_frame_sent(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS) return;
  if (Http2Call* call = find(frame.hd.stream_id)) call->handed_over = true;
}

void Http2Client::on_frame_not_sent(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS) return;
  const auto found = calls_.find(frame.hd.stream_id);
  if (found == calls_.end()) return;
  const std::shared_ptr<Http2Call> call = found->second;
  call->closed = true;
  call->end_with({Code::unavailable, "request was not sent"});
  forget(frame.hd.stream_id);
}

void Http2Client::on_body_sent(std::int32_t id) {
  if (Http2Call* call = find(id)) call->changed.notify();
}

}  // namespace fairlead::http
