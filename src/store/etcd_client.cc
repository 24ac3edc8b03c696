#include "store/etcd_client.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace fairlead::store {
namespace {

// etcd sends at most request-sized watch responses when asked to fragment, and lists come in pages;
// one transaction of the largest size and its overhead fits many times.
constexpr std::size_t kMaxMessage = 64 << 20;
constexpr Duration kFirstPause = 50ms;
constexpr Duration kLongestPause = 500ms;

// etcd closes connections that ping more often than every five seconds.
constexpr Duration kPingInterval = 6s;
constexpr Duration kPingTime = 3s;
// To estimate bandwidth etcd pings as soon as a request arrives, unless its last ping is still
// unanswered. Answered at once, that were two more packets and two more wake-ups for every call,
// about a third of what a small one costs both sides.
constexpr Duration kPingAnswerTime = 100ms;

wire::GrpcStatus status_of(const http::ResponseHead& head, const http::Headers& trailers) {
  if (head.status != 200) return wire::grpc_status_of_http(head.status);
  // A call that fails at once has its status among the headers.
  const http::Headers& where = trailers.has("grpc-status") ? trailers : head.headers;
  return wire::parse_grpc_status(where.get("grpc-status"), where.get("grpc-message"));
}

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

struct EtcdClient::Member {
  runtime::Endpoint endpoint;
  http::Client calls;
  http::Client watches;
};

// How a call ended that got an answer.
struct EtcdClient::Exchanged {
  wire::GrpcStatus status;
  std::string message;
};

Task<Result<>> let_others_join(runtime::Runtime& runtime) {
  FL_CO_CHECKED(co_await runtime::sleep(runtime, 0s));
  co_await runtime::yield(runtime);
  co_return Result<>{};
}

EtcdStream::EtcdStream(std::unique_ptr<http::ClientStream> stream)
    : stream_(std::move(stream)), reader_(kMaxMessage) {}

Task<Result<std::string_view>> EtcdStream::next() {
  if (!head_) {
    FL_CO_TRY(head_, co_await stream_->head());
    if (head_->status != 200) co_return fail(ending());
  }
  for (;;) {
    FL_CO_TRY(const std::optional<std::string_view> message, reader_.next());
    if (message) co_return *message;
    FL_CO_TRY(const std::optional<Bytes> piece, co_await stream_->read());
    if (!piece) co_return fail(ending());
    reader_.append(piece->view());
  }
}

Error EtcdStream::ending() const {
  const wire::GrpcStatus status = status_of(*head_, stream_->trailers());
  if (status.code == wire::GrpcCode::ok) return {Code::unavailable, "stream ended"};
  return wire::etcd::classify_failure(status).error;
}

EtcdClient::EtcdClient(runtime::Runtime& runtime, const EtcdOptions& options)
    : runtime_(runtime), options_(options) {
  CHECK(!options_.endpoints.empty());
  for (const runtime::Endpoint& endpoint : options_.endpoints) {
    http::ClientOptions client;
    client.endpoints = {endpoint};
    client.tls = options_.tls;
    client.http2_prior_knowledge = options_.tls == nullptr;
    client.connect_time = options_.connect_time;
    client.ping_interval = kPingInterval;
    client.ping_time = kPingTime;
    client.ping_answer_time = kPingAnswerTime;
    members_.push_back(std::unique_ptr<Member>(
        new Member{.endpoint = endpoint, .calls{runtime_, client}, .watches{runtime_, client}}));
  }
}

EtcdClient::~EtcdClient() = default;

Task<Result<std::string>> EtcdClient::read(std::string_view path, std::string framed) {
  return call(Kind::read, path, std::move(framed));
}

Task<Result<std::string>> EtcdClient::write(std::string_view path, std::string framed) {
  return call(Kind::write, path, std::move(framed));
}

Task<Result<std::string>> EtcdClient::call(Kind kind, std::string_view path, std::string framed) {
  const Instant start = runtime_.now();
  Result<std::string> result = co_await attempts(kind, path, std::move(framed));
  EtcdLatency& latency = kind == Kind::read ? counters_.reads : counters_.writes;
  latency.observe(runtime_.now() - start);
  if (result) co_return result;
  if (kind == Kind::read) {
    ++counters_.failed_reads;
  } else if (result.error().code == Code::timeout) {
    ++counters_.unknown_writes;
  } else {
    ++counters_.failed_writes;
  }
  co_return fail(std::move(result).error().context("etcd"));
}

Task<Result<std::string>> EtcdClient::attempts(Kind kind, std::string_view path,
                                               std::string framed) {
  const Instant deadline = runtime_.now() + options_.call_time;
  for (std::size_t attempt = 0;; ++attempt) {
    if (attempt > 0) ++counters_.retries;
    const std::size_t at = current_;
    Member& member = *members_[at];
    const Duration left = deadline - runtime_.now();
    const Duration limit = kind == Kind::read ? std::min(options_.attempt_time, left) : left;
    http::Request request = request_for(member, path, framed, limit);
    bool sent = false;
    Task<Result<Exchanged>> exchanging = exchange(member.calls, std::move(request), sent);
    Result<Exchanged> answer =
        co_await runtime::with_timeout(runtime_, limit, std::move(exchanging));
    if (answer && answer->status.code == wire::GrpcCode::ok) co_return std::move(answer->message);

    wire::etcd::Failure failure;
    if (answer) {
      failure = wire::etcd::classify_failure(answer->status);
    } else {
      const Code code = answer.error().code;
      const bool final = code == Code::cancelled || (kind == Kind::read && code == Code::exhausted);
      failure = {std::move(answer).error(), !sent || code == Code::unavailable, !final};
    }
    if (!failure.try_elsewhere) co_return fail(std::move(failure.error));
    leave(at);
    if (kind == Kind::write && !failure.surely_not_applied)
      co_return fail(Code::timeout, "fate unknown: " + failure.error.message);
    if (runtime_.now() + kFirstPause >= deadline)
      co_return fail(Code::unavailable, std::move(failure.error.message));
    if ((attempt + 1) % members_.size() == 0) {
      FL_CO_CHECKED(co_await pause(attempt));
    }
  }
}

// Every member was tried: give the cluster a moment, longer each round.
Task<Result<>> EtcdClient::pause(std::size_t attempt) {
  const std::size_t round = std::min<std::size_t>((attempt + 1) / members_.size(), 5);
  const Duration longest = std::min(kFirstPause * (1 << (round - 1)), kLongestPause);
  const Duration jitter{static_cast<std::int64_t>(runtime_.random() % (longest.count() / 2))};
  co_return co_await runtime::sleep(runtime_, longest / 2 + jitter);
}

// One request and its whole answer. The HTTP client fails with unavailable exactly if the member
// cannot have processed it.
Task<Result<EtcdClient::Exchanged>> EtcdClient::exchange(http::Client& client,
                                                         http::Request request, bool& sent) {
  FL_CO_TRY(const std::unique_ptr<http::ClientStream> stream,
            co_await client.open(std::move(request)));
  sent = true;
  FL_CO_TRY(const http::ResponseHead head, co_await stream->head());
  wire::GrpcMessageReader reader(kMaxMessage);
  std::optional<std::string> message;
  for (;;) {
    FL_CO_TRY(const std::optional<Bytes> piece, co_await stream->read());
    if (!piece) break;
    if (message) continue;
    reader.append(piece->view());
    FL_CO_TRY(const std::optional<std::string_view> whole,
              reader.next());  // or too long: stop here
    if (whole) message.emplace(*whole);
  }
  Exchanged exchanged{.status = status_of(head, stream->trailers()), .message = {}};
  if (exchanged.status.code != wire::GrpcCode::ok) co_return exchanged;
  if (!message) co_return fail(Code::corrupt, "answer without a message");
  exchanged.message = std::move(*message);
  co_return exchanged;
}

Task<Result<std::unique_ptr<EtcdStream>>> EtcdClient::open_stream(std::size_t member,
                                                                  std::string_view path,
                                                                  std::string framed) {
  Member& chosen = *members_[member % members_.size()];
  http::Request request = request_for(chosen, path, std::move(framed), std::nullopt);
  // The request is complete: etcd goes on sending events to a client that has nothing more to ask.
  FL_CO_TRY(std::unique_ptr<http::ClientStream> stream,
            co_await chosen.watches.open(std::move(request)));
  co_return std::make_unique<EtcdStream>(std::move(stream));
}

http::Request EtcdClient::request_for(const Member& member, std::string_view path,
                                      std::string framed, std::optional<Duration> limit) const {
  http::Request request;
  request.method = "POST";
  request.target = std::string(path);
  request.authority = member.endpoint.to_string();
  request.headers.add("te", "trailers");
  request.headers.add("content-type", "application/grpc");
  // A member that has lost its leader answers so at once instead of letting the call time out.
  request.headers.add("hasleader", "true");
  if (limit) request.headers.add("grpc-timeout", wire::encode_grpc_timeout(milliseconds(*limit)));
  request.body = std::move(framed);
  return request;
}

// Of the many calls that fail together when a member dies, one moves on.
void EtcdClient::leave(std::size_t member) {
  if (member != current_ || members_.size() == 1) return;
  current_ = (current_ + 1) % members_.size();
  ++counters_.member_switches;
  log::info("etcd calls move on", {{"from", members_[member]->endpoint.to_string()},
                                   {"to", members_[current_]->endpoint.to_string()}});
}

}  // namespace fairlead::store
