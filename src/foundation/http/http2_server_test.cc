#include <gtest/gtest.h>

#include <algorithm>

#include "foundation/http/client.h"
#include "foundation/http/http2_frames.h"
#include "foundation/http/test_world.h"

namespace fairlead::http {
namespace {

ClientOptions to(const ServerWorld& world) {
  ClientOptions options;
  options.endpoints = {world.at};
  options.http2_prior_knowledge = true;
  return options;
}

Request get(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

using Streams = std::vector<std::unique_ptr<ClientStream>>;

// Opens `n` streams and waits for all heads.
Task<Result<>> open_streams(Client& client, std::string target, int n, Streams& streams) {
  for (int i = 0; i < n; ++i) {
    FL_CO_TRY(std::unique_ptr<ClientStream> stream, co_await client.open(get(target)));
    streams.push_back(std::move(stream));
  }
  for (const auto& stream : streams) {
    FL_CO_CHECKED(co_await stream->head());
  }
  co_return Result<>{};
}

Task<Result<std::string>> read_bytes(ClientStream& stream, std::size_t n) {
  std::string text;
  while (text.size() < n) {
    FL_CO_TRY(std::optional<Bytes> piece, co_await stream.read());
    if (!piece) break;
    text.append(piece->view());
  }
  co_return text;
}

// A peer that speaks frames by hand.
struct RawHttp2 {
  explicit RawHttp2(ServerWorld& its_world) : world(its_world), peer(its_world.connect()) {
    send(client_opening());
  }
  bool send(std::string bytes) {
    return world.runtime.run(peer.send(std::move(bytes)), 1s).value_or(false);
  }
  std::vector<ReceivedFrame> receive(Duration time = 1s) {
    world.runtime.run(peer.receive(world.runtime, {}, time));
    return frames_in(peer.received);
  }
  ServerWorld& world;
  RawPeer peer;
};

// Whole requests with bodies go out and come back over HTTP/2 known in advance.
TEST(Http2Server, AnswersRequests) {
  ServerWorld world;
  Client client(world.runtime, to(world));
  Request request = get("/echo");
  request.method = "POST";
  request.body = std::string(300'000, 'b');
  const auto response = world.runtime.run(client.send(std::move(request)));
  ASSERT_TRUE(response && *response) << (*response).error().to_string();
  EXPECT_EQ((*response)->status, 200);
  EXPECT_EQ((*response)->headers.get("content-type"), "text/plain");
  EXPECT_EQ((*response)->body_text(), "POST " + std::string(300'000, 'b'));
  const auto empty = world.runtime.run(client.send(get("/empty")));
  EXPECT_EQ((*empty)->status, 204);
  EXPECT_EQ((*empty)->body_size(), 0u);
  const auto none = world.runtime.run(client.send(get("/none")));
  EXPECT_EQ((*none)->status, 500);
  const auto injected = world.runtime.run(client.send(get("/inject")));
  EXPECT_EQ((*injected)->status, 500);
  EXPECT_FALSE((*injected)->headers.has("set-cookie"));
  EXPECT_EQ(world.server->counters().connections_accepted, 1u);
  EXPECT_EQ(world.server->counters().requests_under_way, 0u);
}

// What does not come again (Date, Audit-Id) takes no room in the peer's memory of header fields;
// what does come again is sent once.
TEST(Http2Server, PassingFieldsAreNotRemembered) {
  ServerWorld world;
  RawHttp2 raw(world);
  FieldDecoder decoder;
  std::vector<DecodedFields> answers;
  for (const std::int32_t stream : {1, 3}) {
    raw.send(request_frame(stream, "/audited"));
    for (const ReceivedFrame& frame : raw.receive())
      if (frame.type == NGHTTP2_HEADERS && frame.stream == stream)
        answers.push_back(decoder.decode(frame.payload));
  }
  ASSERT_EQ(answers.size(), 2u);
  for (const DecodedFields& answer : answers) {
    EXPECT_EQ(answer.values.at("content-type"), "text/plain");
    EXPECT_TRUE(answer.values.contains("date"));
    EXPECT_EQ(answer.never_indexed, (std::set<std::string>{"audit-id", "date"}));
  }
  EXPECT_NE(answers[0].values.at("audit-id"), answers[1].values.at("audit-id"));
  EXPECT_GT(answers[0].table, 0u);
  EXPECT_EQ(answers[0].table, answers[1].table);
}

// A thousand watches share a connection, and one event to each of them leaves in a few writes.
TEST(Http2Server, AThousandStreamsOnOneConnection) {
  ServerWorld world;
  Client client(world.runtime, to(world));
  Streams streams;
  const auto opened = world.runtime.run(open_streams(client, "/stream", 1000, streams));
  ASSERT_TRUE(opened && *opened);
  EXPECT_EQ(world.server->counters().requests_under_way, 1000u);
  const std::size_t before = world.runtime.last_near->incoming().writes;
  world.handler.publish();
  world.runtime.run_for(1s);
  EXPECT_LE(world.runtime.last_near->incoming().writes - before, 3u);
  for (const auto& stream : streams) {
    const auto event = world.runtime.run(read_bytes(*stream, 8));
    ASSERT_TRUE(event && *event);
    EXPECT_EQ(**event, "eeeeeee\n");
  }
  // Dropping a stream cancels its handler alone.
  streams.erase(streams.begin(), streams.begin() + 400);
  world.runtime.run_for(1s);
  EXPECT_EQ(world.handler.cancelled, 400);
  EXPECT_EQ(world.server->counters().requests_under_way, 600u);
  world.handler.end_streams();
  world.runtime.run_for(1s);
  EXPECT_EQ(world.server->counters().requests_under_way, 0u);
  const auto end = world.runtime.run(streams.back()->read());
  ASSERT_TRUE(end && *end);
  EXPECT_FALSE((*end)->has_value());
}

// A watch that is not read stops at its own window; the others go on.
TEST(Http2Server, ASlowStreamSlowsOnlyItself) {
  ServerWorld world;
  world.handler.event_bytes = 100'000;
  Client client(world.runtime, to(world));
  Streams streams;
  ASSERT_TRUE(*world.runtime.run(open_streams(client, "/stream", 2, streams)));
  for (int i = 0; i < 20; ++i) {
    world.handler.publish();
    const auto event = world.runtime.run(read_bytes(*streams[0], 100'000), 10s);
    ASSERT_TRUE(event && *event) << i;
    EXPECT_EQ((*event)->size(), 100'000u);
  }
  // The unread one is cut when nothing of it has moved for the stall time; the read one is not.
  for (int i = 0; i < 10; ++i) {
    world.runtime.run_for(5s);
    world.handler.publish();
    ASSERT_TRUE(*world.runtime.run(read_bytes(*streams[0], 100'000), 10s));
  }
  EXPECT_EQ(world.handler.cancelled, 1);
  const auto rest = world.runtime.run(read_bytes(*streams[1], 100 << 20));
  ASSERT_TRUE(rest);
  EXPECT_FALSE(rest->has_value());
}

// Bodies of many pieces cross at full length although both windows are far smaller.
TEST(Http2Server, LargeBodiesRespectFlowControl) {
  ServerWorld world;
  Client client(world.runtime, to(world));
  const auto response = world.runtime.run(client.send(get("/big?pieces=5000")));
  ASSERT_TRUE(response && *response);
  EXPECT_EQ((*response)->body_size(), 5'000'000u);
  EXPECT_EQ((*response)->headers.get("content-length"), "5000000");
}

// Limits apply per stream and leave the connection alone.
TEST(Http2Server, RefusesRequestsOverTheLimits) {
  Limits limits;
  limits.header_bytes = 2000;
  limits.header_count = 20;
  limits.body_bytes = 1000;
  limits.request_bytes = 40'000;
  ServerWorld world(limits);
  Client client(world.runtime, to(world));
  const auto status = [&](Request request) {
    const auto response = world.runtime.run(client.send(std::move(request)));
    return response && *response ? (*response)->status : 0;
  };
  Request large = get("/echo");
  large.method = "PUT";
  large.body = std::string(1001, 'x');
  EXPECT_EQ(status(large), 413);
  Request wide = get("/x");
  wide.headers.add("x", std::string(2000, 'x'));
  EXPECT_EQ(status(wide), 431);
  Request long_head = get("/x");
  for (int i = 0; i < 30; ++i) long_head.headers.add("x", "y");
  EXPECT_EQ(status(long_head), 431);
  Request expecting = get("/x");
  expecting.headers.add("expect", "miracles");
  EXPECT_EQ(status(expecting), 417);
  EXPECT_EQ(status(get("/ok")), 200);
  EXPECT_EQ(world.server->counters().connections_accepted, 1u);

  // Bodies of all connections together: one user may have half of everything.
  RawHttp2 raw(world);
  RawHttp2 rivals[7] = {RawHttp2(world), RawHttp2(world), RawHttp2(world), RawHttp2(world),
                        RawHttp2(world), RawHttp2(world), RawHttp2(world)};
  for (RawHttp2& rival : rivals)
    for (int id = 1; id <= 5; id += 2) {
      rival.send(request_frame(id, "/echo", {}, false, "PUT"));
      rival.send(frame(NGHTTP2_DATA, 0, id, std::string(900, 'x')));
    }
  raw.send(request_frame(1, "/echo", {}, false, "PUT"));
  raw.send(frame(NGHTTP2_DATA, 0, 1, std::string(900, 'x')));
  const auto frames = raw.receive();
  const ReceivedFrame* reset = first_of(frames, NGHTTP2_RST_STREAM);
  ASSERT_TRUE(reset);  // after the 429, the rest of the body is not wanted
  EXPECT_EQ(reset->stream, 1);
  EXPECT_EQ(reset->code(), static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
}

// A request whose body stops arriving is answered and reset; a header block that does, ends all.
TEST(Http2Server, CutsSlowSenders) {
  ServerWorld world;
  RawHttp2 raw(world);
  raw.send(request_frame(1, "/echo", {}, false, "PUT"));
  auto frames = raw.receive(59s);
  EXPECT_FALSE(first_of(frames, NGHTTP2_HEADERS));
  frames = raw.receive(10s);
  EXPECT_TRUE(first_of(frames, NGHTTP2_HEADERS));
  EXPECT_TRUE(first_of(frames, NGHTTP2_RST_STREAM));
  EXPECT_FALSE(raw.peer.ended);
  EXPECT_EQ(world.handler.started, 0);

  RawHttp2 slow(world);
  slow.send(frame(NGHTTP2_HEADERS, 0, 1, request_block("GET", "/")));
  frames = slow.receive(30s);
  EXPECT_TRUE(slow.peer.ended);
  ASSERT_TRUE(first_of(frames, NGHTTP2_GOAWAY));
}

// Without requests the connection ends after the idle time, politely.
TEST(Http2Server, ClosesIdleConnections) {
  ServerWorld world;
  RawHttp2 raw(world);
  raw.receive(170s);
  EXPECT_FALSE(raw.peer.ended);
  const auto frames = raw.receive(20s);
  EXPECT_TRUE(raw.peer.ended);
  ASSERT_TRUE(first_of(frames, NGHTTP2_GOAWAY));
  EXPECT_EQ(first_of(frames, NGHTTP2_GOAWAY)->code(), static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
}

// A silent peer with an open watch is probed and, when nothing answers, cut.
TEST(Http2Server, ProbesSilentPeers) {
  ServerWorld world;
  RawHttp2 raw(world);
  raw.send(request_frame(1, "/stream"));
  const auto frames = raw.receive(70s);
  EXPECT_TRUE(first_of(frames, NGHTTP2_PING));
  EXPECT_FALSE(raw.peer.ended);
  raw.receive(40s);
  EXPECT_TRUE(raw.peer.ended);
  EXPECT_EQ(world.handler.cancelled, 1);
}

struct Flood {
  const char* name;
  std::string (*unit)(std::int32_t i);
};

// Every known flood ends with GOAWAY or a closed connection after a bounded number of frames.
TEST(Http2Server, CutsFloods) {
  const Flood floods[] = {
      {"rapid reset",
       [](std::int32_t i) {
         return request_frame(2 * i + 1, "/hang") +
                frame(NGHTTP2_RST_STREAM, 0, 2 * i + 1, big_endian(NGHTTP2_CANCEL));
       }},
      {"provoked resets",
       [](std::int32_t i) {
         return request_frame(2 * i + 1, "/hang") +
                frame(NGHTTP2_WINDOW_UPDATE, 0, 2 * i + 1, big_endian(0));
       }},
      {"ping", [](std::int32_t) { return frame(NGHTTP2_PING, 0, 0, "12345678"); }},
      {"settings", [](std::int32_t) { return frame(NGHTTP2_SETTINGS, 0, 0); }},
      {"priority",
       [](std::int32_t i) {
         return frame(NGHTTP2_PRIORITY, 0, 2 * i + 1, std::string("\0\0\0\0\x10", 5));
       }},
      {"empty data",
       [](std::int32_t i) {
         return i == 0 ? request_frame(1, "/echo", {}, false, "PUT") : frame(NGHTTP2_DATA, 0, 1);
       }},
      {"continuation",
       [](std::int32_t i) {
         return i == 0 ? frame(NGHTTP2_HEADERS, 0, 1, request_block("GET", "/"))
                       : frame(NGHTTP2_CONTINUATION, 0, 1, literal_field("x", "y"));
       }},
      {"header bomb",  // one large entry put into the table, then named again and again
       [](std::int32_t i) {
         std::string entry = literal_field("x", std::string(3900, 'y'));
         entry[0] = '\x40';
         if (i == 0) return frame(NGHTTP2_HEADERS, 0, 1, request_block("GET", "/") + entry);
         return frame(NGHTTP2_CONTINUATION, 0, 1, std::string(10'000, '\xbe'));
       }},
      {"garbage", [](std::int32_t i) { return std::string(1, static_cast<char>(i * 37)); }},
  };
  for (const Flood& flood : floods) {
    ServerWorld world;
    RawHttp2 raw(world);
    raw.receive(1ms);
    raw.send(frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0));
    bool open = true;
    for (std::int32_t i = 0; i < 20'000 && open; ++i) {
      open = raw.send(flood.unit(i));
      if (i % 100 == 0) raw.receive(1ms);
      open = open && !raw.peer.ended;
    }
    raw.receive(5s);
    EXPECT_TRUE(raw.peer.ended) << flood.name;
    raw.peer.close();
    world.runtime.run_for(1s);
    EXPECT_LE(world.handler.started, 5000) << flood.name;
    EXPECT_GE(world.server->counters().protocol_errors, 1u) << flood.name;
    EXPECT_EQ(world.server->counters().requests_under_way, 0u) << flood.name;
    EXPECT_EQ(world.server->counters().connections_open, 0u) << flood.name;
  }
}

// A flood whose answers are not even read cannot make the server hold more and more of them.
TEST(Http2Server, AFloodThatReadsNothingIsBounded) {
  ServerWorld world;
  RawHttp2 raw(world);
  std::string pings;
  for (int i = 0; i < 3000; ++i) pings.append(frame(NGHTTP2_PING, 0, 0, "12345678"));
  bool open = true;
  int sent = 0;
  for (; sent < 100 && open; ++sent) open = raw.send(pings);
  EXPECT_FALSE(open);
  EXPECT_LT(sent, 90);  // what is still thrown away after the end, so that it can be read: 4 MiB
  world.runtime.run_for(40s);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
}

// More streams than advertised are refused, not served.
TEST(Http2Server, BoundsConcurrentStreams) {
  Limits limits;
  limits.streams_per_connection = 10;
  ServerWorld world(limits);
  RawHttp2 raw(world);
  raw.receive(1ms);
  raw.send(frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0));
  for (int i = 0; i < 15; ++i) raw.send(request_frame(2 * i + 1, "/hang"));
  raw.receive(1s);
  EXPECT_LE(world.handler.started, 10);
}

// Smuggling through HTTP/2's own fields and malformed heads never reach the handler.
TEST(Http2Server, RefusesMalformedRequests) {
  ServerWorld world;
  const std::string bad[] = {
      request_frame(1, "/x", literal_field("host", "other")),
      request_frame(1, "/x", literal_field("transfer-encoding", "chunked")),
      request_frame(1, "/x", literal_field("connection", "close")),
      request_frame(1, "/x", literal_field("x", "a\r\nb: c")),
      request_frame(1, "/x", literal_field("Upper", "case")),
      request_frame(1, "/x", literal_field("content-length", "5")),
      request_frame(1, "/x y"),
      request_frame(1, "x"),
      request_frame(1, "/x", {}, true, "CONNECT"),
  };
  for (const std::string& request : bad) {
    RawHttp2 raw(world);
    raw.send(request);
    const auto frames = raw.receive();
    EXPECT_TRUE(first_of(frames, NGHTTP2_RST_STREAM) || first_of(frames, NGHTTP2_GOAWAY) ||
                first_of(frames, NGHTTP2_HEADERS))
        << request;
  }
  EXPECT_EQ(world.handler.started, 0);
}

Task<bool> stop(Server& server, Duration drain) {
  co_await server.stop(drain);
  co_return true;
}

// Draining warns first, lets streams end, then says which was the last; idle connections go at
// once.
TEST(Http2Server, Drains) {
  ServerWorld world;
  RawHttp2 idle(world);
  RawHttp2 busy(world);
  busy.send(request_frame(1, "/slow"));
  world.runtime.run_for(1s);
  const Instant began = world.runtime.now();
  ASSERT_TRUE(world.runtime.run(stop(*world.server, 60s)));
  EXPECT_LT(world.runtime.now() - began, 10s);
  EXPECT_TRUE(first_of(idle.receive(), NGHTTP2_GOAWAY));
  EXPECT_TRUE(idle.peer.ended);
  const auto frames = busy.receive();
  EXPECT_TRUE(busy.peer.ended);
  EXPECT_TRUE(first_of(frames, NGHTTP2_DATA));
  EXPECT_GE(std::count_if(frames.begin(), frames.end(),
                          [](const auto& f) { return f.type == NGHTTP2_GOAWAY; }),
            2);
}

// The drain's end cancels what is still there.
TEST(Http2Server, DrainEndsWithCancellation) {
  ServerWorld world;
  RawHttp2 busy(world);
  busy.send(request_frame(1, "/hang") + request_frame(3, "/stream"));
  world.runtime.run_for(1s);
  ASSERT_TRUE(world.runtime.run(stop(*world.server, 5s)));
  EXPECT_EQ(world.handler.cancelled, 2);
  EXPECT_EQ(world.server->counters().connections_open, 0u);
}

// Destroying a server in the middle of many streams leaves nothing behind.
TEST(Http2Server, CanBeDestroyedAtAnyPoint) {
  ServerWorld world;
  Client client(world.runtime, to(world));
  Streams streams;
  ASSERT_TRUE(*world.runtime.run(open_streams(client, "/stream", 10, streams)));
  world.handler.publish();
  world.server.reset();
  world.runtime.run_for(1s);
  const auto rest = world.runtime.run(read_bytes(*streams[0], 100));
  ASSERT_TRUE(rest);
  EXPECT_FALSE(rest->has_value());
}

}  // namespace
}  // namespace fairlead::http
