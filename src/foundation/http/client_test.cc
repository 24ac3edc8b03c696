#include "foundation/http/client.h"

#include <gtest/gtest.h>

#include "foundation/http/gzip.h"
#include "foundation/http/http2_frames.h"
#include "foundation/http/test_world.h"

namespace fairlead::http {
namespace {

Request get(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

class FixedTls final : public runtime::TlsSource {
 public:
  std::shared_ptr<const runtime::TlsCredentials> current() const override { return credentials_; }

 private:
  std::shared_ptr<const runtime::TlsCredentials> credentials_ =
      std::make_shared<runtime::TlsCredentials>();
};

// The two ways to the same server.
ClientOptions to(std::vector<runtime::Endpoint> endpoints, bool http2) {
  ClientOptions options;
  options.endpoints = std::move(endpoints);
  options.http2_prior_knowledge = http2;
  return options;
}

Task<Result<std::string>> read_all(ClientStream& stream) {
  std::string text;
  for (;;) {
    FL_CO_TRY(std::optional<Bytes> piece, co_await stream.read());
    if (!piece) co_return text;
    text.append(piece->view());
  }
}

Task<void> send_and_keep(Client& client, Request request,
                         std::vector<Result<Response>>& responses) {
  Result<Response> response = co_await client.send(std::move(request));
  responses.push_back(std::move(response));
}

class EitherProtocol : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Client, EitherProtocol, testing::Values(false, true),
                         [](const auto& param) { return param.param ? "Http2" : "Http1"; });

// Requests of every size, one after the other, share a connection.
TEST_P(EitherProtocol, SendsAndReceives) {
  ServerWorld world;
  Client client(world.runtime, to({world.at}, GetParam()));
  for (const std::size_t size : {0u, 1u, 1000u, 100'000u, 1'000'000u}) {
    Request request = get("/echo");
    request.method = "PUT";
    request.body = std::string(size, 'x');
    const auto response = world.runtime.run(client.send(std::move(request)));
    ASSERT_TRUE(response && *response) << (*response).error().to_string();
    EXPECT_EQ((*response)->body_size(), size + 4);
  }
  Request head = get("/hello");
  head.method = "HEAD";
  const auto bodiless = world.runtime.run(client.send(std::move(head)));
  ASSERT_TRUE(bodiless && *bodiless);
  EXPECT_EQ((*bodiless)->headers.get("content-length"), "6");
  EXPECT_EQ((*bodiless)->body_size(), 0u);
  EXPECT_EQ(world.runtime.connects, 1u);
}

// Concurrent requests: one HTTP/2 connection, or a pool that stays within its bound.
TEST_P(EitherProtocol, ConcurrentRequests) {
  ServerWorld world;
  ClientOptions options = to({world.at}, GetParam());
  options.http1_connections = 8;
  Client client(world.runtime, options);
  std::vector<Result<Response>> responses;
  for (int i = 0; i < 100; ++i)
    world.scope.spawn(send_and_keep(client, get(i % 2 ? "/slow" : "/fast"), responses));
  world.runtime.run_for(200s);
  ASSERT_EQ(responses.size(), 100u);
  for (const auto& response : responses) EXPECT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(world.runtime.connects, GetParam() ? 1u : 8u);
}

// Endpoints are tried in order from the last that worked; all failing is unavailable.
TEST_P(EitherProtocol, FailsOverBetweenEndpoints) {
  const auto runtime = std::make_shared<MemoryRuntime>();
  auto first = std::make_unique<ServerWorld>(runtime, Limits{}, "first");
  auto second = std::make_unique<ServerWorld>(runtime, Limits{}, "second");
  const runtime::Endpoint nobody{runtime::Endpoint::Kind::tcp, "nobody", 80};
  Client client(*runtime, to({nobody, first->at, second->at}, GetParam()));
  ASSERT_TRUE(*runtime->run(client.send(get("/a"))));
  EXPECT_EQ(first->handler.started, 1);
  EXPECT_EQ(runtime->connects, 2u);
  ASSERT_TRUE(*runtime->run(client.send(get("/b"))));
  EXPECT_EQ(runtime->connects, 2u);
  first.reset();
  runtime->run_for(1s);
  ASSERT_TRUE(*runtime->run(client.send(get("/c"))));
  EXPECT_EQ(second->handler.started, 1);
  second.reset();
  runtime->run_for(1s);
  const auto lost = runtime->run(client.send(get("/d")));
  ASSERT_FALSE(*lost);
  EXPECT_EQ(lost->error().code, Code::unavailable);
}

Task<void> stop_server(Server& server) { co_await server.stop(60s); }

// A server that drains finishes what it has, and new requests go to the next endpoint at once.
TEST_P(EitherProtocol, LeavesDrainingServers) {
  const auto runtime = std::make_shared<MemoryRuntime>();
  ServerWorld first(runtime, Limits{}, "first");
  ServerWorld second(runtime, Limits{}, "second");
  Client client(*runtime, to({first.at, second.at}, GetParam()));
  runtime::Scope scope(*runtime);
  std::vector<Result<Response>> responses;
  for (int i = 0; i < 3; ++i) scope.spawn(send_and_keep(client, get("/slow"), responses));
  runtime->run_for(1s);
  scope.spawn(stop_server(*first.server));
  runtime->run_for(1s);
  ASSERT_TRUE(*runtime->run(client.send(get("/new"))));
  EXPECT_EQ(second.handler.started, 1);
  runtime->run_for(10s);
  ASSERT_EQ(responses.size(), 3u);
  for (const auto& response : responses) EXPECT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(first.server->counters().connections_open, 0u);
}

// A request that may have been processed when its connection died fails with io, not unavailable.
TEST_P(EitherProtocol, DoubtIsNotUnavailable) {
  auto world = std::make_unique<ServerWorld>();
  const std::shared_ptr<MemoryRuntime> runtime = world->runtime_holder;
  Client client(*runtime, to({world->at}, GetParam()));
  std::vector<Result<Response>> responses;
  runtime::Scope scope(*runtime);
  scope.spawn(send_and_keep(client, get("/hang"), responses));
  runtime->run_for(1s);
  EXPECT_EQ(world->handler.started, 1);
  world.reset();
  runtime->run_for(1s);
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].error().code, Code::io);
}

// Cancelling a request, or dropping a stream, stops the work on the server.
TEST_P(EitherProtocol, CancellationReachesTheServer) {
  ServerWorld world;
  Client client(world.runtime, to({world.at}, GetParam()));
  const auto late = world.runtime.run(
      runtime::with_timeout<Response>(world.runtime, 3s, client.send(get("/hang"))));
  ASSERT_FALSE(*late);
  EXPECT_EQ(late->error().code, Code::timeout);
  world.runtime.run_for(1s);
  EXPECT_EQ(world.handler.cancelled, 1);
  {
    auto stream = world.runtime.run(client.open(get("/stream")));
    ASSERT_TRUE(stream && *stream);
    ASSERT_TRUE(*world.runtime.run((**stream)->head()));
  }
  world.runtime.run_for(1s);
  EXPECT_EQ(world.handler.cancelled, 2);
  EXPECT_TRUE(*world.runtime.run(client.send(get("/next"))));
}

// A stream delivers pieces as they are written and ends; a wait that timed out can be repeated.
TEST_P(EitherProtocol, Streams) {
  ServerWorld world;
  Client client(world.runtime, to({world.at}, GetParam()));
  auto stream = world.runtime.run(client.open(get("/stream")));
  ASSERT_TRUE(stream && *stream);
  const auto head = world.runtime.run((**stream)->head());
  EXPECT_EQ((*head)->headers.get("content-type"), "application/json");
  const auto nothing = world.runtime.run(
      runtime::with_timeout<std::optional<Bytes>>(world.runtime, 2s, (**stream)->read()));
  EXPECT_EQ(nothing->error().code, Code::timeout);
  world.handler.publish();
  const auto event = world.runtime.run((**stream)->read());
  ASSERT_TRUE(event && *event && **event);
  EXPECT_EQ((**event)->view(), "eeeeeee\n");
  world.handler.end_streams();
  const auto end = world.runtime.run((**stream)->read());
  ASSERT_TRUE(end && *end);
  EXPECT_FALSE((*end)->has_value());
}

// Closing fails what is under way with unavailable; streams may outlive the client.
TEST_P(EitherProtocol, Close) {
  ServerWorld world;
  auto client = std::make_unique<Client>(world.runtime, to({world.at}, GetParam()));
  auto stream = world.runtime.run(client->open(get("/stream")));
  ASSERT_TRUE(*world.runtime.run((**stream)->head()));
  std::vector<Result<Response>> responses;
  world.scope.spawn(send_and_keep(*client, get("/hang"), responses));
  world.runtime.run_for(1s);
  client->close();
  world.runtime.run_for(1s);
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].error().code, Code::unavailable);
  const auto after = world.runtime.run(client->send(get("/x")));
  EXPECT_EQ(after->error().code, Code::unavailable);
  client.reset();
  const auto rest = world.runtime.run((**stream)->read());
  ASSERT_FALSE(*rest);
  EXPECT_EQ(rest->error().code, Code::unavailable);
  world.runtime.run_for(1s);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
}

