#include <optional>
#include <span>
#include <vector>

#include "foundation/wire/http1.h"
#include "tools/bench/connection.h"

namespace fairlead::bench {
namespace {

namespace http1 = wire::http1;

constexpr std::size_t kBuffer = 128 << 10;
constexpr Duration kLongestRest = 30s;          // servers close what nobody uses, ours after 180 s
constexpr std::size_t kRefusalBytes = 4 << 10;  // kept of an answer that is an error

class Http1Connection final : public Connection {
 public:
  Http1Connection(runtime::Runtime& runtime, const Target& target)
      : runtime_(runtime), target_(target), credentials_(target.credentials("http/1.1")) {
    http1::append_field(fields_, "Host", target.authority);
    http1::append_field(fields_, "User-Agent", "fairlead-bench");
    http1::append_field(fields_, "Accept", "application/json");
    if (!target.authorization.empty())
      http1::append_field(fields_, "Authorization", target.authorization);
  }

  Task<Result<Answer>> exchange(const Call& call) override {
    if (stream_ && runtime_.now() - answered_at_ > kLongestRest) stream_.reset();
    const bool used_before = stream_ != nullptr;
    Result<Answer> answer = co_await try_once(call);
    // The server may have closed at the moment in which we wrote. What only
    // reads is asked again.
    if (!answer && used_before && !heard_anything_ && !closed_ && call.method == "GET")
      answer = co_await try_once(call);
    co_return answer;
  }

  void close() override {
    closed_ = true;
    if (stream_) stream_->close();
  }

 private:
  Task<Result<Answer>> try_once(const Call& call) {
    heard_anything_ = false;
    if (closed_) co_return fail(Code::cancelled, "closed");
    if (!stream_) {
      Result<std::unique_ptr<runtime::Stream>> connected =
          co_await runtime_.connect(target_.endpoint, credentials_);
      if (!connected) co_return fail(std::move(connected).error().context("connect"));
      stream_ = std::move(*connected);
      begin_ = end_ = 0;
      if (closed_) co_return fail(Code::cancelled, "closed");
    }
    Result<Answer> answer = co_await send_and_receive(call);
    if (!answer || !keep_alive_) stream_.reset();
    answered_at_ = runtime_.now();
    co_return answer;
  }

  Task<Result<Answer>> send_and_receive(const Call& call) {
    out_.clear();
    http1::append_request_line(out_, call.method, target_.base_path + call.target);
    out_.append(fields_);
    if (!call.body.empty()) {
      http1::append_field(out_, "Content-Type", call.content_type);
      http1::append_content_length(out_, call.body.size());
    }
    http1::append_end_of_head(out_);
    out_.append(call.body);
    FL_CO_CHECKED(co_await stream_->write(out_));
    Answer answer;
    http1::BodyDecoder body;
    FL_CO_CHECKED(co_await receive_head(call.method, answer, body));
    const bool keep = call.want_body;
    FL_CO_CHECKED(co_await receive_body(keep, answer, body));
    co_return answer;
  }

  std::string_view received() const { return {buffer_.data() + begin_, end_ - begin_}; }

  // False at the peer's end.
  Task<Result<bool>> read_more() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ == buffer_.size())
      co_return fail(Code::corrupt, "the head of the answer is too large");
    FL_CO_TRY(const std::size_t n, co_await stream_->read(std::span<char>(buffer_).subspan(end_)));
    end_ += n;
    heard_anything_ |= n != 0;
    co_return n != 0;
  }

  Task<Result<>> receive_head(std::string_view method, Answer& answer, http1::BodyDecoder& body) {
    http1::HeadScanner scanner;
    for (;;) {
      const http1::HeadScanner::Outcome outcome = scanner.scan(received());
      if (outcome == http1::HeadScanner::Outcome::rejected)
        co_return fail(Code::corrupt, std::string(scanner.rejection().reason));
      if (outcome == http1::HeadScanner::Outcome::need_more) {
        FL_CO_TRY(const bool more, co_await read_more());
        if (!more) co_return fail(Code::io, "connection closed before the answer");
        continue;
      }
      const auto head =
          http1::parse_response_head(received().substr(scanner.begin(), scanner.length()), method);
      if (!head) co_return fail(Code::corrupt, std::string(head.error().reason));
      begin_ += scanner.begin() + scanner.length();
      if (head->status < 200) {
        scanner.reset();
        continue;
      }
      answer.status = head->status;
      keep_alive_ = head->keep_alive;
      body = http1::BodyDecoder(head->framing, head->content_length);
      co_return Result<>{};
    }
  }

  Task<Result<>> receive_body(bool keep, Answer& answer, http1::BodyDecoder& body) {
    while (!body.done()) {
      if (begin_ == end_) {
        FL_CO_TRY(const bool more, co_await read_more());
        if (!more) {
          if (body.end_of_input()) break;
          co_return fail(Code::io, "connection closed within the answer");
        }
      }
      const http1::BodyDecoder::Step step = body.decode(received());
      if (body.rejected()) co_return fail(Code::corrupt, std::string(body.rejection().reason));
      begin_ += step.consumed;
      answer.bytes += step.payload.size();
      if (keep || (answer.status >= 400 && answer.body.size() < kRefusalBytes))
        answer.body.append(step.payload);
    }
    co_return Result<>{};
  }

  runtime::Runtime& runtime_;
  const Target& target_;
  std::shared_ptr<const runtime::TlsCredentials> credentials_;
  std::string fields_;  // the same in every request
  std::unique_ptr<runtime::Stream> stream_;
  std::string out_;
  std::vector<char> buffer_ = std::vector<char>(kBuffer);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool keep_alive_ = true;
  bool heard_anything_ = false;  // of the answer
  Instant answered_at_{};
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Connection> make_http1_connection(runtime::Runtime& runtime, const Target& target) {
  return std::make_unique<Http1Connection>(runtime, target);
}

}  // namespace fairlead::bench
