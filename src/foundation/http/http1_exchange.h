// The response side of one HTTP/1.1 request: whole responses gathered into few writes, streamed
// ones sent by a fiber of their own, so that everything written in one turn of the loop leaves in
// one write. Internal to http/.
//
// While a streamed response is under way, or a handler takes long, the connection is read as well,
// so that the handler is cancelled when the peer goes away.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "foundation/http/http1_transport.h"
#include "foundation/http/server_core.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"

namespace fairlead::http {

class Http1Exchange final : public Exchange {
 public:
  Http1Exchange(ServerCore& core, Http1Transport& transport, Visit& visit);

  // A new request. `http11` and `keep_alive` come from its head.
  void reset(Request request, Caller caller, bool http11, bool keep_alive);
  // Runs the handler and completes the response. Afterwards nothing of the exchange is running.
  Task<void> run();
  // Whether another request may follow on this connection.
  bool keep_alive() const { return keep_alive_ && !broken_; }
  // Whether the connection can still be closed in an orderly way.
  bool broken() const { return broken_; }

  const Request& request() const override { return request_; }
  Request& request() override { return request_; }
  const runtime::PeerInfo& peer() const override { return transport_.stream().peer(); }
  const Caller& caller() const override { return caller_; }
  void forget_request() override;
  Task<Result<>> respond(Response response) override;
  Task<Result<>> start(ResponseHead head) override;
  Task<Result<>> write(Bytes piece) override;
  Task<Result<>> finish() override;

  // Answers without the handler; the connection is closed afterwards.
  Task<void> refuse(int status, std::string_view reason);

 private:
  enum class Phase { waiting, streaming, ended };
  bool is_head() const { return head_request_; }
  bool body_allowed(int status) const { return !is_head() && !has_no_body(status); }
  void append_head(std::string& out, int status, const Headers& headers);
  Task<Result<>> send(Response response);
  // Charges the response and a write buffer to the caller's account, and returns how much to write
  // at a time. If the account is used up, the response is replaced by 429.
  std::size_t make_room(Response& response);
  Task<Result<>> gather(std::string& out, const std::vector<Bytes>& pieces, std::size_t flush);
  Task<Result<>> put(std::string_view bytes);
  // Charges what a streamed response holds once `more` is pending, too; false when the connection's
  // account is used up.
  bool hold_stream(std::size_t more);
  void abandon(Error error);
  void watch_peer();
  Task<void> watch_loop();
  Task<void> write_loop();
  Task<void> end_fibers();

  ServerCore& core_;
  Http1Transport& transport_;
  Visit& visit_;
  Request request_;
  Caller caller_;
  Phase phase_ = Phase::waiting;
  bool head_request_ = false;
  bool http11_ = true;
  bool keep_alive_ = true;
  bool broken_ = false;
  bool chunked_ = false;
  bool muted_ = false;  // a streamed response whose body is not sent (HEAD, 204, 304)

  runtime::Nested<void>* handling_ = nullptr;
  LazyTimer slow_timer_;  // a handler that takes longer than this has its peer watched
  runtime::Scope fibers_;
  bool watching_ = false;
  bool stop_watching_ = false;

  // Output: text, and large pieces that belong between its parts. Pieces that were copied into the
  // text are kept as well, because they may carry a charge (WatchRoom) until they are sent.
  struct Pending {
    std::string text;
    std::vector<std::pair<std::size_t, Bytes>> pieces;  // each before text[first]
    std::vector<Bytes> copied;
    std::size_t piece_bytes = 0;
    bool empty() const { return size() == 0; }
    std::size_t size() const { return text.size() + piece_bytes; }
    void add(Bytes piece);
    void clear();
    void release();  // its memory, too
  };
  Task<Result<>> write_out(const Pending& sending);

  Pending pending_;  // not yet taken by the writing fiber
  Pending sending_;  // what that fiber is writing
  bool writer_running_ = false;
  bool writer_ends_ = false;  // nothing more will be added to pending_
  std::optional<Error> write_error_;
  runtime::Signal to_write_;
  runtime::Signal written_;
};

}  // namespace fairlead::http
