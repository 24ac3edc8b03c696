#include "foundation/http/client.h"

#include <algorithm>
#include <list>
#include <set>
#include <utility>
#include <variant>

#include "foundation/http/gunzip_stream.h"
#include "foundation/http/http1_client.h"
#include "foundation/http/http2_client.h"
#include "foundation/http/outgoing_request.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/single_flight.h"

namespace fairlead::http {
namespace {

constexpr int kAttempts = 3;  // of a request that surely was not processed

std::string authority_of(const ClientOptions& options) {
  if (options.endpoints.empty() ||
      options.endpoints[0].kind == runtime::Endpoint::Kind::unix_socket)
    return "localhost";
  return options.endpoints[0].to_string();
}

Task<Result<Response>> collect(ClientStream& stream, std::size_t byte_limit) {
  FL_CO_TRY(ResponseHead head, co_await stream.head());
  Response response;
  response.status = head.status;
  response.headers = std::move(head.headers);
  std::size_t total = 0;
  for (;;) {
    FL_CO_TRY(std::optional<Bytes> piece, co_await stream.read());
    if (!piece) co_return response;
    total += piece->size();
    if (total > byte_limit) co_return fail(Code::exhausted, "response too large");
    response.body.push_back(std::move(*piece));
  }
}

}  // namespace

// Shared with the HTTP/1.1 streams that may outlive the Client, as the place their connections
// return to; everything that runs is in scope_ and ends with the State.
class Client::State final : public Http1Home, public std::enable_shared_from_this<State> {
 public:
  State(runtime::Runtime& runtime, ClientOptions options)
      : runtime_(runtime),
        options_(std::move(options)),
        authority_(authority_of(options_)),
        scope_(runtime),
        establishing_(runtime) {}

  // These hold the State they run on: a Client may go away before they end.
  static Task<Result<Response>> send(std::shared_ptr<State> self, Request request);
  static Task<Result<std::unique_ptr<ClientStream>>> open(std::shared_ptr<State> self,
                                                          Request request, bool more_body,
                                                          std::uint64_t only_on = 0);
  void renew_connections();
  std::uint64_t connection() const { return http2_.empty() ? 0 : http2_made_; }
  void close();
  void come_back(std::shared_ptr<Http1Client> connection, bool reusable) override;

 private:
  Task<Result<std::unique_ptr<ClientStream>>> open_stream(OutgoingRequest request,
                                                          std::uint64_t only_on = 0);
  Task<Result<std::shared_ptr<Http1Client>>> take_http1();
  Task<Result<>> establish();
  Task<Result<>> establish_once();
  Task<Result<std::unique_ptr<runtime::Stream>>> dial();
  std::shared_ptr<const runtime::TlsCredentials> credentials();
  void install_http2(std::unique_ptr<runtime::Stream> stream);
  Http2Client* http2_for_next() const;
  void lost_http2(const Http2Client* connection, const Error& why);
  void park(std::shared_ptr<Http1Client> connection);

  runtime::Runtime& runtime_;
  const ClientOptions options_;
  const std::string authority_;
  bool closed_ = false;
  std::size_t preferred_ = 0;                               // the endpoint tried first
  std::shared_ptr<const runtime::TlsCredentials> given_;    // what the source last gave …
  std::shared_ptr<const runtime::TlsCredentials> offered_;  // … and the same with ALPN filled in

  std::uint64_t http2_made_ = 0;
  std::list<std::shared_ptr<Http2Client>> http2_;  // usable; the first with room takes a request
  std::list<std::weak_ptr<Http2Client>> leaving_;  // take no new requests, old ones end there
  bool http1_ = false;                             // what the server was last seen to speak
  std::list<std::shared_ptr<Http1Client>> idle_;
  std::list<std::shared_ptr<Http1Client>> busy_;
  std::set<const Http1Client*> outdated_;  // of the busy ones: they take no further request
  std::size_t http1_connecting_ = 0;

