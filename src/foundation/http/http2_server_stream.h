// One request on an HTTP/2 connection, and its Exchange. Internal to foundation/http/http2_server.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "foundation/http/http2_server.h"

namespace fairlead::http {

class Http2ServerStream final : public Exchange {
 public:
  Http2ServerStream(Http2Server& server, std::int32_t id) : server_(server), id_(id) {}
  ~Http2ServerStream() override { server_.drop_heads(held_); }

  const Request& request() const override { return request_; }
  Request& request() override { return request_; }
  const runtime::PeerInfo& peer() const override { return server_.stream().peer(); }
  const Caller& caller() const override { return caller_; }
  void forget_request() override;
  Task<Result<>> respond(Response response) override;
  Task<Result<>> start(ResponseHead head) override;
  Task<Result<>> write(Bytes piece) override;
  Task<Result<>> finish() override;

 private:
  friend class Http2Server;
  enum class Phase { waiting, streaming, ended };

  // Charges `bytes` for the stream and its head; false when the account is used up.
  bool hold(std::size_t bytes);
  void release_body();
  // Charges the unsent memory that only this response holds, plus `more`; false when the caller's
  // account is used up.
  bool hold_answer(std::size_t more);
  // Takes one field of the request's head. False when the head has become too large.
  bool take_field(std::string_view name, std::string_view value);
  // The error in a complete head, if any: a status and a reason.
  std::optional<std::pair<int, std::string_view>> objection() const;
  // Returns once at most that many bytes wait to be sent.
  Task<Result<>> room(std::size_t most);
  void closed();
  Result<> closed_error() const;

  Http2Server& server_;
  const std::int32_t id_;
  Request request_;
  Caller caller_;
  std::size_t held_ = 0;     // charged to the connection's account
  AccountRef body_account_;  // charged for the request's body
  std::optional<Lease> body_lease_;
  AccountRef answer_account_;  // charged for unsent parts of the response
  std::optional<Lease> answer_lease_;
  std::size_t most_body_ = 0;
  std::size_t expected_body_ = 0;
  std::optional<RequestCount> count_;
  std::size_t head_bytes_ = 0;
  std::size_t head_fields_ = 0;
  std::string_view objection_;  // found while the head arrived; → 400
  bool has_host_ = false;
  bool head_complete_ = false;
  bool receiving_ = true;  // the request is not whole yet
  bool refused_ = false;   // answered by the server itself
  bool running_ = false;   // a fiber serves it
  bool closed_ = false;    // nghttp2 has forgotten it
  bool muted_ = false;     // no body is sent (HEAD, 204, 304)
  Instant body_deadline_ = Instant::max();
  Phase phase_ = Phase::waiting;
  OutgoingBody out_;
  std::uint64_t swept_sent_ = 0;  // out_.sent() when it was last seen to move …
  Instant moved_at_{};            // … and when that was
  runtime::Nested<void>* handling_ = nullptr;
  runtime::Signal changed_;
};

}  // namespace fairlead::http