// After new credentials requests go over new connections, while a stream goes on where it is; the
// old connection ends with it.
TEST_P(EitherProtocol, RenewsConnections) {
  ServerWorld world;
  Client client(world.runtime, to({world.at}, GetParam()));
  auto stream = world.runtime.run(client.open(get("/stream")));
  ASSERT_TRUE(*world.runtime.run((**stream)->head()));
  ASSERT_TRUE(*world.runtime.run(client.send(get("/a"))));
  const std::size_t before = world.runtime.connects;
  client.renew_connections();
  ASSERT_TRUE(*world.runtime.run(client.send(get("/b"))));
  ASSERT_TRUE(*world.runtime.run(client.send(get("/c"))));
  EXPECT_EQ(world.runtime.connects, before + 1);
  world.handler.publish();
  const auto event = world.runtime.run((**stream)->read());
  ASSERT_TRUE(*event && **event);
  world.handler.end_streams();
  const auto rest = world.runtime.run(read_all(***stream));
  EXPECT_TRUE(*rest);
  stream->value().reset();
  world.runtime.run_for(2s);
  EXPECT_EQ(world.server->counters().connections_open, 1u);
}

// A response over the bound fails with exhausted.
TEST_P(EitherProtocol, BoundsResponses) {
  ServerWorld world;
  ClientOptions options = to({world.at}, GetParam());
  options.response_bytes = 10'000;
  Client client(world.runtime, options);
  EXPECT_TRUE(*world.runtime.run(client.send(get("/big?pieces=10"))));
  const auto large = world.runtime.run(client.send(get("/big?pieces=11")));
  EXPECT_EQ(large->error().code, Code::exhausted);
}

