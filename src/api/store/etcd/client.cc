#include "api/store/etcd/client.h"

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"

namespace fairlead::store {
namespace {

// etcd sends at most request-sized watch responses when asked to fragment, and lists come in pages;
// one transaction of the largest size and its overhead fits many times.
constexpr std::size_t kMaxMessage = 64 << 20;
constexpr runtime::BackOff::Limits kRetries{.first = 50ms, .longest = 500ms, .jitter = true};

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

// One connection at a time, to one member.
struct EtcdClient::Link {
  Link(runtime::Runtime& runtime, const http::ClientOptions& options) : client(runtime, options) {}
  http::Client client;
  std::uint64_t examined = 0;  // the connection whose history is known
};

struct EtcdClient::Member {
  Member(runtime::Runtime& runtime, const http::ClientOptions& options)
      : endpoint(options.endpoints.front()), calls(runtime, options), watches(runtime, options) {}
  runtime::Endpoint endpoint;
  Link calls;
  Link watches;
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
    : runtime_(runtime),
      options_(options),
      history_(runtime, options.root, options.seen),
      examinations_(runtime) {
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
    client.http2_connections = 1;
    members_.push_back(std::make_unique<Member>(runtime_, client));
  }
}

EtcdClient::~EtcdClient() = default;

Task<Result<std::string>> EtcdClient::read(std::string_view path, std::string framed,
                                           std::uint64_t life) {
  return call(Kind::read, path, std::move(framed), life);
}

Task<Result<std::string>> EtcdClient::write(std::string_view path, std::string framed,
                                            std::uint64_t life) {
  return call(Kind::write, path, std::move(framed), life);
}

Task<Result<EtcdEpoch>> EtcdClient::epoch() {
  if (history_.epoch().life == 0) {
    // Whatever is asked, the connection is examined first.
    FL_CO_CHECKED(co_await read(wire::etcd::kStatusPath, wire::frame_grpc_message("")));
  }
  co_return history_.epoch();
}

void EtcdClient::doubt() {
  for (const auto& member : members_) member->calls.examined = member->watches.examined = 0;
}

void EtcdClient::renew_connections() {
  for (const auto& member : members_) member->calls.client.renew_connections();
}

Task<Result<std::string>> EtcdClient::call(Kind kind, std::string_view path, std::string framed,
                                           std::uint64_t life) {
  const Instant start = runtime_.now();
  Result<std::string> result = co_await attempts(kind, path, std::move(framed), life);
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

Task<Result<std::string>> EtcdClient::attempts(Kind kind, std::string_view path, std::string framed,
                                               std::uint64_t life) {
  const Instant deadline = runtime_.now() + options_.call_time;
  runtime::BackOff back_off(kRetries);
  for (std::size_t attempt = 0;; ++attempt) {
    if (attempt > 0) ++counters_.retries;
    const std::size_t at = current_;
    Member& member = *members_[at];
    const Duration left = deadline - runtime_.now();
    const Duration limit = kind == Kind::read ? std::min(options_.attempt_time, left) : left;
    http::Request request = request_for(member, path, framed, limit);
    Progress progress;
    Task<Result<EtcdAnswer>> exchanging =
        exchange(member, member.calls, std::move(request), life, progress);
    Result<EtcdAnswer> answer =
        co_await runtime::with_timeout(runtime_, limit, std::move(exchanging));
    if (answer && answer->status.code == wire::GrpcCode::ok) co_return std::move(answer->message);

    wire::etcd::Failure failure;
    if (answer) {
      failure = wire::etcd::classify_failure(answer->status);
    } else {
      const Code code = answer.error().code;
      const bool final = code == Code::cancelled || code == Code::gone ||
                         (kind == Kind::read && code == Code::exhausted);
      failure = {std::move(answer).error(), code == Code::unavailable, !final};
    }
    if (!progress.sent) failure.surely_not_applied = true;
    if (progress.connection_lost && runtime_.now() < deadline) continue;
    if (!failure.try_elsewhere) co_return fail(std::move(failure.error));
    leave(at);
    if (kind == Kind::write && !failure.surely_not_applied)
      co_return fail(Code::timeout, "fate unknown: " + failure.error.message);
    if (runtime_.now() + kRetries.first >= deadline)
      co_return fail(Code::unavailable, std::move(failure.error.message));
    // Every member was tried: give the cluster a moment, longer each round.
    if ((attempt + 1) % members_.size() == 0) {
      FL_CO_CHECKED(co_await back_off.pause(runtime_));
    }
  }
}

Result<> EtcdClient::check_life(std::uint64_t life) const {
  if (life == 0 || life == history_.epoch().life) return {};
  return fail(Code::gone, "etcd was restored");
}

// Returns once the link has a connection whose history is known.
Task<Result<EtcdHistory::Refusal>> EtcdClient::examined(const Member& member, Link& link) {
  for (;;) {
    const std::uint64_t connection = link.client.connection();
    if (connection != 0 && connection == link.examined) co_return EtcdHistory::Refusal();
    const auto examining = [&] {
      return runtime::with_timeout(runtime_, options_.attempt_time, examine(member, link));
    };
    FL_CO_TRY(EtcdHistory::Refusal refusal, co_await examinations_.ask(&link, examining));
    if (refusal) co_return refusal;
  }
}

Task<Result<EtcdHistory::Refusal>> EtcdClient::examine(const Member& member, Link& link) {
  std::uint64_t used = 0;
  EtcdHistory::Call call = [&](std::string_view path, std::string framed) {
    return ask_unexamined(member, link, path, std::move(framed), used);
  };
  FL_CO_TRY(EtcdHistory::Refusal refusal, co_await history_.examine(std::move(call)));
  if (!refusal) link.examined = used;
  co_return refusal;
}

// The first call may make the connection; all further ones must go over the same.
Task<Result<EtcdAnswer>> EtcdClient::ask_unexamined(const Member& member, Link& link,
                                                    std::string_view path, std::string framed,
                                                    std::uint64_t& connection) {
  http::Request request = request_for(member, path, std::move(framed), options_.attempt_time);
  std::unique_ptr<http::ClientStream> stream;
  if (connection == 0) {
    FL_CO_TRY(stream, co_await link.client.open(std::move(request)));
    connection = link.client.connection();
  } else {
    FL_CO_TRY(stream, co_await link.client.open_on(connection, std::move(request)));
  }
  co_return co_await answer_of(std::move(stream));
}

// One request and its whole answer. The HTTP client fails with unavailable exactly if the member
// cannot have processed it.
Task<Result<EtcdAnswer>> EtcdClient::exchange(const Member& member, Link& link,
                                              http::Request request, std::uint64_t life,
                                              Progress& progress) {
  // A frozen member takes connections and answers nothing: also who writes, and may wait long for
  // an answer, goes elsewhere as long as nothing was sent.
  Task<Result<EtcdHistory::Refusal>> examining = examined(member, link);
  FL_CO_TRY(const EtcdHistory::Refusal refusal,
            co_await runtime::with_timeout(runtime_, options_.attempt_time, std::move(examining)));
  if (refusal) co_return EtcdAnswer{.status = *refusal, .message = {}};
  FL_CO_CHECKED(check_life(life));
  const std::uint64_t connection = link.client.connection();
  Result<std::unique_ptr<http::ClientStream>> stream =
      co_await link.client.open_on(connection, std::move(request));
  if (!stream) {
    progress.connection_lost = link.client.connection() != connection;
    co_return fail(std::move(stream).error());
  }
  progress.sent = true;
  co_return co_await answer_of(std::move(*stream));
}

Task<Result<EtcdAnswer>> EtcdClient::answer_of(std::unique_ptr<http::ClientStream> stream) {
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
  EtcdAnswer answer{.status = status_of(head, stream->trailers()), .message = {}};
  if (answer.status.code != wire::GrpcCode::ok) co_return answer;
  if (!message) co_return fail(Code::corrupt, "answer without a message");
  answer.message = std::move(*message);
  co_return answer;
}

Task<Result<std::unique_ptr<EtcdStream>>> EtcdClient::open_stream(std::size_t member,
                                                                  std::string_view path,
                                                                  std::string framed,
                                                                  std::uint64_t life) {
  Member& chosen = *members_[member % members_.size()];
  FL_CO_TRY(const EtcdHistory::Refusal refusal, co_await examined(chosen, chosen.watches));
  if (refusal) co_return fail(wire::etcd::classify_failure(*refusal).error);
  FL_CO_CHECKED(check_life(life));
  http::Client& client = chosen.watches.client;
  http::Request request = request_for(chosen, path, std::move(framed), std::nullopt);
  // The request is complete: etcd goes on sending events to a client that has nothing more to ask.
  FL_CO_TRY(std::unique_ptr<http::ClientStream> stream,
            co_await client.open_on(client.connection(), std::move(request)));
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
