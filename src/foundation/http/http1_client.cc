#include "foundation/http/http1_client.h"

#include <utility>

#include "foundation/http/server_core.h"

namespace fairlead::http {
namespace {

namespace http1 = wire::http1;

constexpr Duration kWriteStall = 30s;

// Once bytes of the request have left, nobody can say that it was not processed.
Error may_have_been_processed(Error error) {
  if (error.code == Code::unavailable) error.code = Code::io;
  return error;
}

class Http1ClientStream final : public ClientStream {
 public:
  Http1ClientStream(std::shared_ptr<Http1Client> connection, std::weak_ptr<Http1Home> home,
                    std::string method)
      : connection_(std::move(connection)), home_(std::move(home)), method_(std::move(method)) {}

  ~Http1ClientStream() override { leave(false); }

  Task<Result<ResponseHead>> head() override;
  Task<Result<std::optional<Bytes>>> read() override;
  const Headers& trailers() const override { return trailers_; }
  Task<Result<>> write(Bytes) override {
    co_return fail(Code::unsupported, "request bodies are streamed over HTTP/2 only");
  }
  Task<Result<>> finish() override { co_return Result<>{}; }

 private:
  Task<Result<std::size_t>> more();
  Task<Result<http1::ResponseHead>> receive_head();
  void leave(bool reusable) {
    if (!connection_) return;
    if (const auto home = home_.lock()) {
      home->come_back(std::exchange(connection_, nullptr), reusable);
    } else {
      connection_->close();
      connection_ = nullptr;
    }
  }
  // A wait that was given up leaves the stream as it was; anything else ends it.
  Error broken(Error error) {
    if (error.code == Code::cancelled) return error;
    const bool closed_here = connection_ && connection_->closed();
    leave(false);
    if (closed_here) {
      error_ = Error{Code::unavailable, "client closed"};
    } else {
      error_ = may_have_been_processed(std::move(error));
    }
    return *error_;
  }

  std::shared_ptr<Http1Client> connection_;
  std::weak_ptr<Http1Home> home_;
  std::string method_;
  std::optional<ResponseHead> head_;
  http1::BodyDecoder body_;
  bool keep_alive_ = false;
  Headers trailers_;
  std::optional<Error> error_;
};

Task<Result<std::size_t>> Http1ClientStream::more() {
  const std::shared_ptr<Http1Client> connection = connection_;
  co_return co_await connection->transport().read_more(Instant::max());
}

// The final head; interim ones (1xx) are passed over.
Task<Result<http1::ResponseHead>> Http1ClientStream::receive_head() {
  ReadBuffer& buffer = connection_->transport().buffer();
  http1::HeadScanner scanner;
  for (;;) {
    const auto outcome = scanner.scan(buffer.view());
    if (outcome == http1::HeadScanner::Outcome::rejected)
      co_return fail(Code::corrupt, std::string(scanner.rejection().reason));
    if (outcome == http1::HeadScanner::Outcome::need_more) {
      FL_CO_TRY(const std::size_t n, co_await more());
      if (n == 0) co_return fail(Code::io, "connection closed before the response");
      continue;
    }
    auto head = http1::parse_response_head(buffer.view().substr(scanner.begin(), scanner.length()),
                                           method_);
    if (!head) co_return fail(Code::corrupt, std::string(head.error().reason));
    if (head->status >= 200) {
      head_.emplace();
      head_->status = head->status;
      for (const http1::Field& field : head->fields)
        head_->headers.add(std::string(field.name), std::string(field.value));
    }
    buffer.consume(scanner.begin() + scanner.length());
    scanner.reset();
    if (head->status >= 200) co_return std::move(*head);
    if (head->status == 101) co_return fail(Code::corrupt, "unexpected change of protocol");
  }
}

Task<Result<ResponseHead>> Http1ClientStream::head() {
  if (error_) co_return fail(*error_);
  if (!head_) {
    Result<http1::ResponseHead> received = co_await receive_head();
    if (!received) {
      head_.reset();
      co_return fail(broken(received.error()));
    }
    body_ = http1::BodyDecoder(received->framing, received->content_length);
    keep_alive_ = received->keep_alive;
    if (body_.done()) leave(keep_alive_);
  }
  co_return *head_;
}

Task<Result<std::optional<Bytes>>> Http1ClientStream::read() {
  if (!head_) {
    FL_CO_CHECKED(co_await head());
  }
  if (error_) co_return fail(*error_);
  while (!body_.done()) {
    ReadBuffer& buffer = connection_->transport().buffer();
    if (buffer.empty()) {
      const Result<std::size_t> got = co_await more();
      if (!got) co_return fail(broken(got.error()));
      if (*got == 0) {
        if (body_.end_of_input()) break;
        co_return fail(broken({Code::io, "connection closed within the response"}));
      }
    }
    const http1::BodyDecoder::Step step = body_.decode(buffer.view());
    if (body_.rejected())
      co_return fail(broken({Code::corrupt, std::string(body_.rejection().reason)}));
    std::optional<Bytes> piece;
    if (!step.payload.empty()) piece.emplace(std::string(step.payload));
    buffer.consume(step.consumed);
    if (piece) co_return piece;
  }
  for (auto& [name, value] : std::exchange(body_.trailers(), {}))
    trailers_.add(std::move(name), std::move(value));
  leave(keep_alive_);
  co_return std::optional<Bytes>();
}

}  // namespace

Task<void> Http1Client::rest(std::shared_ptr<Http1Client> self, std::function<void()> died) {
  bool fit = true;
  if (!self->leaving_) {
    // Cancelled is how leave_pool() ends the rest; anything else, even bytes, makes it unfit.
    const Result<std::size_t> got = co_await self->transport_.read_more(Instant::max());
    fit = !got && got.error().code == Code::cancelled;
  }
  if (!fit) {
    self->stream_->close();
    died();
  }
  self->resting_ = false;
  self->rested_.notify();
}

Task<Result<>> Http1Client::leave_pool() {
  leaving_ = true;
  transport_.interrupt_read();
  while (resting_) {
    FL_CO_CHECKED(co_await rested_.wait());
  }
  co_return Result<>{};
}

Task<Result<std::unique_ptr<ClientStream>>> open_http1(std::shared_ptr<Http1Client> connection,
                                                       std::weak_ptr<Http1Home> home,
                                                       OutgoingRequest request) {
  auto stream = std::make_unique<Http1ClientStream>(connection, home, request.head.method);
  if (request.more_body)
    co_return fail(Code::unsupported, "request bodies are streamed over HTTP/2 only");
  std::string out;
  http1::append_request_line(out, request.head.method, request.head.target);
  http1::append_field(out, "Host", request.head.authority);
  for (const auto& [name, value] : request.head.headers)
    if (!is_connection_field(name) && !equals_ignoring_case(name, "host"))
      http1::append_field(out, name, value);
  if (request.has_length()) http1::append_content_length(out, request.body.size());
  http1::append_end_of_head(out);
  constexpr std::size_t kJoined = 64 << 10;
  const bool joined = request.body.size() <= kJoined;
  if (joined) out.append(request.body.view());
  Result<> written = co_await connection->transport().write(out, kWriteStall);
  if (written && !joined)
    written = co_await connection->transport().write(request.body.view(), kWriteStall);
  if (!written) co_return fail(may_have_been_processed(written.error()));
  co_return std::unique_ptr<ClientStream>(std::move(stream));
}

}  // namespace fairlead::http
