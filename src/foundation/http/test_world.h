// For tests only: a server with a scripted handler on a MemoryRuntime, and raw peers to talk to it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/http/memory_stream.h"
#include "foundation/http/server.h"

namespace fairlead::http {

// Answers by path; counts what happened to its fibers.
class ScriptedHandler final : public Handler {
 public:
  explicit ScriptedHandler(runtime::Runtime& runtime) : runtime_(runtime) {}

  Task<void> serve(Exchange& exchange) override {
    ++started;
    const std::string target = exchange.request().target;
    const std::string path = target.substr(0, target.find('?'));
    if (path == "/echo") {
      Response response = text("");
      response.body = {Bytes(std::string(exchange.request().method).append(" ")),
                       Bytes(std::move(exchange.request().body))};
      last = co_await exchange.respond(std::move(response));
    } else if (path == "/big") {
      Response response = text("");
      const unsigned pieces = std::min(number_in(target), 100'000u);
      for (unsigned i = 0; i < pieces; ++i) response.body.push_back(piece);
      last = co_await exchange.respond(std::move(response));
    } else if (path == "/own") {
      // So many bytes that nobody else keeps.
      Response response = text(std::string(number_in(target), 'o'));
      last = co_await exchange.respond(std::move(response));
    } else if (path == "/stream") {
      co_await stream(exchange);
    } else if (path == "/slow") {
      last = co_await runtime::sleep(runtime_, 5s);
      Response response = text("slow");
      if (last) last = co_await exchange.respond(std::move(response));
    } else if (path == "/hang") {
      last = co_await runtime::sleep(runtime_, std::chrono::hours(100));
      if (!last) ++cancelled;
    } else if (path == "/inject") {
      Response response = text("x");
      response.headers.add("x-bad", "a\r\nset-cookie: b");
      last = co_await exchange.respond(std::move(response));
    } else if (path == "/audited") {
      Response response = text("x");
      response.headers.add("audit-id", std::to_string(started));
      last = co_await exchange.respond(std::move(response));
    } else if (path == "/half") {
      ResponseHead head{.status = 200, .headers = {}};
      last = co_await exchange.start(std::move(head));
      last = co_await exchange.write(Bytes::literal("half"));
      (void)co_await runtime::sleep(runtime_, 10ms);
    } else if (path == "/empty") {
      Response response;
      response.status = 204;
      last = co_await exchange.respond(std::move(response));
    } else if (path != "/none") {
      Response response = text(std::string(path));
      last = co_await exchange.respond(std::move(response));
    }
    ++ended;
  }

  // With `strict`, whoever does not name themselves is a stranger, and nodes are limited.
  Caller recognise(const Request& head, const runtime::PeerInfo& peer) override {
    if (!strict) return Handler::recognise(head, peer);
    Caller caller{.body_bytes = head.target == "/join" ? 100u : 0u};
    const std::string_view name = head.headers.get("x-user");
    if (name.empty()) return caller;
    const auto note = std::make_shared<const std::string>(name);
    return {.standing = name.starts_with("node") ? Standing::limited : Standing::trusted,
            .name = *note,
            .note = note};
  }

  // Wakes every stream: each writes one event.
  void publish() {
    ++events;
    published.notify();
  }
  void end_streams() {
    streams_end = true;
    published.notify();
  }

  bool strict = false;
  int started = 0;
  int ended = 0;
  int cancelled = 0;
  int events = 0;
  bool streams_end = false;
  std::size_t event_bytes = 8;
  std::size_t held_bytes = 0;  // of events that somebody still has
  runtime::Signal published;
  Result<> last;
  Bytes piece = Bytes(std::string(1000, 'p'));

 private:
  // What stands behind the last "=" of "/big?pieces=3" or "/own?bytes=1000".
  static unsigned number_in(std::string_view target) {
    const std::string_view wanted = target.substr(target.rfind('=') + 1);
    unsigned number = 0;
    std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
    return number;
  }
  static Response text(std::string body) {
    Response response;
    response.headers.add("content-type", "text/plain");
    if (!body.empty()) response.body.emplace_back(std::move(body));
    return response;
  }

  Bytes event() {
    struct Held {
      Held(std::size_t size, std::size_t& its_sum)
          : text(std::string(size - 1, 'e').append("\n")), sum(its_sum) {
        sum += text.size();
      }
      Held(const Held&) = delete;
      ~Held() { sum -= text.size(); }
      const std::string text;
      std::size_t& sum;
    };
    const auto owner = std::make_shared<const Held>(event_bytes, held_bytes);
    return Bytes::share(owner, owner->text);
  }

  Task<void> stream(Exchange& exchange) {
    ResponseHead head{.status = 200, .headers = {{"content-type", "application/json"}}};
    last = co_await exchange.start(std::move(head));
    for (int seen = events;;) {
      while (last && seen == events && !streams_end) last = co_await published.wait();
      if (!last || seen == events) break;
      ++seen;
      last = co_await exchange.write(event());
    }
    if (!last && last.error().code == Code::cancelled) ++cancelled;
    if (last) last = co_await exchange.finish();
  }

  runtime::Runtime& runtime_;
};

// A peer that sends bytes and keeps what comes back.
class RawPeer {
 public:
  explicit RawPeer(std::unique_ptr<runtime::Stream> stream) : stream_(std::move(stream)) {}
  Task<bool> send(std::string bytes) {
    const Result<> written = co_await stream_->write(bytes);
    co_return written.has_value();
  }
  // Reads until the other side ends, `time` passes, or `until` has been seen.
  Task<bool> receive(runtime::Runtime& runtime, std::string until = {}, Duration time = 600s) {
    (void)co_await runtime::with_timeout<void>(runtime, time, receive_all(std::move(until)));
    co_return ended;
  }
  void close() { stream_->close(); }