// Nothing that could split a request leaves the client.
TEST_P(EitherProtocol, RefusesMalformedRequests) {
  ServerWorld world;
  Client client(world.runtime, to({world.at}, GetParam()));
  Request bad_target = get("/a b");
  Request bad_header = get("/");
  bad_header.headers.add("x", "y\r\nz: w");
  Request bad_method = get("/");
  bad_method.method = "GET /";
  for (const Request& request : {bad_target, bad_header, bad_method})
    EXPECT_EQ(world.runtime.run(client.send(request))->error().code, Code::invalid);
  EXPECT_EQ(world.runtime.connects, 0u);
}

// With TLS the server's choice of protocol decides.
TEST(Client, FollowsAlpn) {
  for (const bool http2 : {false, true}) {
    ServerWorld world;
    world.runtime.server_alpn = http2 ? "h2" : "http/1.1";
    ClientOptions options = to({world.at}, false);
    options.tls = std::make_shared<FixedTls>();
    options.http1_connections = 4;
    Client client(world.runtime, options);
    std::vector<Result<Response>> responses;
    for (int i = 0; i < 10; ++i) world.scope.spawn(send_and_keep(client, get("/slow"), responses));
    world.runtime.run_for(60s);
    ASSERT_EQ(responses.size(), 10u);
    for (const auto& response : responses) EXPECT_TRUE(response);
    EXPECT_EQ(world.runtime.connects, http2 ? 1u : 4u);
  }
}

