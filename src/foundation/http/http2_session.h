// The common part of HTTP/2 client and server: an nghttp2 session on a Stream. One fiber reads and
// feeds the session; one writes the pending frames of all streams in as few writes as possible.
// Internal to http/.
//
// The derived class overrides the events it cares about. Events arrive while the session is being
// fed or drained, so they may submit frames but never wait. Flow control is nghttp2's.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/bytes.h"
#include "foundation/base/fifo.h"
#include "foundation/http/buffer_pool.h"
#include "foundation/http/lazy_timer.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::http {

// The body one side sends on one stream: shared pieces waiting for the window to open.
class OutgoingBody {
 public:
  void push(Bytes piece) {
    if (piece.empty()) return;
    waiting_ += piece.size();
    const std::size_t own = piece.is_shared() ? 0 : piece.size();
    own_ += own;
    pieces_.push_back({std::move(piece), own});
  }
  void finish() { finished_ = true; }
  void discard() {
    pieces_.clear();
    waiting_ = own_ = 0;
  }
  std::size_t waiting() const { return waiting_; }
  // The part of waiting() that this body held alone when it was added.
  std::size_t own() const { return own_; }
  std::uint64_t sent() const { return sent_; }
  bool finished() const { return finished_; }
  // Moves the next `n` bytes to the end of `out`. REQUIRES: n <= waiting().
  void take(std::size_t n, std::string& out);

 private:
  struct Piece {
    Bytes bytes;
    std::size_t own = 0;
  };
  Fifo<Piece> pieces_;
  std::size_t front_offset_ = 0;
  std::size_t waiting_ = 0;
  std::size_t own_ = 0;
  std::uint64_t sent_ = 0;
  bool finished_ = false;
};

class Http2Session {
 public:
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

 protected:
  enum class Side { client, server };
  // The size of the read buffer: while the connection is idle, and at most.
  struct ReadBytes {
    std::size_t quiet;
    std::size_t most;
  };
  Http2Session(runtime::Runtime& runtime, runtime::Stream& stream, BufferPool& buffers, Side side,
               ReadBytes read_bytes, Duration write_stall);
  ~Http2Session();  // never destroyed as this: each end owns its own kind

  virtual void on_frame_begun(const nghttp2_frame_hd&) {}
  virtual void on_begin_headers(const nghttp2_frame&) {}
  virtual void on_header(const nghttp2_frame&, std::string_view, std::string_view) {}
  virtual void on_frame(const nghttp2_frame&) {}
  virtual void on_body(std::int32_t, std::string_view) {}
  virtual void on_stream_closed(std::int32_t, std::uint32_t) {}
  virtual void on_frame_sent(const nghttp2_frame&) {}
  virtual void on_frame_not_sent(const nghttp2_frame&) {}
  virtual void on_body_sent(std::int32_t) {}
  virtual void on_bad_frame(const nghttp2_frame&) {}
  // How many bytes to gather for the next write: a buffer of the pool, or a small one.
  virtual std::size_t begin_write() { return BufferPool::kBufferBytes; }
  virtual void end_write() {}

  // Feeds `received`, then reads and writes until the connection is over. Returns why.
  Task<Error> pump(std::string received);

  // Something was submitted: it is written in this turn of the loop.
  void wake_writer() { to_write_.notify(); }
  // Makes pump() return as soon as everything queued was sent, with a GOAWAY of this code last.
  void terminate(std::uint32_t code);
  // How many frames may wait for a peer that does not read; above that the peer is not read either.
  void set_most_outbound(std::size_t frames) { most_outbound_ = frames; }
  // How much is read at a time from a peer that sends a lot.
  void set_most_read(std::size_t bytes) { read_bytes_.most = bytes; }
  // Makes pump() return now.
  void abort(Error reason);

  nghttp2_session* session() const { return session_.get(); }
  void* user_data(std::int32_t id) const {
    return nghttp2_session_get_stream_user_data(session_.get(), id);
  }
  // A provider that sends what `body` holds and defers while it is empty and not finished.
  static nghttp2_data_provider provider_of(OutgoingBody& body);

  runtime::Runtime& runtime() { return runtime_; }
  runtime::Stream& stream() { return stream_; }
  Instant last_received() const { return last_received_; }

 private:
  struct Callbacks;
  class ReadRoom;
  struct Deleter {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  Task<void> write_loop();
  Task<void> read_loop();
  bool feed(std::string_view bytes);
  bool collect(std::string& out);
  bool may_read() const;
  bool over() const {
    return !nghttp2_session_want_read(session_.get()) &&
           !nghttp2_session_want_write(session_.get());
  }

  runtime::Runtime& runtime_;
  runtime::Stream& stream_;
  BufferPool& buffers_;
  ReadBytes read_bytes_;
  const Duration write_stall_;
  std::size_t most_outbound_ = 10'000;
  std::unique_ptr<nghttp2_session, Deleter> session_;
  std::string* collecting_ = nullptr;
  std::size_t most_collected_ = 0;
  bool collected_enough_ = false;
  runtime::Signal to_write_;
  runtime::Signal written_;
  bool ended_ = false;
  Error reason_;
  runtime::Nested<Result<std::size_t>>* reading_ = nullptr;
  runtime::Nested<Result<>>* writing_ = nullptr;
  LazyTimer write_timer_;
  Instant last_received_;
};

}  // namespace fairlead::http