  std::string received;
  bool ended = false;

 private:
  Task<Result<>> receive_all(std::string until) {
    std::array<char, 4096> buffer;
    while (until.empty() || received.find(until) == std::string::npos) {
      const Result<std::size_t> n = co_await stream_->read(buffer);
      if (!n && n.error().code == Code::cancelled) co_return fail(n.error());
      if (!n || *n == 0) {
        ended = true;
        break;
      }
      received.append(buffer.data(), *n);
    }
    co_return Result<>{};
  }
  std::unique_ptr<runtime::Stream> stream_;
};

class ServerWorld {
 public:
  explicit ServerWorld(Limits limits = {}, std::string host = "server")
      : ServerWorld(std::make_shared<MemoryRuntime>(), limits, std::move(host)) {}
  // Several servers can share one runtime.
  ServerWorld(std::shared_ptr<MemoryRuntime> shared, Limits limits, std::string host)
      : runtime_holder(std::move(shared)),
        runtime(*runtime_holder),
        handler(runtime),
        at{runtime::Endpoint::Kind::tcp, std::move(host), 80},
        server(std::in_place, runtime, handler, limits),
        scope(runtime) {
    scope.spawn(server->serve(*runtime.listen(at, nullptr)));
    runtime.run_ready();
  }

  RawPeer connect(std::string alpn = {}) {
    auto credentials = std::make_shared<runtime::TlsCredentials>();
    credentials->alpn = {alpn};
    runtime.server_alpn = alpn;
    auto stream = runtime.run(runtime.connect(at, alpn.empty() ? nullptr : std::move(credentials)));
    CHECK(stream && *stream);
    return RawPeer(std::move(**stream));
  }

  // One connection that sends `bytes` and ends its side never: everything that came back.
  std::string talk(std::string bytes, Duration time = 600s) {
    RawPeer peer = connect();
    CHECK(runtime.run(peer.send(std::move(bytes))));
    ended = runtime.run(peer.receive(runtime, {}, time)).value_or(false);
    peer.close();
    runtime.run_for(5s);
    return peer.received;
  }

  std::shared_ptr<MemoryRuntime> runtime_holder;
  MemoryRuntime& runtime;
  ScriptedHandler handler;
  runtime::Endpoint at;
  std::optional<Server> server;
  runtime::Scope scope;
  bool ended = false;
};

inline int status_of(std::string_view response) {
  if (!response.starts_with("HTTP/1.1 ")) return 0;
  return std::stoi(std::string(response.substr(9, 3)));
}

inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

}  // namespace fairlead::http
