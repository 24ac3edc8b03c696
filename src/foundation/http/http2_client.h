// The client side of one HTTP/2 connection, shared by every request of a Client. Internal to http/.
//
// Each stream's flow-control window opens as its reader reads; the connection's window opens at
// once, so that an unread watch never blocks another stream. When the connection or a stream fails,
// the call fails with unavailable if and only if the server cannot have processed it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "foundation/base/fifo.h"
#include "foundation/http/client.h"
#include "foundation/http/http2_session.h"
#include "foundation/http/outgoing_request.h"

namespace fairlead::http {

// One request and its response, shared by the connection and the ClientStream.
struct Http2Call {
  std::int32_t id = 0;
  bool handed_over = false;  // the request's head went to the transport
  bool ended = false;        // the response is complete, or `error` says why it never will be
  bool closed = false;       // the connection has forgotten it
  std::optional<ResponseHead> head;
  std::optional<ResponseHead> arriving;  // a head whose fields are still coming in
  std::size_t head_bytes = 0;
  Fifo<Bytes> pieces;
  Headers trailers;
  std::optional<Error> error;
  OutgoingBody out;
  runtime::Signal changed;

  void end_with(Error why) {
    if (ended) return;
    ended = true;
    error = std::move(why);
    changed.notify();
  }
};

class Http2Client final : public std::enable_shared_from_this<Http2Client>, private Http2Session {
 public:
  Http2Client(runtime::Runtime& runtime, std::unique_ptr<runtime::Stream> stream,
              const ClientOptions& options);
  ~Http2Client();

  struct Notices {
    std::function<void(const Error&)> unusable;  // no new request may start
    std::function<void()> settled;               // the server's SETTINGS have arrived
  };
  // The connection's life, to be spawned once.
  static Task<void> run(std::shared_ptr<Http2Client> self, Notices notices);

  bool usable() const { return usable_; }
  bool settled() const { return settled_; }
  // Whether the server's limit of concurrent streams allows another request. One beyond it would
  // wait for another to end, which for watches may be never.
  bool has_room() const;
  Result<std::unique_ptr<ClientStream>> open(const OutgoingRequest& request);

  // Takes no new request, and ends with the last one under way.
  void retire();
  // Ends the connection; every call fails with unavailable.
  void close();

 private:
  friend class Http2ClientStream;

  void on_header(const nghttp2_frame& frame, std::string_view name,
                 std::string_view value) override;
  void on_frame(const nghttp2_frame& frame) override;
  void on_body(std::int32_t id, std::string_view bytes) override;
  void on_stream_closed(std::int32_t id, std::uint32_t code) override;
  void on_frame_sent(const nghttp2_frame& frame) override;
  void on_frame_not_sent(const nghttp2_frame& frame) override;
  void on_body_sent(std::int32_t id) override;

  Http2Call* find(std::int32_t id) const { return static_cast<Http2Call*>(user_data(id)); }
  using PingContent = std::array<std::uint8_t, 8>;
  void make_unusable(const Error& why);
  void forget(std::int32_t id);
  void reset(Http2Call& call, std::uint32_t code);
  void fail_calls(const Error& why);
  void look_for_silence();
  void send_ping();
  void hold_or_answer(const PingContent& content);
  void answer_ping(const PingContent& content);

  std::unique_ptr<runtime::Stream> stream_;
  BufferPool buffers_;
  const Duration ping_interval_;
  const Duration ping_time_;
  const Duration ping_answer_time_;
  std::map<std::int32_t, std::shared_ptr<Http2Call>> calls_;
  Notices notices_;
  bool usable_ = true;
  bool settled_ = false;
  bool closing_ = false;
  Instant pinged_at_ = Instant::max();
  LazyTimer ping_timer_;
  std::optional<PingContent> held_ping_;  // the server's, not answered yet
  LazyTimer held_ping_timer_;
};

}  // namespace fairlead::http
