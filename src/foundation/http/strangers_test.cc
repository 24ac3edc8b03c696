// What strangers can hold of a server, by themselves and together, and what is left for others.
#include <gtest/gtest.h>

#include "foundation/http/http2_frames.h"
#include "foundation/http/strict_world.h"

namespace fairlead::http {
namespace {

// A body is read only of those who may send one: a stranger is answered by the head alone, and the
// bytes that follow are nobody's request.
TEST(Strangers, BodiesAreNotRead) {
  StrictWorld world;
  const std::string answer =
      world.talk(upload("", 3 << 20) + std::string(100, 'x') + request("GET", "/next", "a"));
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nPUT ")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u);
  EXPECT_EQ(world.server->counters().of(Refusal::body_of_stranger), 1u);
  EXPECT_EQ(world.server->request_bytes(), 0u);
  // Where strangers may say something (joining), no more than that.
  EXPECT_EQ(status_of(world.talk(request("POST", "/join", "", "Content-Length: 101\r\n"))), 413);
  EXPECT_EQ(status_of(world.talk(request("POST", "/join", "", "Content-Length: 2\r\n") + "{}", 1s)),
            200);
  EXPECT_EQ(status_of(world.talk(upload("a", 3) + "abc", 1s)), 200);
}

// The same over HTTP/2: the answer comes first, then the rest of the body is refused.
TEST(Strangers, BodiesAreNotReadOverHttp2) {
  StrictWorld world;
  RawPeer peer = world.connect();
  world.say(peer, client_opening());
  const std::string answer =
      world.say(peer, request_frame(1, "/echo", {}, false, "PUT") +
                          frame(NGHTTP2_DATA, 0, 1, std::string(10'000, 'x')));
  const auto frames = frames_in(answer);
  const ReceivedFrame* body = first_of(frames, NGHTTP2_DATA);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->payload, "PUT ");
  const ReceivedFrame* reset = first_of(frames, NGHTTP2_RST_STREAM);
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->code(), static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_EQ(world.server->request_bytes(), 0u);
  const std::string known =
      world.say(peer, request_frame(3, "/echo", literal_field("x-user", "a"), false, "PUT") +
                          frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 3, "abc"));
  const auto answered = frames_in(known);
  ASSERT_TRUE(first_of(answered, NGHTTP2_DATA));
  EXPECT_EQ(first_of(answered, NGHTTP2_DATA)->payload, "PUT abc");
}

// One large field named again and again by short references, on streams that are never finished:
// what all of them hold together is bounded, over all connections and addresses.
TEST(Strangers, HeadsOfUnfinishedStreamsAreBoundedTogether) {
  Limits limits;
  limits.request_bytes = 8 << 20;
  StrictWorld world(limits);
  std::string entry = literal_field("x", std::string(3900, 'y'));
  entry[0] = '\x40';  // into the table
  const std::string references(14, '\xbe');
  std::vector<RawPeer> peers;
  for (int i = 0; i < 40; ++i) {
    peers.push_back(world.connect_from("192.0.2." + std::to_string(i) + ":1"));
    RawPeer& peer = peers.back();
    world.say(peer,
              client_opening() + request_frame(1, "/hang", entry + references, false, "POST"));
    // The first tries it alone, the others together: each stays just within its own share.
    for (int stream = 3; stream < (i == 0 ? 150 : 7) && !peer.ended; stream += 2) {
      world.say(peer, request_frame(stream, "/hang", references, false, "POST"));
      EXPECT_LE(world.server->request_bytes(),
                i == 0 ? limits.request_bytes / 32 : limits.request_bytes / 8);
    }
    EXPECT_EQ(i == 0, peer.ended && i < 5) << i;
  }
  EXPECT_GT(world.server->request_bytes(), limits.request_bytes / 10);  // it was tried in earnest
  EXPECT_GE(world.server->counters().of(Refusal::memory), 1u);
  // Another stranger with a usual head, and somebody known with a large one, are served.
  RawPeer other = world.connect_from("198.51.100.1:1");
  EXPECT_EQ(status_of(world.say(other, request("GET", "/ok", ""))), 200);
  RawPeer known = world.connect_from("192.0.2.1:2");
  world.say(known, request("GET", "/ok", "admin"));
  const std::string large = "x-large: " + std::string(30'000, 'z') + "\r\n";
  EXPECT_EQ(status_of(world.say(known, request("GET", "/ok", "admin", large))), 200);
  peers.clear();
  world.runtime.run_for(10s);
  EXPECT_LE(world.server->request_bytes(), 150'000u);
}

// Long heads over HTTP/1 count too, also while they arrive.
TEST(Strangers, HeadsOverHttp1AreBoundedTogether) {
  Limits limits;
  limits.request_bytes = 8 << 20;
  limits.header_time = 1h;
  StrictWorld world(limits);
  std::vector<RawPeer> peers;
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    peers.push_back(world.connect_from("192.0.2." + std::to_string(i) + ":1"));
    const std::string answer =
        world.say(peers.back(), "GET / HTTP/1.1\r\nx: " + std::string(40'000, 'y'));
    if (status_of(answer) == 429) ++refused;
    EXPECT_LE(world.server->request_bytes(), limits.request_bytes / 8);
  }
  EXPECT_GT(refused, 20);
  // One address alone has less than all of them.
  StrictWorld second(limits);
  std::vector<RawPeer> same;
  for (int i = 0; i < 20; ++i) {
    same.push_back(second.connect_from("192.0.2.1:" + std::to_string(i)));
    second.say(same.back(), "GET / HTTP/1.1\r\nx: " + std::string(40'000, 'y'));
  }
  EXPECT_LE(second.server->request_bytes(), limits.request_bytes / 32);
  RawPeer other = second.connect_from("192.0.2.2:1");
  const std::string large = "x-large: " + std::string(30'000, 'z') + "\r\n";
  EXPECT_EQ(status_of(second.say(other, request("GET", "/ok", "", large))), 200);
}

// What a stranger shows as its certificates, the whole chain, counts from the handshake on, for one
// address and for all. Those that hold are part of what a connection costs while they are usual.
TEST(Strangers, CertificatesAreBoundedTogether) {
  Limits limits;
  limits.request_bytes = 8 << 20;
  StrictWorld world(limits);
  std::vector<RawPeer> peers;
  world.runtime.client_certificate_bytes = 4'000;  // twenty times that in memory
  const auto refused = [&] { return world.server->counters().of(Refusal::memory); };
  for (int i = 0; i < 10; ++i) peers.push_back(world.connect_from("192.0.2.1:1"));
  world.runtime.run_for(1s);
  EXPECT_EQ(refused(), 7u);  // 256 KiB for one address
  EXPECT_GE(world.server->request_bytes(), 3u * 80'000);
  for (int i = 2; i < 40; ++i)
    peers.push_back(world.connect_from("192.0.2." + std::to_string(i) + ":1"));
  world.runtime.run_for(1s);
  EXPECT_LE(world.server->request_bytes(), limits.request_bytes / 8);
  EXPECT_GE(world.server->request_bytes(), limits.request_bytes / 10);
  EXPECT_GT(refused(), 25u);

  const std::size_t before = world.server->request_bytes();
  world.runtime.client_certificate_trusted = true;
  world.runtime.client_certificate_bytes = 1'200;
  RawPeer usual = world.connect_from("198.51.100.1:1");
  EXPECT_EQ(status_of(world.say(usual, request("GET", "/ok", "admin"))), 200);
  EXPECT_EQ(world.server->request_bytes(), before);
  // Short ones of strangers are not for nothing: there are as many connections as of long ones.
  peers.clear();
  world.runtime.run_for(5s);
  EXPECT_EQ(world.server->request_bytes(), 0u);
  world.runtime.client_certificate_trusted = false;
  RawPeer foreign = world.connect_from("198.51.100.2:1");
  EXPECT_EQ(status_of(world.say(foreign, request("GET", "/ok", ""))), 200);
  EXPECT_GE(world.server->request_bytes(), 20u * 1'200);
  // Who turns out to be known takes it along, to an account with more room.
  EXPECT_EQ(status_of(world.say(foreign, request("GET", "/ok", "admin"))), 200);
  EXPECT_GE(world.server->request_bytes(), 20u * 1'200);
}

// Few streams before anybody is known; as many as there may be afterwards.
TEST(Strangers, HaveFewStreams) {
  Limits limits;
  limits.stranger_streams = 5;
  limits.streams_per_connection = 50;
  StrictWorld world(limits);
  RawPeer peer = world.connect();
  std::string streams;
  for (int i = 0; i < 20; ++i) streams += request_frame(2 * i + 1, "/hang");
  const auto frames = frames_in(world.say(peer, client_opening() + streams));
  EXPECT_EQ(world.handler.started, 5);
  const ReceivedFrame* reset = first_of(frames, NGHTTP2_RST_STREAM);
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->code(), static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM));
  EXPECT_EQ(world.server->counters().of(Refusal::streams), 15u);

  RawPeer known = world.connect();
  streams.clear();
  for (int i = 0; i < 20; ++i)
    streams += request_frame(2 * i + 1, "/hang", literal_field("x-user", "admin"));
  world.say(known, client_opening() + streams);
  EXPECT_EQ(world.handler.started, 25);
}

// Requests that are refused for their form leave nothing behind on a connection that goes on.
TEST(Strangers, MalformedHeadsHoldNothing) {
  StrictWorld world;
  RawPeer peer = world.connect();
  world.say(peer, client_opening());
  const std::string bad = literal_field("Upper", std::string(500, 'x'));
  for (int i = 0; i < 300; ++i) {
    world.runtime.run(peer.send(request_frame(2 * i + 1, "/x", bad)), 1s);
    world.runtime.run_for(10ms);
  }
  EXPECT_FALSE(peer.ended);
  EXPECT_EQ(world.server->request_bytes(), 0u);
}

// A flood of connections from one address pushes out its own; from everywhere else, and for those
// who are known, the door is open.
TEST(Strangers, ConnectionsGiveWayToOthers) {
  Limits limits;
  limits.connections = 50;
  limits.strangers = 20;
  StrictWorld world(limits);
  std::vector<RawPeer> known;
  for (int i = 0; i < 10; ++i) {
    known.push_back(world.connect_from("192.0.2.1:" + std::to_string(i)));
    EXPECT_EQ(status_of(world.say(known.back(), request("GET", "/a", "admin"))), 200);
  }
  RawPeer quiet = world.connect_from("192.0.2.7:1");
  std::vector<RawPeer> flood;
  for (int i = 0; i < 500; ++i) flood.push_back(world.connect_from("192.0.2.66:1"));
  world.runtime.run_for(1s);
  EXPECT_EQ(world.server->counters().strangers_open, 20u);
  EXPECT_EQ(world.server->counters().connections_open, 30u);
  EXPECT_EQ(world.server->counters().of(Refusal::strangers), 481u);
  EXPECT_EQ(status_of(world.say(quiet, request("GET", "/a", ""))), 200);
  RawPeer late = world.connect_from("192.0.2.8:1");
  EXPECT_EQ(status_of(world.say(late, request("GET", "/a", "admin"))), 200);
  // Also from the address that floods.
  RawPeer neighbour = world.connect_from("192.0.2.66:2");
  EXPECT_EQ(status_of(world.say(neighbour, request("GET", "/a", "admin"))), 200);
  for (RawPeer& peer : known)
    EXPECT_EQ(status_of(world.say(peer, request("GET", "/a", "admin"))), 200);
}

// Memory and connections of one user, and of all limited ones, leave room for the rest.
TEST(Strangers, UsersHaveTheirShares) {
  Limits limits;
  limits.request_bytes = 1'600'000;
  limits.body_bytes = 50'000;
  limits.connections = 100;
  StrictWorld world(limits);
  std::vector<RawPeer> peers;
  const auto hold = [&](const std::string& user) {
    peers.push_back(world.connect());
    return status_of(world.say(peers.back(), upload(user, 50'000) + std::string(49'999, 'x')));
  };
  // One node: 1/16 of the memory.
  EXPECT_EQ(hold("node-1"), 0);
  EXPECT_EQ(hold("node-1"), 0);
  EXPECT_EQ(hold("node-1"), 429);
  // All nodes: half of it.
  int held = 2;
  for (int node = 2; node < 20; ++node)
    for (int i = 0; i < 2; ++i) held += hold("node-" + std::to_string(node)) == 0;
  EXPECT_EQ(held, 16);
  // One user: half of it, which is what is left.
  int trusted = 0;
  for (int i = 0; i < 20; ++i) trusted += hold("admin") == 0;
  EXPECT_EQ(trusted, 16);
  EXPECT_EQ(world.server->request_bytes(), 1'600'000u);

  // One node has few connections; the next is told so and closed.
  StrictWorld second(limits);
  std::vector<RawPeer> idle;
  for (int i = 0; i < 8; ++i) {
    idle.push_back(second.connect());
    EXPECT_EQ(status_of(second.say(idle.back(), request("GET", "/a", "node-1"))), 200);
  }
  RawPeer ninth = second.connect();
  EXPECT_EQ(status_of(second.say(ninth, request("GET", "/a", "node-1"))), 429);
  EXPECT_TRUE(ninth.ended);
  EXPECT_EQ(second.server->counters().of(Refusal::user_connections), 1u);
  RawPeer other = second.connect();
  EXPECT_EQ(status_of(second.say(other, request("GET", "/a", "node-2"))), 200);
  // One that goes makes room.
  idle.front().close();
  second.runtime.run_for(5s);
  RawPeer again = second.connect();
  EXPECT_EQ(status_of(second.say(again, request("GET", "/a", "node-1"))), 200);
}

// Callers that share a connection (a proxy's) each have their own share for bodies.
TEST(Strangers, BodiesCountToTheCallerNotToTheConnection) {
  Limits limits;
  limits.request_bytes = 1'600'000;
  limits.body_bytes = 100'000;
  StrictWorld world(limits);
  RawPeer peer = world.connect();
  const auto put = [](int stream, std::string_view user) {
    return request_frame(stream, "/echo", literal_field("x-user", user), false, "PUT") +
           frame(NGHTTP2_DATA, 0, stream, std::string(12'000, 'x')) +
           frame(NGHTTP2_DATA, 0, stream, std::string(12'000, 'x'));
  };
  world.say(peer, client_opening());
  std::string answers;
  for (int i = 0; i < 4; ++i) answers += world.say(peer, put(2 * i + 1, "node-1"));
  const auto frames = frames_in(answers);
  const ReceivedFrame* reset = first_of(frames, NGHTTP2_RST_STREAM);
  ASSERT_TRUE(reset);  // 100,000 bytes for one node
  EXPECT_FALSE(first_of(frames_in(world.say(peer, put(9, "node-2"))), NGHTTP2_RST_STREAM));
}

}  // namespace
}  // namespace fairlead::http
