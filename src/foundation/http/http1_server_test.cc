#include <gtest/gtest.h>

#include "foundation/http/test_world.h"

namespace fairlead::http {
namespace {

std::string get(std::string_view path, std::string_view more = "") {
  return std::string("GET ")
      .append(path)
      .append(" HTTP/1.1\r\nHost: h\r\n")
      .append(more)
      .append("\r\n");
}

// A plain request gets its answer, with a length and a date, and the connection stays.
TEST(Http1Server, AnswersAndKeepsTheConnection) {
  ServerWorld world;
  const std::string answer = world.talk(get("/hello"), 1s);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_NE(answer.find("Content-Length: 6\r\n"), std::string::npos);
  EXPECT_NE(answer.find("Date: Thu, 01 Jan 1970"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n/hello"));
  EXPECT_FALSE(world.ended);
  EXPECT_EQ(world.server->counters().requests, 1u);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
}

// Pipelined requests are answered one after the other, in order, bodies included.
TEST(Http1Server, AnswersPipelinedRequestsInOrder) {
  ServerWorld world;
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests.append(get("/" + std::to_string(i)));
    requests.append("PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
  }
  requests.append(get("/last", "Connection: close\r\n"));
  const std::string answers = world.talk(requests);
  EXPECT_TRUE(world.ended);
  EXPECT_EQ(count(answers, "HTTP/1.1 200 OK"), 101u);
  EXPECT_EQ(count(answers, "PUT abc"), 50u);
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    const std::size_t next = answers.find("\r\n\r\n/" + std::to_string(i) + "HTTP/1.1", at);
    ASSERT_NE(next, std::string::npos) << i;
    at = next;
  }
  EXPECT_TRUE(answers.ends_with("\r\n\r\n/last"));
}

// A request that arrives byte by byte is the same request.
TEST(Http1Server, TakesRequestsInAnyPieces) {
  ServerWorld world;
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
  RawPeer peer = world.connect();
  for (const char c : request) {
    ASSERT_TRUE(world.runtime.run(peer.send(std::string(1, c))));
    world.runtime.run_ready();
  }
  world.runtime.run(peer.receive(world.runtime));
  EXPECT_TRUE(peer.received.ends_with("POST hello world"));
}

struct RefusalCase {
  std::string bytes;
  int status;
};

// What breaks a rule gets the right status, a short text, and a closed connection.
TEST(Http1Server, RefusesWithTheRightStatus) {
  Limits limits;
  limits.header_bytes = 1000;
  limits.header_count = 10;
  limits.body_bytes = 100;
  std::string many;
  for (int i = 0; i < 11; ++i) many.append("a: b\r\n");
  const std::vector<RefusalCase> cases = {
      {"nonsense\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
      {get("/" + std::string(1000, 'x')), 431},
      {get("/", many), 431},
      {"PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413},
      {"PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n" +
           std::string(128, 'x') + "\r\n",
       413},
      {"PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz", 400},
      {"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {get("/", "Expect: miracles\r\n"), 417},
      {"PRI * HTTP/2.0\r\n\r", 408},
  };
  ServerWorld world(limits);
  for (const RefusalCase& c : cases) {
    const std::string answer = world.talk(c.bytes + std::string(c.status == 408 ? 0 : 50, 'z'));
    EXPECT_EQ(status_of(answer), c.status) << c.bytes << "\n→ " << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u) << answer;
    EXPECT_TRUE(world.ended) << c.bytes;
  }
  EXPECT_EQ(world.handler.started, 0);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
}

// Bytes after a refused request are never taken for another one.
TEST(Http1Server, NothingFollowsARefusal) {
  ServerWorld world;
  const std::string smuggled =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nContent-Length: 5\r\n\r\n123456" +
      get("/admin");
  const std::string answer = world.talk(smuggled);
  EXPECT_EQ(status_of(answer), 400);
  EXPECT_EQ(count(answer, "HTTP/1.1"), 1u);
  EXPECT_EQ(world.handler.started, 0);
}

// Slow heads and slow bodies get 408; a connection that never asks is closed without a word.
TEST(Http1Server, CutsSlowSenders) {
  Limits limits;
  limits.header_time = 10s;
  limits.body_time = 60s;
  ServerWorld world(limits);
  EXPECT_EQ(status_of(world.talk("GET / HTTP/1.1\r\nHost:")), 408);
  EXPECT_EQ(status_of(world.talk("PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")),
            408);
  EXPECT_EQ(world.talk(""), "");
  EXPECT_TRUE(world.ended);

  // A byte now and then does not buy more time.
  RawPeer peer = world.connect();
  const Instant began = world.runtime.now();
  const std::string drip = "GET / HTTP/1.1\r\nX: " + std::string(100, 'y');
  for (const char c : drip) {
    if (!world.runtime.run(peer.send(std::string(1, c))).value_or(false)) break;
    world.runtime.run_for(1s);
  }
  world.runtime.run(peer.receive(world.runtime));
  EXPECT_EQ(status_of(peer.received), 408);
  EXPECT_LT(began, world.runtime.now());
  EXPECT_EQ(world.handler.started, 0);
}

// Bodies of all connections together stay within their bound; one too many is told to come back.
TEST(Http1Server, BoundsBodiesOfAllConnectionsTogether) {
  Limits limits;
  limits.body_bytes = 1000;
  limits.request_bytes = 5000;  // of which one user may have half
  ServerWorld world(limits);
  const std::string part =
      "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + std::string(999, 'x');
  RawPeer first = world.connect();
  RawPeer second = world.connect();
  RawPeer third = world.connect();
  for (RawPeer* peer : {&first, &second, &third}) {
    world.runtime.run(peer->send(part));
    world.runtime.run_ready();
  }
  world.runtime.run(third.receive(world.runtime, {}, 2s));
  EXPECT_EQ(status_of(third.received), 429);
  EXPECT_NE(third.received.find("retry-after: 1\r\n"), std::string::npos);
  world.runtime.run(first.send("x"));
  world.runtime.run(first.receive(world.runtime, "PUT x", 1s));
  EXPECT_EQ(status_of(first.received), 200);
}

// 100-continue is answered when there is a body to wait for and it is wanted.
TEST(Http1Server, ExpectContinue) {
  Limits limits;
  limits.body_bytes = 10;
  ServerWorld world(limits);
  RawPeer peer = world.connect();
  world.runtime.run(peer.send(
      "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
  world.runtime.run(peer.receive(world.runtime, "\r\n\r\n", 1s));
  EXPECT_EQ(peer.received, "HTTP/1.1 100 Continue\r\n\r\n");
  world.runtime.run(peer.send("abc"));
  world.runtime.run(peer.receive(world.runtime, "PUT abc", 1s));
  EXPECT_EQ(count(peer.received, "HTTP/1.1 200 OK"), 1u);
  const std::string refused = world.talk(
      "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(refused), 413);
}

// HEAD tells the length and sends no body; 204 has neither.
TEST(Http1Server, ResponsesWithoutBody) {
  ServerWorld world;
  const std::string head = world.talk("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n", 1s);
  EXPECT_NE(head.find("Content-Length: 6\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  const std::string empty = world.talk(get("/empty"), 1s);
  EXPECT_EQ(status_of(empty), 204);
  EXPECT_EQ(empty.find("Content-Length"), std::string::npos);
}

// HTTP/1.0 is closed after the answer unless it asked otherwise.
TEST(Http1Server, Http10KeepAlive) {
  ServerWorld world;
  EXPECT_NE(world.talk("GET /a HTTP/1.0\r\n\r\n").find("Connection: close"), std::string::npos);
  EXPECT_TRUE(world.ended);
  const std::string kept = world.talk("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 1s);
  EXPECT_NE(kept.find("Connection: keep-alive"), std::string::npos);
  EXPECT_FALSE(world.ended);
}

// A handler can neither split a response nor leave a request without an answer.
TEST(Http1Server, HandlersFaultsBecome500) {
  ServerWorld world;
  const std::string injected = world.talk(get("/inject"), 1s);
  EXPECT_EQ(status_of(injected), 500);
  EXPECT_EQ(injected.find("set-cookie"), std::string::npos);
  EXPECT_EQ(world.handler.last.error().code, Code::invalid);
  EXPECT_EQ(status_of(world.talk(get("/none"), 1s)), 500);
}

// A list of thousands of small pieces leaves in buffers, not in pieces.
TEST(Http1Server, GathersSmallPieces) {
  ServerWorld world;
  RawPeer peer = world.connect();
  MemoryStream* near = world.runtime.last_near;
  world.runtime.run(peer.send(get("/big?pieces=5000", "Connection: close\r\n")));
  world.runtime.run(peer.receive(world.runtime));
  EXPECT_EQ(peer.received.size() - peer.received.find("\r\n\r\n") - 4, 5'000'000u);
  EXPECT_LE(near->incoming().writes, 5'000'000 / (60 << 10) + 2);
}

// A streamed response is chunked; what is written in one turn of the loop leaves in one write.
TEST(Http1Server, StreamsInChunks) {
  ServerWorld world;
  RawPeer peer = world.connect();
  MemoryStream* near = world.runtime.last_near;
  world.runtime.run(peer.send(get("/stream")));
  world.runtime.run_for(1s);
  const std::size_t before = near->incoming().writes;
  for (int i = 0; i < 10; ++i) world.handler.publish();
  world.runtime.run_for(1s);
  EXPECT_LE(near->incoming().writes - before, 2u);
  world.handler.end_streams();
  world.runtime.run(peer.receive(world.runtime, "0\r\n\r\n", 1s));
  EXPECT_EQ(count(peer.received, "8\r\neeeeeee\n\r\n"), 10u);
  EXPECT_FALSE(peer.ended);
  // The connection serves on.
  world.runtime.run(peer.send(get("/next")));
  world.runtime.run(peer.receive(world.runtime, "/next", 1s));
  EXPECT_TRUE(peer.received.ends_with("/next"));
}

// Pieces of a streamed response, small or large, belong to it until the peer took them: they may
// carry a charge. They arrive whole and in order.
TEST(Http1Server, KeepsPiecesUntilTheyAreSent) {
  for (const std::size_t size : {1'000u, 31'000u, 100'000u}) {
    SCOPED_TRACE(size);
    ServerWorld world;
    world.handler.event_bytes = size;
    RawPeer peer = world.connect();
    world.runtime.run(peer.send(get("/stream")));
    world.runtime.run_for(1s);
    const int events = static_cast<int>(1'000'000 / size);
    for (int i = 0; i < events; ++i) world.handler.publish();
    world.runtime.run_for(1s);
    EXPECT_GE(world.handler.held_bytes, 64'000u);
    EXPECT_LE(world.handler.held_bytes, 2 * ((64 << 10) + size) + size);
    world.handler.end_streams();
    world.runtime.run(peer.receive(world.runtime, "0\r\n\r\n", 1s));
    const std::string chunk = std::string(size - 1, 'e').append("\n\r\n");
    EXPECT_EQ(count(peer.received, chunk), static_cast<std::size_t>(events));
    EXPECT_EQ(world.handler.held_bytes, 0u);
  }
}

// A peer that goes away while a response is streamed, or a handler thinks, cancels the handler.
TEST(Http1Server, NoticesThatThePeerWentAway) {
  ServerWorld world;
  for (const char* path : {"/stream", "/hang"}) {
    world.handler.cancelled = 0;
    RawPeer peer = world.connect();
    world.runtime.run(peer.send(get(path)));
    world.runtime.run_for(3s);
    EXPECT_EQ(world.handler.cancelled, 0);
    peer.close();
    world.runtime.run_for(1s);
    EXPECT_EQ(world.handler.cancelled, 1) << path;
    EXPECT_EQ(world.server->counters().connections_open, 0u);
    EXPECT_EQ(world.server->counters().requests_under_way, 0u);
  }
}

// A request that arrives while another is streamed waits its turn and is not lost.
TEST(Http1Server, KeepsRequestsThatArriveDuringAStream) {
  ServerWorld world;
  RawPeer peer = world.connect();
  world.runtime.run(peer.send(get("/stream")));
  world.runtime.run_for(1s);
  world.runtime.run(peer.send(get("/early")));
  world.runtime.run_for(1s);
  world.handler.publish();
  world.runtime.run_for(1s);
  world.handler.end_streams();
  world.runtime.run(peer.receive(world.runtime, "/early", 1s));
  EXPECT_TRUE(peer.received.ends_with("/early"));
}

// A response that its handler leaves unfinished is visibly cut, never completed.
TEST(Http1Server, UnfinishedStreamsAreCut) {
  ServerWorld world;
  const std::string answer = world.talk(get("/half"));
  EXPECT_TRUE(world.ended);
  EXPECT_FALSE(answer.ends_with("0\r\n\r\n"));
}

// A peer that stops reading is cut after the stall time, and its handler is told.
TEST(Http1Server, CutsPeersThatTakeNothing) {
  ServerWorld world;
  RawPeer peer = world.connect();
  world.runtime.run(peer.send(get("/big?pieces=1000")));
  world.runtime.run_for(29s);
  EXPECT_EQ(world.server->counters().requests_under_way, 1u);
  world.runtime.run_for(2s);
  EXPECT_EQ(world.server->counters().requests_under_way, 0u);
  EXPECT_EQ(world.handler.last.error().code, Code::timeout);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
}

// When everybody inside is known, further connections are closed at once; the others go on.
TEST(Http1Server, BoundsConnections) {
  Limits limits;
  limits.connections = 2;
  ServerWorld world(limits);
  world.handler.strict = true;
  RawPeer first = world.connect();
  world.runtime.run(first.send(get("/a", "x-user: a\r\n")));
  world.runtime.run_for(1s);
  RawPeer second = world.connect();
  world.runtime.run(second.send(get("/b", "x-user: b\r\n")));
  world.runtime.run_for(1s);
  RawPeer third = world.connect();
  world.runtime.run(third.receive(world.runtime, {}, 1s));
  EXPECT_TRUE(third.ended);
  EXPECT_EQ(world.server->counters().connections_refused, 1u);
  EXPECT_EQ(world.server->counters().of(Refusal::connections), 1u);
  world.runtime.run(first.send(get("/ok")));
  world.runtime.run(first.receive(world.runtime, "/ok", 1s));
  EXPECT_EQ(status_of(first.received), 200);
}

Task<bool> stop(Server& server, Duration drain) {
  co_await server.stop(drain);
  co_return true;
}

// Stopping closes idle connections at once, lets requests end, and cancels what outlasts the drain.
TEST(Http1Server, Drains) {
  ServerWorld world;
  RawPeer idle = world.connect();
  RawPeer slow = world.connect();
  RawPeer hanging = world.connect();
  world.runtime.run(slow.send(get("/slow")));
  world.runtime.run(hanging.send(get("/hang")));
  world.runtime.run_for(1s);
  const Instant began = world.runtime.now();
  ASSERT_TRUE(world.runtime.run(stop(*world.server, 20s)));
  EXPECT_EQ(world.runtime.now() - began, 20s);
  world.runtime.run(idle.receive(world.runtime, {}, 1s));
  EXPECT_TRUE(idle.ended);
  world.runtime.run(slow.receive(world.runtime, {}, 1s));
  EXPECT_NE(slow.received.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(slow.received.ends_with("slow"));
  EXPECT_EQ(world.handler.cancelled, 1);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
  EXPECT_EQ(world.scope.size(), 0u);
}

Task<void> stop_and_count(Server& server, int& stopped) {
  co_await server.stop(20s);
  ++stopped;
}

// Stopping twice is stopping once: both wait for the same end.
TEST(Http1Server, StopsOnce) {
  ServerWorld world;
  RawPeer slow = world.connect();
  world.runtime.run(slow.send(get("/slow")));
  world.runtime.run_for(1s);
  int stopped = 0;
  world.scope.spawn(stop_and_count(*world.server, stopped));
  world.scope.spawn(stop_and_count(*world.server, stopped));
  world.runtime.run_for(1s);
  EXPECT_EQ(stopped, 0);
  world.runtime.run_for(10s);
  EXPECT_EQ(stopped, 2);
}

// Destroying a server with everything under way leaves nothing behind (a crash in simulation).
TEST(Http1Server, CanBeDestroyedAtAnyPoint) {
  ServerWorld world;
  RawPeer streaming = world.connect();
  RawPeer hanging = world.connect();
  RawPeer partial = world.connect();
  world.runtime.run(streaming.send(get("/stream")));
  world.runtime.run(hanging.send(get("/hang")));
  world.runtime.run(partial.send("GET"));
  world.runtime.run_for(3s);
  world.server.reset();
  world.handler.publish();
  world.runtime.run_for(1s);
  EXPECT_EQ(world.handler.ended, 0);
}

}  // namespace
}  // namespace fairlead::http
