#include "foundation/http/http2_session.h"

#include <algorithm>
#include <span>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/http/session_memory.h"

namespace fairlead::http {
namespace {

std::string_view view_of(const std::uint8_t* bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};
}

}  // namespace

void OutgoingBody::take(std::size_t n, std::string& out) {
  waiting_ -= n;
  sent_ += n;
  while (n > 0) {
    const std::string_view front = pieces_.front().bytes.view().substr(front_offset_);
    const std::size_t taken = std::min(n, front.size());
    out.append(front.substr(0, taken));
    n -= taken;
    front_offset_ += taken;
    if (taken == front.size()) {
      own_ -= pieces_.front().own;
      pieces_.pop_front();
      front_offset_ = 0;
    }
  }
}

// Grows as soon as a read fills it, and is small again after one that would have fitted.
class Http2Session::ReadRoom {
 public:
  explicit ReadRoom(const ReadBytes& sizes) : sizes_(sizes) { resize(sizes.quiet); }
  std::span<char> span() { return {bytes_.get(), size_}; }
  void filled(std::size_t n) {
    if (n == size_ && size_ < sizes_.most) resize(sizes_.most);
    if (n < sizes_.quiet && size_ > sizes_.quiet) resize(sizes_.quiet);
  }

 private:
  // What was in it is gone.
  void resize(std::size_t size) {
    bytes_.reset();
    bytes_ = std::make_unique_for_overwrite<char[]>(size);
    size_ = size;
  }

  const ReadBytes& sizes_;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> bytes_;
};

// nghttp2 calls back in C; each callback finds the session object and hands on.
struct Http2Session::Callbacks {
  static Http2Session& self(void* user_data) { return *static_cast<Http2Session*>(user_data); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    self(user_data).on_begin_headers(*frame);
    return 0;
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_length, const std::uint8_t* value, std::size_t value_length,
                    std::uint8_t, void* user_data) {
    self(user_data).on_header(*frame, view_of(name, name_length), view_of(value, value_length));
    return 0;
  }
  static int frame_begun(nghttp2_session*, const nghttp2_frame_hd* header, void* user_data) {
    self(user_data).on_frame_begun(*header);
    return 0;
  }
  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    self(user_data).on_frame(*frame);
    return 0;
  }
  static int body(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                  std::size_t length, void* user_data) {
    self(user_data).on_body(id, view_of(bytes, length));
    return 0;
  }
  static int stream_closed(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user_data) {
    self(user_data).on_stream_closed(id, code);
    return 0;
  }
  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    self(user_data).on_frame_sent(*frame);
    return 0;
  }
  static int frame_not_sent(nghttp2_session*, const nghttp2_frame* frame, int, void* user_data) {
    self(user_data).on_frame_not_sent(*frame);
    return 0;
  }
  static int bad_frame(nghttp2_session*, const nghttp2_frame* frame, int, void* user_data) {
    self(user_data).on_bad_frame(*frame);
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t length,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    const OutgoingBody& body = *static_cast<OutgoingBody*>(source->ptr);
    if (body.waiting() == 0 && !body.finished()) return NGHTTP2_ERR_DEFERRED;
    const std::size_t n = std::min(length, body.waiting());
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (body.finished() && n == body.waiting()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }
  static int send_body(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* header,
                       std::size_t length, nghttp2_data_source* source, void* user_data) {
    constexpr std::size_t kFrameHeader = 9;
    Http2Session& session = self(user_data);
    std::string& out = *session.collecting_;
    if (out.size() >= session.most_collected_) {
      session.collected_enough_ = true;
      return NGHTTP2_ERR_WOULDBLOCK;
    }
    out.append(view_of(header, kFrameHeader));
    static_cast<OutgoingBody*>(source->ptr)->take(length, out);
    session.on_body_sent(frame->hd.stream_id);
    return 0;
  }

  static nghttp2_session_callbacks* make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, frame_begun);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, body);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_not_sent);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, bad_frame);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_body);
    return callbacks;
  }
};

nghttp2_data_provider Http2Session::provider_of(OutgoingBody& body) {
  nghttp2_data_provider provider{};
  provider.source.ptr = &body;
  provider.read_callback = Callbacks::read_body;
  return provider;
}

