#include "foundation/http/http2_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "foundation/base/log.h"
#include "foundation/http/http2_server_stream.h"
#include "foundation/wire/http1.h"

namespace fairlead::http {
namespace {

constexpr std::int32_t kStreamWindow = 256 << 10;
constexpr std::int32_t kConnectionWindow = 16 << 20;
constexpr std::size_t kQuietBytes = 1 << 10;  // there may be thousands of quiet connections
constexpr std::size_t kReadBytes = 8 << 10;
constexpr double kResetsPerSecond = 100;
constexpr double kControlFrames = 2'000;
constexpr double kControlFramesPerSecond = 100;
// What a stream costs beside its head: our object and nghttp2's, the handler's fiber, a short
// answer.
constexpr std::size_t kStreamBytes = 4 << 10;
// What every connection may have for its streams before it counts.
constexpr std::size_t kUsualHeads = 16 << 10;
// Frames waiting for a peer that does not read them; beyond, the peer is not read either. What is
// read at once can add to them, so strangers are read in small pieces.
constexpr std::size_t kStrangersFrames = 100;
constexpr std::size_t kKnownFrames = 4'000;
constexpr Duration kQuietTime = 60s;  // a silent peer with open streams is probed …
constexpr Duration kProbeTime = 30s;  // … and cut after this

Duration sweep_interval_of(const Limits& limits) {
  const Duration shortest =
      std::min({limits.header_time, limits.body_time, limits.write_stall_time, limits.idle_time});
  return std::clamp<Duration>(shortest / 4, 10ms, 5s);
}

nghttp2_nv pair_of(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Values that do not come again: remembering them, as HPACK does, fills the tables of both sides
// with what nobody refers to.
bool is_passing(std::string_view name) {
  return equals_ignoring_case(name, "audit-id") || equals_ignoring_case(name, "date");
}

nghttp2_nv field_of(std::string_view name, std::string_view value) {
  nghttp2_nv field = pair_of(name, value);
  if (is_passing(name)) field.flags |= NGHTTP2_NV_FLAG_NO_INDEX;
  return field;
}

}  // namespace

Http2Server::Http2Server(ServerCore& core, runtime::Stream& stream, Visit& visit,
                         std::string received)
    : Http2Session(core.runtime, stream, core.buffers, Side::server,
                   {.quiet = kQuietBytes, .most = kQuietBytes}, core.limits.write_stall_time),
      core_(core),
      visit_(visit),
      received_(std::move(received)),
      resets_(std::max(1000.0, 2.0 * core.limits.streams_per_connection), kResetsPerSecond,
              core.runtime.now()),
      control_frames_(kControlFrames, kControlFramesPerSecond, core.runtime.now()),
      sweep_interval_(sweep_interval_of(core.limits)),
      sweep_timer_(*this),
      idle_since_(core.runtime.now()),
      handlers_(core.runtime) {
  submit_settings();
}

Http2Server::~Http2Server() = default;

void Http2Server::submit_settings() {
  const Limits& limits = core_.limits;
  const std::uint32_t streams =
      visit_.known() ? limits.streams_per_connection
                     : std::min(limits.streams_per_connection, limits.stranger_streams);
  set_most_outbound(visit_.known() ? kKnownFrames : kStrangersFrames);
  if (visit_.known()) set_most_read(kReadBytes);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.header_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  CHECK(nghttp2_submit_settings(session(), NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
  CHECK(nghttp2_session_set_local_window_size(session(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
        0);
}

// A caller is known: from now on there is room for as many streams as a client may want.
void Http2Server::welcome() {
  set_most_outbound(kKnownFrames);
  set_most_read(kReadBytes);
  if (core_.limits.streams_per_connection <= core_.limits.stranger_streams) return;
  const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                       core_.limits.streams_per_connection};
  CHECK(nghttp2_submit_settings(session(), NGHTTP2_FLAG_NONE, &setting, 1) == 0);
  wake_writer();
}

bool Http2Server::hold_heads(std::size_t more) {
  const std::size_t wanted = heads_ + more;
  if (wanted > kUsualHeads && !visit_.hold_heads(wanted)) return false;
  heads_ = wanted;
  return true;
}

void Http2Server::drop_heads(std::size_t bytes) {
  heads_ -= bytes;
  // Less than before: never refused.
  if (visit_.heads() > 0) visit_.hold_heads(heads_ > kUsualHeads ? heads_ : 0);
}

void Http2Server::no_room_for_heads() {
  if (flooded_) return;
  core_.count(Refusal::memory);
  flood("memory for requests");
}

Task<void> Http2Server::run() {
  core_.runtime.timers().add(sweep_timer_, core_.runtime.now() + sweep_interval_);
  const Error reason = co_await pump(std::move(received_));
  core_.runtime.timers().remove(sweep_timer_);
  if (reason.code == Code::corrupt && !flooded_) ++core_.counters.protocol_errors;
  co_await handlers_.close();
  streams_.clear();
  // A peer that is cut for a flood is still sending: it shall get to read why.
  co_await linger(core_.runtime, stream(), reason.code != Code::corrupt);
}

void Http2Server::drain() {
  if (std::exchange(draining_, true)) return;
  if (streams_.empty()) {
    terminate(NGHTTP2_NO_ERROR);
    return;
  }
  // First only a warning, so that requests on their way are still served; the PING's answer says
  // that the peer has seen it, and then the line is drawn.
  nghttp2_submit_shutdown_notice(session());
  nghttp2_submit_ping(session(), NGHTTP2_FLAG_NONE, nullptr);
  wake_writer();
}

void Http2Server::flood(std::string_view what) {
  if (std::exchange(flooded_, true)) return;
  ++core_.counters.protocol_errors;
  log::warning("HTTP/2 connection cut", {{"peer", stream().peer().address}, {"reason", what}});
  terminate(NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2Server::count_control_frame() {
  if (!control_frames_.take(core_.runtime.now())) flood("control frames");
}

void Http2Server::count_reset() {
  if (!resets_.take(core_.runtime.now())) flood("stream resets");
}

void Http2Server::on_begin_headers(const nghttp2_frame& frame) {
  headers_since_ = core_.runtime.now();
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST || flooded_) return;
  // Cancelled handlers may take a moment to end; streams opened meanwhile must not pile up on them.
  if (streams_.size() >= 2 * static_cast<std::size_t>(core_.limits.streams_per_connection))
    return flood("streams");
  auto stream = std::make_unique<Http2ServerStream>(*this, frame.hd.stream_id);
  if (!stream->hold(kStreamBytes)) return no_room_for_heads();
  nghttp2_session_set_stream_user_data(session(), frame.hd.stream_id, stream.get());
  streams_.emplace(frame.hd.stream_id, std::move(stream));
}

void Http2Server::on_header(const nghttp2_frame& frame, std::string_view name,
                            std::string_view value) {
  Http2ServerStream* stream = find(frame.hd.stream_id);
  if (!stream) return;
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    if (stream->take_field(name, value)) return;
  } else {
    stream->head_bytes_ += name.size() + value.size() + 32;  // trailers are counted, not kept
  }
  if (stream->head_bytes_ > 4 * core_.limits.header_bytes) flood("headers");
}

void Http2Server::on_frame(const nghttp2_frame& frame) {
  Http2ServerStream* stream = frame.hd.stream_id > 0 ? find(frame.hd.stream_id) : nullptr;
  const bool last = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      headers_since_ = Instant::max();
      drop_heads(std::exchange(block_bytes_, 0));
      if (!stream) return;
      if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) return head_complete(*stream, last);
      if (last) dispatch(*stream);
      return;
    case NGHTTP2_DATA:
      if (frame.hd.length == 0 && !last) count_control_frame();
      if (stream && last) dispatch(*stream);
      return;
    case NGHTTP2_RST_STREAM:
      return count_reset();
    case NGHTTP2_PING:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) && draining_)
        nghttp2_submit_goaway(session(), NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(session()), NGHTTP2_NO_ERROR,
                              nullptr, 0);
      return;
    default:
      return;
  }
}

void Http2Server::on_frame_begun(const nghttp2_frame_hd& header) {
  switch (header.type) {
    case NGHTTP2_HEADERS:
      drop_heads(std::exchange(block_bytes_, 0));  // of one that nghttp2 refused without a word
      [[fallthrough]];
    case NGHTTP2_CONTINUATION:  // bounded by nghttp2 and by the size of a head
      // What nghttp2 has of a field that is not whole yet.
      if (!hold_heads(header.length)) return no_room_for_heads();
      block_bytes_ += header.length;
      return;
    case NGHTTP2_DATA:
    case NGHTTP2_WINDOW_UPDATE:  // costs nothing but its bytes
    case NGHTTP2_RST_STREAM:
      return;
    default:
      if ((header.flags & NGHTTP2_FLAG_ACK) == 0) count_control_frame();
  }
}

void Http2Server::head_complete(Http2ServerStream& stream, bool whole) {
  stream.head_complete_ = true;
  const Limits& limits = core_.limits;
  if (flooded_) return;
  if (stream.head_bytes_ > limits.header_bytes || stream.head_fields_ > limits.header_count)
    return refuse(stream, 431, "header too large");
  if (const auto objection = stream.objection())
    return refuse(stream, objection->first, objection->second);
  stream.caller_ = core_.handler.recognise(stream.request_, this->stream().peer());
  const bool was_known = visit_.known();
  if (!visit_.recognise(stream.caller_)) {
    refuse(stream, 429, "too many requests are being received");
    return drain();
  }
  if (!was_known && visit_.known()) welcome();
  if (whole) return dispatch(stream);
  if (stream.caller_.body_bytes > 0) return expect_body(stream);
  core_.count(Refusal::body_of_stranger);
  dispatch(stream);
  stream.receiving_ = true;  // the rest is refused once the answer is out
}

void Http2Server::expect_body(Http2ServerStream& stream) {
  const Limits& limits = core_.limits;
  stream.most_body_ = std::min(limits.body_bytes, stream.caller_.body_bytes);
  stream.expected_body_ = stream.most_body_;
  std::uint64_t length = 0;
  if (wire::http1::parse_content_length(stream.request_.headers.get("content-length"), length)) {
    if (length > stream.most_body_) return refuse(stream, 413, limit_text(stream.most_body_));
    stream.expected_body_ = length;
  }
  stream.body_account_ = visit_.account_of(stream.caller_);
  stream.body_lease_.emplace(stream.body_account_->bytes);
  stream.body_deadline_ = core_.runtime.now() + limits.body_time;
  if (stream.request_.headers.has("expect")) {
    const nghttp2_nv status = pair_of(":status", "100");
    nghttp2_submit_headers(session(), NGHTTP2_FLAG_NONE, stream.id_, nullptr, &status, 1, nullptr);
  }
}

void Http2Server::on_body(std::int32_t id, std::string_view bytes) {
  nghttp2_session_consume(session(), id, bytes.size());
  Http2ServerStream* stream = find(id);
  if (!stream || stream->refused_ || !stream->body_lease_ || stream->running_) return;
  if (stream->request_.body.size() + bytes.size() > stream->most_body_)
    return refuse(*stream, 413, limit_text(stream->most_body_));
  if (append_body(stream->request_.body, bytes, stream->expected_body_, *stream->body_lease_))
    return;
  core_.count(Refusal::memory);
  refuse(*stream, 429, "too many requests are being received");
}

void Http2Server::dispatch(Http2ServerStream& stream) {
  stream.receiving_ = false;
  stream.body_deadline_ = Instant::max();
  if (stream.refused_ || stream.running_ || flooded_) return;
  stream.running_ = true;
  stream.count_.emplace(core_);
  handlers_.spawn(run_stream(stream));
}

void Http2Server::refuse(Http2ServerStream& stream, int status, std::string_view reason) {
  if (std::exchange(stream.refused_, true)) return;
  if (status != 413 && status != 429 && status != 408) ++core_.counters.protocol_errors;
  if (status == 413) core_.count(Refusal::body_size);
  if (status == 431) core_.count(Refusal::head_size);
  if (status == 408) core_.count(Refusal::slow);
  stream.body_deadline_ = Instant::max();
  stream.request_ = {};
  stream.hold(kStreamBytes);  // less than before: never refused
  stream.release_body();
  submit_refusal(stream, core_.handler.refusal(status, reason));
}

void Http2Server::submit_refusal(Http2ServerStream& stream, Response response) {
  for (Bytes& piece : response.body) stream.out_.push(std::move(piece));
  stream.out_.finish();
  stream.phase_ = Http2ServerStream::Phase::ended;
  (void)submit_response(stream, response.status, response.headers, true);
}

Result<> Http2Server::submit_response(Http2ServerStream& stream, int status, const Headers& headers,
                                      bool with_body) {
  const std::string status_text = std::to_string(status);
  std::vector<nghttp2_nv> fields;
  fields.reserve(headers.size() + 2);
  fields.push_back(pair_of(":status", status_text));
  for (const auto& [name, value] : headers) {
    if (is_connection_field(name) && !equals_ignoring_case(name, "content-length")) continue;
    fields.push_back(field_of(name, value));
  }
  if (!headers.has("date")) fields.push_back(field_of("date", core_.date()));
  const nghttp2_data_provider provider = provider_of(stream.out_);
  const int outcome = nghttp2_submit_response(session(), stream.id_, fields.data(), fields.size(),
                                              with_body ? &provider : nullptr);
  if (outcome != 0) return fail(Code::internal, nghttp2_strerror(outcome));
  stream.moved_at_ = core_.runtime.now();
  wake_writer();
  return {};
}

void Http2Server::reset_stream(Http2ServerStream& stream, std::uint32_t code) {
  nghttp2_submit_rst_stream(session(), NGHTTP2_FLAG_NONE, stream.id_, code);
  wake_writer();
}

Task<void> Http2Server::run_stream(Http2ServerStream& stream) {
  {
    runtime::Nested<void> handling(core_.runtime, core_.handler.serve(stream));
    stream.handling_ = &handling;
    if (stream.closed_) handling.cancel();
    co_await handling;
    stream.handling_ = nullptr;
  }
  stream.count_.reset();
  stream.release_body();
  if (stream.phase_ == Http2ServerStream::Phase::waiting && !stream.closed_) {
    submit_refusal(stream, plain_response(500, "the request was not answered"));
  } else if (stream.phase_ == Http2ServerStream::Phase::streaming && !stream.closed_) {
    reset_stream(stream, NGHTTP2_INTERNAL_ERROR);
  }
  while (!stream.closed_)
    if (!co_await stream.changed_.wait()) break;
  stream.running_ = false;
  if (stream.closed_) forget(stream.id_);
}

void Http2Server::on_body_sent(std::int32_t id) {
  Http2ServerStream* stream = find(id);
  if (!stream) return;
  stream->hold_answer(0);  // less waits than before
  if (stream->running_) stream->changed_.notify();
}

std::size_t Http2Server::begin_write() {
  constexpr std::size_t kBuffer = BufferPool::kBufferBytes;
  return visit_.known() && visit_.hold_buffers(kBuffer) ? kBuffer : kSmallWrite;
}

void Http2Server::on_frame_sent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) {
    if (frame.goaway.error_code != NGHTTP2_NO_ERROR && !flooded_) ++core_.counters.protocol_errors;
    return;
  }
  if (frame.hd.type == NGHTTP2_RST_STREAM) {
    // Resets that the peer provoked count like its own (a peer can make a server reset streams).
    if (frame.rst_stream.error_code != NGHTTP2_NO_ERROR) count_reset();
    if (frame.rst_stream.error_code == NGHTTP2_REFUSED_STREAM) core_.count(Refusal::streams);
    return;
  }
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  Http2ServerStream* stream = find(frame.hd.stream_id);
  // The answer is complete and the request is not: tell the peer to stop sending it.
  if (stream && stream->receiving_) reset_stream(*stream, NGHTTP2_NO_ERROR);
}