  runtime::Signal changed_;
  runtime::Scope scope_;
  runtime::SingleFlight<std::monostate, void> establishing_;
};

std::shared_ptr<const runtime::TlsCredentials> Client::State::credentials() {
  if (!options_.tls) return nullptr;
  std::shared_ptr<const runtime::TlsCredentials> current = options_.tls->current();
  if (!current || !current->alpn.empty()) return current;
  if (current != given_) {
    auto with_alpn = std::make_shared<runtime::TlsCredentials>(*current);
    with_alpn->alpn = {"h2", "http/1.1"};
    given_ = std::move(current);
    offered_ = std::move(with_alpn);
  }
  return offered_;
}

Task<Result<std::unique_ptr<runtime::Stream>>> Client::State::dial() {
  Error last{Code::unavailable, "no endpoint given"};
  const std::size_t first = preferred_;
  for (std::size_t i = 0; i < options_.endpoints.size(); ++i) {
    const std::size_t at = (first + i) % options_.endpoints.size();
    const runtime::Endpoint& endpoint = options_.endpoints[at];
    Result<std::unique_ptr<runtime::Stream>> stream =
        co_await runtime::with_timeout<std::unique_ptr<runtime::Stream>>(
            runtime_, options_.connect_time, runtime_.connect(endpoint, credentials()));
    if (stream) {
      preferred_ = at;
      co_return stream;
    }
    last = std::move(stream).error().context("connect " + endpoint.to_string());
    if (last.code == Code::cancelled) break;
  }
  if (last.code != Code::cancelled) last.code = Code::unavailable;  // nothing was sent
  co_return fail(std::move(last));
}

void Client::State::install_http2(std::unique_ptr<runtime::Stream> stream) {
  http1_ = false;
  const auto connection = std::make_shared<Http2Client>(runtime_, std::move(stream), options_);
  http2_.push_back(connection);
  ++http2_made_;
  const Http2Client* place = connection.get();
  scope_.spawn(Http2Client::run(
      connection, {.unusable = [this, place](const Error& why) { lost_http2(place, why); },
                   .settled = [this] { changed_.notify(); }}));
}

// The connection takes no new requests; the next one makes a new connection. One that failed,
// rather than ended, sends us to another endpoint.
void Client::State::lost_http2(const Http2Client* connection, const Error& why) {
  const auto at = std::ranges::find(http2_, connection, &std::shared_ptr<Http2Client>::get);
  if (at == http2_.end()) return;
  std::erase_if(leaving_, [](const auto& weak) { return weak.expired(); });
  leaving_.push_back(*at);
  http2_.erase(at);
  changed_.notify();
  if (why.code != Code::unavailable && !options_.endpoints.empty())
    preferred_ = (preferred_ + 1) % options_.endpoints.size();
}

Task<Result<>> Client::State::establish_once() {
  FL_CO_TRY(std::unique_ptr<runtime::Stream> stream, co_await dial());
  if (closed_) co_return fail(Code::unavailable, "client closed");
  if (options_.http2_prior_knowledge || stream->peer().alpn == "h2") {
    install_http2(std::move(stream));
  } else {
    http1_ = true;
    park(std::make_shared<Http1Client>(runtime_, std::move(stream)));
  }
  changed_.notify();
  co_return Result<>{};
}

// One attempt, shared by everyone who waits for a connection now.
Task<Result<>> Client::State::establish() {
  return establishing_.ask({}, [this] { return establish_once(); });
}

void Client::State::park(std::shared_ptr<Http1Client> connection) {
  idle_.push_back(connection);
  const Http1Client* place = connection.get();
  connection->enter_pool();
  scope_.spawn(Http1Client::rest(std::move(connection), [this, place] {
    std::erase_if(idle_, [place](const auto& idle) { return idle.get() == place; });
    std::erase_if(busy_, [place](const auto& busy) { return busy.get() == place; });
    outdated_.erase(place);
    changed_.notify();
  }));
}

void Client::State::come_back(std::shared_ptr<Http1Client> connection, bool reusable) {
  const std::size_t before = busy_.size();
  busy_.remove(connection);
  const bool known = busy_.size() < before;
  const bool outdated = outdated_.erase(connection.get()) > 0;
  if (known && reusable && !outdated && !closed_ && connection->transport().buffer().empty()) {
    park(std::move(connection));
  } else {
    connection->close();
  }
  changed_.notify();
}

Task<Result<std::shared_ptr<Http1Client>>> Client::State::take_http1() {
  while (!closed_) {
    if (!idle_.empty()) {
      const std::shared_ptr<Http1Client> connection = idle_.back();  // the warmest
      idle_.pop_back();
      busy_.push_back(connection);
      const Result<> ready = co_await connection->leave_pool();
      const bool alive = std::find(busy_.begin(), busy_.end(), connection) != busy_.end();
      if (!ready) {
        if (alive) come_back(connection, false);
        co_return fail(ready.error());
      }
      if (alive) co_return connection;
      continue;
    }
    if (busy_.size() + http1_connecting_ < options_.http1_connections) {
      ++http1_connecting_;
      Result<std::unique_ptr<runtime::Stream>> stream = co_await dial();
      --http1_connecting_;
      if (!stream) {
        changed_.notify();
        co_return fail(stream.error());
      }
      if (closed_) break;
      if ((*stream)->peer().alpn == "h2") {
        if (http2_.empty()) install_http2(std::move(*stream));
        changed_.notify();
        co_return std::shared_ptr<Http1Client>();
      }
      auto connection = std::make_shared<Http1Client>(runtime_, std::move(*stream));
      busy_.push_back(connection);
      co_return connection;
    }
    FL_CO_CHECKED(co_await changed_.wait());
  }
  co_return fail(Code::unavailable, "client closed");
}

// Null: another connection is needed, or must first say what it takes.
Http2Client* Client::State::http2_for_next() const {
  for (const auto& connection : http2_)
    if (connection->has_room()) return connection.get();
  return http2_.size() < options_.http2_connections ? nullptr : http2_.front().get();
}

Task<Result<std::unique_ptr<ClientStream>>> Client::State::open_stream(OutgoingRequest request,
                                                                       std::uint64_t only_on) {
  for (int attempt = 1; !closed_;) {
    if (only_on != 0 && connection() != only_on)
      co_return fail(Code::unavailable, "the connection was lost");
    if (Http2Client* connection = http2_for_next()) {
      Result<std::unique_ptr<ClientStream>> stream = connection->open(request);
      if (stream || attempt++ == kAttempts) co_return stream;
      continue;  // out of stream numbers: a fresh connection has them
    }
    if (!http2_.empty() && !http2_.back()->settled()) {
      FL_CO_CHECKED(co_await changed_.wait());
      continue;
    }
    if (http1_) {
      FL_CO_TRY(std::shared_ptr<Http1Client> connection, co_await take_http1());
      if (!connection) continue;  // the server has learnt HTTP/2 meanwhile
      co_return co_await open_http1(std::move(connection), weak_from_this(), std::move(request));
    }
    FL_CO_CHECKED(co_await establish());
  }
  co_return fail(Code::unavailable, "client closed");
}

Task<Result<std::unique_ptr<ClientStream>>> Client::State::open(std::shared_ptr<State> self,
                                                                Request request, bool more_body,
                                                                std::uint64_t only_on) {
  const bool gzip = accepts_gzip(request.headers.get("accept-encoding"));
  FL_CO_TRY(OutgoingRequest outgoing,
            make_outgoing(std::move(request), more_body, self->options_.tls != nullptr,
                          self->authority_));
  FL_CO_TRY(std::unique_ptr<ClientStream> stream,
            co_await self->open_stream(std::move(outgoing), only_on));
  if (gzip)
    stream = std::make_unique<GunzipStream>(std::move(stream), self->options_.response_bytes);
  co_return stream;
}

Task<Result<Response>> Client::State::send(std::shared_ptr<State> self, Request request) {
  const bool gzip = accepts_gzip(request.headers.get("accept-encoding"));
  const std::size_t byte_limit = self->options_.response_bytes;
  FL_CO_TRY(
      const OutgoingRequest outgoing,
      make_outgoing(std::move(request), false, self->options_.tls != nullptr, self->authority_));
  for (int attempt = 1;; ++attempt) {
    FL_CO_TRY(std::unique_ptr<ClientStream> stream, co_await self->open_stream(outgoing));
    if (gzip) stream = std::make_unique<GunzipStream>(std::move(stream), byte_limit);
    Result<Response> response = co_await collect(*stream, byte_limit);
    if (response || response.error().code != Code::unavailable || self->closed_ ||
        attempt == kAttempts)
      co_return response;
  }
}

void Client::State::renew_connections() {
  const auto current = http2_;
  for (const auto& connection : current) connection->retire();
  const auto idle = std::exchange(idle_, {});
  for (const auto& connection : idle) connection->close();
  for (const auto& connection : busy_) outdated_.insert(connection.get());
  changed_.notify();
}

void Client::State::close() {
  if (std::exchange(closed_, true)) return;
  const auto current = std::exchange(http2_, {});
  for (const auto& connection : current) connection->close();
  for (const auto& weak : leaving_)
    if (const auto connection = weak.lock()) connection->close();
  for (const auto& connection : idle_) connection->close();
  for (const auto& connection : busy_) connection->close();
  idle_.clear();
  busy_.clear();
  scope_.cancel();
  establishing_.cancel();
  changed_.notify();
}

Client::Client(runtime::Runtime& runtime, ClientOptions options)
    : state_(std::make_shared<State>(runtime, std::move(options))) {}

Client::~Client() {
  if (state_) state_->close();
}

Task<Result<Response>> Client::send(Request request) {
  return State::send(state_, std::move(request));
}

Task<Result<std::unique_ptr<ClientStream>>> Client::open(Request request, bool more_body) {
  return State::open(state_, std::move(request), more_body);
}

void Client::renew_connections() { state_->renew_connections(); }

std::uint64_t Client::connection() const { return state_->connection(); }

Task<Result<std::unique_ptr<ClientStream>>> Client::open_on(std::uint64_t connection,
                                                            Request request) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  return State::open(state_, std::move(request), false, connection == 0 ? kNone : connection);
}

void Client::close() { state_->close(); }

}  // namespace fairlead::http
