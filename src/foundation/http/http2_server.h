// The server side of one HTTP/2 connection: every stream's request is read whole and served by a
// fiber of its own. Internal to http/.
//
// Limits for hostile peers: streams and fibers by count (few until the caller is authenticated),
// headers and bodies by size, all heads and streams of a connection together by its account, resets
// and control frames by rate (rapid reset, PING and SETTINGS floods; over the rate the connection
// ends with GOAWAY), and everything by time (the streams are swept every few seconds).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/http/http2_session.h"
#include "foundation/http/server_core.h"
#include "foundation/http/token_bucket.h"

namespace fairlead::http {

class Http2ServerStream;

class Http2Server final : public ServerConnection, private Http2Session {
 public:
  // `received`: what was already read from the stream.
  Http2Server(ServerCore& core, runtime::Stream& stream, Visit& visit, std::string received);
  ~Http2Server() override;

  Task<void> run() override;
  void drain() override;

 private:
  friend class Http2ServerStream;

  void on_frame_begun(const nghttp2_frame_hd& header) override;
  void on_begin_headers(const nghttp2_frame& frame) override;
  void on_header(const nghttp2_frame& frame, std::string_view name,
                 std::string_view value) override;
  void on_frame(const nghttp2_frame& frame) override;
  void on_body(std::int32_t id, std::string_view bytes) override;
  void on_stream_closed(std::int32_t id, std::uint32_t code) override;
  void on_frame_sent(const nghttp2_frame& frame) override;
  void on_body_sent(std::int32_t id) override;
  void on_bad_frame(const nghttp2_frame& frame) override;
  std::size_t begin_write() override;
  void end_write() override { visit_.hold_buffers(0); }

  Http2ServerStream* find(std::int32_t id) const {
    return static_cast<Http2ServerStream*>(user_data(id));
  }
  void submit_settings();
  void welcome();
  void head_complete(Http2ServerStream& stream, bool whole);
  void expect_body(Http2ServerStream& stream);
  // Charges the heads; false when the account is used up.
  bool hold_heads(std::size_t more);
  void drop_heads(std::size_t bytes);
  void no_room_for_heads();
  void dispatch(Http2ServerStream& stream);
  // Answers without the handler; the rest of the request is discarded.
  void refuse(Http2ServerStream& stream, int status, std::string_view reason);
  void submit_refusal(Http2ServerStream& stream, Response response);
  Result<> submit_response(Http2ServerStream& stream, int status, const Headers& headers,
                           bool with_body);
  void reset_stream(Http2ServerStream& stream, std::uint32_t code);
  Task<void> run_stream(Http2ServerStream& stream);
  void forget(std::int32_t id);
  void count_control_frame();
  void count_reset();
  void flood(std::string_view what);
  void sweep();
  void probe_quiet_peer(Instant now);

  class SweepTimer final : public runtime::Timer {
   public:
    explicit SweepTimer(Http2Server& server) : server_(server) {}
    void fire() override { server_.sweep(); }

   private:
    Http2Server& server_;
  };

  ServerCore& core_;
  Visit& visit_;
  std::string received_;
  std::size_t heads_ = 0;        // what streams and their heads hold
  std::size_t block_bytes_ = 0;  // of a header block that has begun and not ended
  std::map<std::int32_t, std::unique_ptr<Http2ServerStream>> streams_;
  TokenBucket resets_;
  TokenBucket control_frames_;
  const Duration sweep_interval_;
  SweepTimer sweep_timer_;
  Instant idle_since_;
  Instant headers_since_ = Instant::max();  // a header block has begun and not ended
  Instant probed_at_ = Instant::max();
  bool draining_ = false;
  bool flooded_ = false;
  runtime::Scope handlers_;
};

}  // namespace fairlead::http