// An idle pooled connection that the server closed is not used again.
TEST(Client, NoticesClosedIdleConnections) {
  Limits limits;
  limits.idle_time = 5s;
  ServerWorld world(limits);
  Client client(world.runtime, to({world.at}, false));
  ASSERT_TRUE(*world.runtime.run(client.send(get("/a"))));
  world.runtime.run_for(10s);
  ASSERT_TRUE(*world.runtime.run(client.send(get("/b"))));
  EXPECT_EQ(world.runtime.connects, 2u);
}

// gRPC's shape: the body is written in pieces while the response is read.
TEST(Client, WritesBodiesInPieces) {
  ServerWorld world;
  Client client(world.runtime, to({world.at}, true));
  Request request = get("/echo");
  request.method = "POST";
  request.body = "a";
  auto stream = world.runtime.run(client.open(std::move(request), true));
  ASSERT_TRUE(stream && *stream);
  world.runtime.run_for(1s);
  ASSERT_TRUE(*world.runtime.run((**stream)->write(Bytes::literal("b"))));
  world.runtime.run_for(1s);
  ASSERT_TRUE(*world.runtime.run((**stream)->write(Bytes(std::string(500'000, 'c')))));
  ASSERT_TRUE(*world.runtime.run((**stream)->finish()));
  const auto text = world.runtime.run(read_all(***stream));
  ASSERT_TRUE(text && *text);
  EXPECT_EQ(**text, "POST ab" + std::string(500'000, 'c'));
}

// A server played by hand, for what a proper one does not do.
class HandServer {
 public:
  HandServer() : listener(*runtime.listen(at, nullptr)) {}
  // Accepts, answers the preface, and reads what comes within a moment.
  void accept(std::string_view more = {}) {
    auto stream = runtime.run(listener->accept());
    CHECK(stream && *stream);
    peer.emplace(std::move(**stream));
    CHECK(runtime.run(peer->send(frame(NGHTTP2_SETTINGS, 0, 0).append(more))));
    receive();
  }
  void send(std::string bytes) { CHECK(runtime.run(peer->send(std::move(bytes)))); }
  std::vector<ReceivedFrame> receive(Duration time = 100ms) {
    runtime.run(peer->receive(runtime, {}, time));
    return frames_in(std::string_view(peer->received).substr(kPreface.size()));
  }
  static std::string ok(std::int32_t stream, std::string_view body) {
    return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, "\x88") +
           frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, body);
  }

  MemoryRuntime runtime;
  runtime::Endpoint at{runtime::Endpoint::Kind::tcp, "hand", 80};
  std::unique_ptr<runtime::Listener> listener;
  std::optional<RawPeer> peer;
  std::vector<Result<Response>> responses;
  runtime::Scope scope{runtime};
};

// After GOAWAY old streams end where they are, later ones are tried again on a new connection.
TEST(Client, GoAway) {
  HandServer server;
  Client client(server.runtime, to({server.at}, true));
  for (int i = 0; i < 2; ++i)
    server.scope.spawn(send_and_keep(client, get("/" + std::to_string(i)), server.responses));
  server.accept();
  // Stream 1 will be answered, stream 3 was not looked at.
  server.send(frame(NGHTTP2_GOAWAY, 0, 0, big_endian(1) + big_endian(NGHTTP2_NO_ERROR)));
  server.runtime.run_ready();
  server.send(HandServer::ok(1, "one"));
  server.receive();
  EXPECT_TRUE(server.peer->ended);
  ASSERT_EQ(server.responses.size(), 1u);
  EXPECT_EQ(server.responses[0]->body_text(), "one");
  server.accept();
  server.send(HandServer::ok(1, "two"));
  server.runtime.run_for(1s);
  ASSERT_EQ(server.responses.size(), 2u);
  ASSERT_TRUE(server.responses[1]);
  EXPECT_EQ(server.responses[1]->body_text(), "two");
  EXPECT_EQ(server.runtime.connects, 2u);
}

// A refused stream surely was not processed and is tried again; a reset one may have been.
TEST(Client, RefusedAndReset) {
  HandServer server;
  Client client(server.runtime, to({server.at}, true));
  server.scope.spawn(send_and_keep(client, get("/"), server.responses));
  server.accept();
  server.send(frame(NGHTTP2_RST_STREAM, 0, 1, big_endian(NGHTTP2_REFUSED_STREAM)));
  server.receive();
  EXPECT_TRUE(server.responses.empty());
  server.send(frame(NGHTTP2_RST_STREAM, 0, 3, big_endian(NGHTTP2_INTERNAL_ERROR)));
  server.receive();
  ASSERT_EQ(server.responses.size(), 1u);
  EXPECT_EQ(server.responses[0].error().code, Code::io);
}

// Interim heads are passed over and trailers kept apart.
TEST(Client, InterimHeadsAndTrailers) {
  HandServer server;
  Client client(server.runtime, to({server.at}, true));
  auto stream = server.runtime.run(client.open(get("/")));
  server.accept();
  server.send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, literal_field(":status", "103")) +
              frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1,
                    literal_field(":status", "200") + literal_field("x", "head")) +
              frame(NGHTTP2_DATA, 0, 1, "body") +
              frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                    literal_field("grpc-status", "0")));
  const auto head = server.runtime.run((**stream)->head());
  ASSERT_TRUE(head && *head);
  EXPECT_EQ((*head)->status, 200);
  EXPECT_EQ((*head)->headers.get("x"), "head");
  EXPECT_EQ(**server.runtime.run(read_all(***stream)), "body");
  EXPECT_EQ((**stream)->trailers().get("grpc-status"), "0");
}

// A connection that has gone silent under an open call is probed, given up, and the next endpoint
// is tried.
TEST(Client, GivesUpSilentServers) {
  HandServer server;
  Client client(server.runtime, to({server.at}, true));
  server.scope.spawn(send_and_keep(client, get("/"), server.responses));
  server.accept();
  EXPECT_FALSE(first_of(server.receive(14s), NGHTTP2_PING));
  EXPECT_TRUE(first_of(server.receive(2s), NGHTTP2_PING));
  EXPECT_TRUE(server.responses.empty());
  server.receive(10s);
  ASSERT_EQ(server.responses.size(), 1u);
  EXPECT_EQ(server.responses[0].error().code, Code::timeout);
  EXPECT_TRUE(server.peer->ended);
}

// An answered probe keeps the connection, and without calls nobody is probed.
TEST(Client, ProbesOnlyWithCalls) {
  HandServer server;
  Client client(server.runtime, to({server.at}, true));
  server.scope.spawn(send_and_keep(client, get("/"), server.responses));
  server.accept();
  server.receive(16s);
  server.send(frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, std::string(8, '\0')));
  server.receive(14s);
  EXPECT_FALSE(server.peer->ended);
  server.send(HandServer::ok(1, "x"));
  server.receive(100s);
  EXPECT_FALSE(server.peer->ended);
  const auto frames = server.receive(1s);
  EXPECT_LE(std::count_if(frames.begin(), frames.end(),
                          [](const auto& f) { return f.type == NGHTTP2_PING; }),
            2);
}