void Http2Server::on_stream_closed(std::int32_t id, std::uint32_t) {
  Http2ServerStream* stream = find(id);
  if (!stream) return;
  stream->closed();
  if (!stream->running_) forget(id);
}

void Http2Server::forget(std::int32_t id) {
  streams_.erase(id);
  if (!streams_.empty()) return;
  idle_since_ = core_.runtime.now();
  if (draining_) terminate(NGHTTP2_NO_ERROR);
}

void Http2Server::on_bad_frame(const nghttp2_frame&) {
  ++core_.counters.protocol_errors;
  count_control_frame();
}

void Http2Server::sweep() {
  const Instant now = core_.runtime.now();
  const Limits& limits = core_.limits;
  core_.runtime.timers().add(sweep_timer_, now + sweep_interval_);
  if (headers_since_ != Instant::max() && now - headers_since_ >= limits.header_time)
    return flood("slow headers");
  if (streams_.empty()) {
    if (now - idle_since_ >= limits.idle_time) terminate(NGHTTP2_NO_ERROR);
    return;
  }
  for (const auto& [id, stream] : streams_) {
    if (stream->closed_) continue;
    if (now >= stream->body_deadline_) refuse(*stream, 408, "the request did not arrive in time");
    const bool sending =
        stream->phase_ == Http2ServerStream::Phase::ended || stream->out_.waiting() > 0;
    if (!sending || stream->out_.sent() != stream->swept_sent_) {
      stream->swept_sent_ = stream->out_.sent();
      stream->moved_at_ = now;
    } else if (now - stream->moved_at_ >= limits.write_stall_time) {
      reset_stream(*stream, NGHTTP2_CANCEL);
    }
  }
  probe_quiet_peer(now);
}

void Http2Server::probe_quiet_peer(Instant now) {
  if (probed_at_ != Instant::max()) {
    if (last_received() > probed_at_) {
      probed_at_ = Instant::max();
    } else if (now - probed_at_ >= kProbeTime) {
      abort({Code::timeout, "peer is silent"});
    }
  } else if (now - last_received() >= kQuietTime) {
    probed_at_ = now;
    nghttp2_submit_ping(session(), NGHTTP2_FLAG_NONE, nullptr);
    wake_writer();
  }
}

}  // namespace fairlead::http