Http2Session::Http2Session(runtime::Runtime& runtime, runtime::Stream& stream, BufferPool& buffers,
                           Side side, ReadBytes read_bytes, Duration write_stall)
    : runtime_(runtime),
      stream_(stream),
      buffers_(buffers),
      read_bytes_(read_bytes),
      write_stall_(write_stall),
      write_timer_(runtime, [this] { abort({Code::timeout, "peer took no bytes in time"}); }),
      last_received_(runtime.now()) {
  nghttp2_session_callbacks* callbacks = Callbacks::make();
  nghttp2_option* option = nullptr;
  CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_closed_streams(option, 1);
  // Windows are opened by hand: on the connection at once, on a stream when its reader has read.
  nghttp2_option_set_no_auto_window_update(option, 1);
  // Clients choose when they answer a ping (ClientOptions::ping_answer_time).
  if (side == Side::client) nghttp2_option_set_no_auto_ping_ack(option, 1);
  // nghttp2 measures resets by the machine's clock; the server counts them by the runtime's.
  nghttp2_option_set_stream_reset_rate_limit(option, 1'000'000'000, 1'000'000'000);
  nghttp2_session* session = nullptr;
  const int made =
      side == Side::server
          ? nghttp2_session_server_new3(&session, callbacks, this, option, session_memory())
          : nghttp2_session_client_new3(&session, callbacks, this, option, session_memory());
  CHECK(made == 0);
  session_.reset(session);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
}

Http2Session::~Http2Session() = default;

void Http2Session::terminate(std::uint32_t code) {
  nghttp2_session_terminate_session(session_.get(), code);
  wake_writer();
}

void Http2Session::abort(Error reason) {
  if (std::exchange(ended_, true)) return;
  reason_ = std::move(reason);
  to_write_.notify();
  written_.notify();
  if (reading_) reading_->cancel();
  if (writing_) writing_->cancel();
}

bool Http2Session::feed(std::string_view bytes) {
  last_received_ = runtime_.now();
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken >= 0) return true;
  abort({Code::corrupt, std::string("HTTP/2: ").append(nghttp2_strerror(static_cast<int>(taken)))});
  return false;
}

Task<Error> Http2Session::pump(std::string received) {
  runtime::Scope fibers(runtime_);
  if (received.empty() || feed(received)) {
    fibers.spawn(write_loop());
    co_await read_loop();
    co_await fibers.join();
  }
  co_return reason_;
}

// Not while a peer leaves our answers unread, and not after the last word has been said.
bool Http2Session::may_read() const {
  return nghttp2_session_want_read(session_.get()) != 0 &&
         nghttp2_session_get_outbound_queue_size(session_.get()) <= most_outbound_;
}

Task<void> Http2Session::read_loop() {
  ReadRoom room(read_bytes_);
  while (!ended_) {
    while (!ended_ && !may_read())
      if (!co_await written_.wait()) abort({Code::cancelled, "cancelled"});
    if (ended_) break;
    runtime::Nested<Result<std::size_t>> read(runtime_, stream_.read(room.span()));
    reading_ = &read;
    const Result<std::size_t> got = co_await read;
    reading_ = nullptr;
    if (ended_) break;
    if (!got) {
      abort(got.error());
    } else if (*got == 0) {
      abort({Code::unavailable, "connection closed by the peer"});
    } else if (feed({room.span().data(), *got})) {
      wake_writer();
    }
    if (got) room.filled(*got);
  }
}

// What the session has to send, up to about as much as one write may hold. False when there is
// nothing.
bool Http2Session::collect(std::string& out) {
  collecting_ = &out;
  collected_enough_ = false;
  while (out.size() < most_collected_ && !collected_enough_) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t n = nghttp2_session_mem_send(session_.get(), &bytes);
    if (n < 0) {
      abort(
          {Code::internal, std::string("HTTP/2: ").append(nghttp2_strerror(static_cast<int>(n)))});
      break;
    }
    if (n == 0) break;
    out.append(view_of(bytes, static_cast<std::size_t>(n)));
  }
  collecting_ = nullptr;
  return !out.empty();
}

Task<void> Http2Session::write_loop() {
  while (!ended_) {
    most_collected_ = begin_write();
    const bool pooled = most_collected_ >= BufferPool::kBufferBytes;
    std::string out = pooled ? buffers_.take() : std::string();
    while (!ended_ && collect(out)) {
      runtime::Nested<Result<>> write(runtime_, stream_.write(out));
      write_timer_.set(runtime_.now() + write_stall_);
      writing_ = &write;
      const Result<> written = co_await write;
      writing_ = nullptr;
      write_timer_.clear();
      if (!written) abort(written.error());
      out.clear();
      written_.notify();
    }
    if (pooled) buffers_.give(std::move(out));
    end_write();
    if (ended_) break;
    if (over()) {
      abort({Code::unavailable, "connection ended"});
      break;
    }
    if (!co_await to_write_.wait()) {
      abort({Code::cancelled, "cancelled"});
      break;
    }
    co_await runtime::yield(runtime_);  // let every stream that is ready add to this write
  }
}

}  // namespace fairlead::http