std::vector<std::string> ping_answers(const std::vector<ReceivedFrame>& frames) {
  std::vector<std::string> answers;
  for (const ReceivedFrame& one : frames)
    if (one.type == NGHTTP2_PING && (one.flags & NGHTTP2_FLAG_ACK)) answers.push_back(one.payload);
  return answers;
}

// A server's ping is answered at once.
TEST(Client, AnswersPings) {
  HandServer server;
  Client client(server.runtime, to({server.at}, true));
  server.scope.spawn(send_and_keep(client, get("/"), server.responses));
  server.accept(frame(NGHTTP2_PING, 0, 0, "12345678"));
  EXPECT_EQ(ping_answers(server.receive(1ms)), std::vector<std::string>{"12345678"});
}

// Where it may wait, one answer does, also when requests go out meanwhile; a second ping is one
// that wants to know, and is answered at once.
TEST(Client, HoldsOneAnswerToAPing) {
  using Answers = std::vector<std::string>;
  HandServer server;
  ClientOptions options = to({server.at}, true);
  options.ping_answer_time = 1s;
  Client client(server.runtime, options);
  server.scope.spawn(send_and_keep(client, get("/1"), server.responses));
  server.accept(frame(NGHTTP2_PING, 0, 0, "12345678"));
  server.scope.spawn(send_and_keep(client, get("/2"), server.responses));
  EXPECT_EQ(ping_answers(server.receive(500ms)), Answers{});
  server.send(frame(NGHTTP2_PING, 0, 0, "abcdefgh"));
  EXPECT_EQ(ping_answers(server.receive(100ms)), Answers{"abcdefgh"});
  EXPECT_EQ(ping_answers(server.receive(500ms)), (Answers{"abcdefgh", "12345678"}));
  server.send(frame(NGHTTP2_PING, 0, 0, "87654321"));
  EXPECT_EQ(ping_answers(server.receive(500ms)).size(), 2u);
  EXPECT_EQ(ping_answers(server.receive(600ms)).size(), 3u);
}

class GzipHandler final : public Handler {
 public:
  Task<void> serve(Exchange& exchange) override {
    const std::vector<Bytes> pieces{Bytes(std::string(1 << 20, 'z'))};
    Response response;
    response.headers.add("content-encoding", "gzip");
    response.body.emplace_back(*gzip(pieces, 1));
    (void)co_await exchange.respond(std::move(response));
  }
};

// What was asked for compressed arrives as if it had not been; what was not asked for stays as it
// is.
TEST_P(EitherProtocol, InflatesWhatItAskedFor) {
  MemoryRuntime runtime;
  GzipHandler handler;
  Server server(runtime, handler);
  const runtime::Endpoint at{runtime::Endpoint::Kind::tcp, "gzip", 80};
  runtime::Scope scope(runtime);
  scope.spawn(server.serve(*runtime.listen(at, nullptr)));
  runtime.run_ready();
  Client client(runtime, to({at}, GetParam()));
  Request asking = get("/");
  asking.headers.add("accept-encoding", "gzip");
  const auto inflated = runtime.run(client.send(std::move(asking)));
  ASSERT_TRUE(inflated && *inflated) << (*inflated).error().to_string();
  EXPECT_EQ((*inflated)->body_text(), std::string(1 << 20, 'z'));
  EXPECT_FALSE((*inflated)->headers.has("content-encoding"));
  const auto raw = runtime.run(client.send(get("/")));
  ASSERT_TRUE(raw && *raw);
  EXPECT_LT((*raw)->body_size(), 10'000u);
}

Task<void> watch_head(Client& client, std::vector<std::unique_ptr<ClientStream>>& streams) {
  Result<std::unique_ptr<ClientStream>> stream = co_await client.open(get("/stream"));
  if (!stream) co_return;
  const Result<ResponseHead> head = co_await (*stream)->head();
  if (head) streams.push_back(std::move(*stream));
}

// A server that takes 100 streams on a connection (kube-apiserver) gets further connections for
// further watches; those that never end do not hold up the next request.
TEST(Client, MoreStreamsThanAConnectionTakes) {
  Limits limits;
  limits.streams_per_connection = 100;
  ServerWorld world(limits);
  Client client(world.runtime, to({world.at}, true));
  std::vector<std::unique_ptr<ClientStream>> streams;
  runtime::Scope scope(world.runtime);
  for (int i = 0; i < 250; ++i) scope.spawn(watch_head(client, streams));
  world.runtime.run_for(10s);
  EXPECT_EQ(streams.size(), 250u);
  EXPECT_EQ(world.runtime.connects, 3u);
  const auto response = world.runtime.run(client.send(get("/hello")), 10s);
  ASSERT_TRUE(response && *response);
  // Room that was given back is used before another connection is made.
  streams.resize(80);
  world.runtime.run_for(1s);
  for (int i = 0; i < 150; ++i) scope.spawn(watch_head(client, streams));
  world.runtime.run_for(10s);
  EXPECT_EQ(streams.size(), 230u);
  EXPECT_EQ(world.runtime.connects, 3u);
  client.close();
  world.runtime.run_for(1s);
}

}  // namespace
}  // namespace fairlead::http
