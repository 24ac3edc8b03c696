// What answers hold while their readers take their time: seats, and memory on the reader's account.
#include <gtest/gtest.h>

#include "foundation/http/http2_frames.h"
#include "foundation/http/strict_world.h"

namespace fairlead::http {
namespace {

std::string get(int stream, std::string_view path, std::string_view user) {
  return request_frame(stream, path, literal_field("x-user", user));
}

// The peer takes so much more on the connection and on each of its first streams.
std::string open_windows(int streams, std::uint32_t bytes) {
  std::string out = frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(bytes));
  for (int i = 0; i < streams; ++i)
    out += frame(NGHTTP2_WINDOW_UPDATE, 0, 2 * i + 1, big_endian(bytes));
  return out;
}

// A slow reader with many streams keeps all of them under way, also those whose handlers have
// nothing left to do; when it reads, they come back.
TEST(Answers, WaitingForTheirReaderAreUnderWay) {
  StrictWorld world;
  RawPeer slow = world.connect();
  std::string streams;
  for (int i = 0; i < 20; ++i) streams += get(2 * i + 1, "/big?pieces=100", "admin");
  world.say(slow, client_opening() + streams);
  EXPECT_EQ(world.handler.started, 20);
  EXPECT_EQ(world.handler.ended, 0);
  EXPECT_EQ(world.server->counters().requests_under_way, 20u);
  world.say(slow, open_windows(20, 4 << 20));
  EXPECT_EQ(world.handler.ended, 20);
  EXPECT_EQ(world.server->counters().requests_under_way, 0u);
}

// What is kept for an answer alone is on its reader's account. Who has too much of it waiting gets
// 429 instead of more; others are served; what is read is free again. Bytes that everybody shares
// cost nobody.
TEST(Answers, AreOnTheReadersAccountOverHttp2) {
  Limits limits;
  limits.request_bytes = 16 << 20;  // 1 MiB for a node
  StrictWorld world(limits);
  RawPeer slow = world.connect();
  world.say(slow, client_opening() + frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1 << 30)));
  FieldDecoder decoder;
  std::vector<std::string> statuses;
  for (int i = 0; i < 8; ++i) {
    const auto frames = frames_in(world.say(slow, get(2 * i + 1, "/own?bytes=200000", "node-1")));
    const ReceivedFrame* head = first_of(frames, NGHTTP2_HEADERS);
    ASSERT_TRUE(head);
    statuses.push_back(decoder.decode(head->payload).values[":status"]);
    EXPECT_LE(world.server->request_bytes(), (1u << 20) + (64u << 10));
  }
  EXPECT_EQ(statuses,
            (std::vector<std::string>{"200", "200", "200", "200", "200", "429", "429", "429"}));
  EXPECT_GE(world.server->request_bytes(), 5u * 200'000);
  EXPECT_EQ(world.server->counters().of(Refusal::memory), 3u);
  RawPeer other = world.connect();
  EXPECT_EQ(status_of(world.say(other, request("GET", "/own?bytes=50000", "node-2"))), 200);
  world.say(slow, open_windows(5, 1 << 20));
  EXPECT_EQ(world.server->request_bytes(), 0u);
  world.say(slow, get(17, "/big?pieces=1000", "node-1"));
  EXPECT_EQ(world.server->counters().requests_under_way, 1u);
  EXPECT_EQ(world.server->request_bytes(), 0u);
}

// An answer that was reset, or whose connection went, holds nothing.
TEST(Answers, ThatNobodyWantsHoldNothing) {
  StrictWorld world;
  RawPeer slow = world.connect();
  world.say(slow, client_opening());
  for (int i = 0; i < 2; ++i) world.say(slow, get(2 * i + 1, "/own?bytes=200000", "node-1"));
  EXPECT_GE(world.server->request_bytes(), 400'000u);
  world.say(slow, frame(NGHTTP2_RST_STREAM, 0, 1, big_endian(NGHTTP2_CANCEL)));
  EXPECT_LE(world.server->request_bytes(), 210'000u);
  slow.close();
  world.runtime.run_for(5s);
  EXPECT_EQ(world.server->request_bytes(), 0u);
}

// The same over HTTP/1, where a connection has one answer.
TEST(Answers, AreOnTheReadersAccountOverHttp1) {
  Limits limits;
  limits.request_bytes = 16 << 20;
  StrictWorld world(limits);
  world.runtime.pipe_bytes = 1'000;
  std::vector<RawPeer> peers;
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    RawPeer& peer = peers.emplace_back(world.connect());
    world.runtime.run(peer.send(request("GET", "/own?bytes=200000", "node-1")), 1s);
    world.runtime.run_for(10ms);
    EXPECT_LE(world.server->request_bytes(), 1u << 20);
  }
  EXPECT_GE(world.server->request_bytes(), 600'000u);
  for (RawPeer& peer : peers) {
    world.runtime.run(peer.receive(world.runtime, {}, 1s));
    refused += status_of(peer.received) == 429;
  }
  EXPECT_GE(refused, 3);
  EXPECT_LE(refused, 5);
  EXPECT_EQ(world.server->request_bytes(), 0u);
}

// Streamed answers over HTTP/1 are copies for each connection: together they are bounded, and what
// was taken is free again.
TEST(Answers, StreamedOverHttp1AreBoundedTogether) {
  Limits limits;
  limits.request_bytes = 8 << 20;  // 512 KiB for a node
  StrictWorld world(limits);
  world.handler.event_bytes = 60'000;
  world.runtime.pipe_bytes = 1'000;
  std::vector<RawPeer> peers;
  for (int i = 0; i < 20; ++i) {
    RawPeer& peer = peers.emplace_back(world.connect());
    world.runtime.run(peer.send(request("GET", "/stream", "node-1")), 1s);
    world.runtime.run_for(10ms);
  }
  RawPeer other = world.connect();
  world.runtime.run(other.send(request("GET", "/stream", "node-2")), 1s);
  world.runtime.run_for(10ms);
  EXPECT_EQ(world.handler.started, 21);
  for (int i = 0; i < 3; ++i) {
    world.handler.publish();
    world.runtime.run_for(10ms);
    EXPECT_LE(world.server->request_bytes(), 1u << 20);  // those of both nodes
  }
  EXPECT_GE(world.server->request_bytes(), 400'000u);
  EXPECT_GE(world.server->counters().of(Refusal::memory), 10u);
  world.runtime.run(other.receive(world.runtime, {}, 1s));
  EXPECT_GE(other.received.size(), 180'000u);  // nobody else is cut
  std::size_t whole = 0;
  for (RawPeer& peer : peers) {
    world.runtime.run(peer.receive(world.runtime, {}, 1s));
    whole += !peer.ended;
  }
  EXPECT_GE(whole, 4u);
  EXPECT_LE(whole, 10u);
  EXPECT_EQ(world.server->request_bytes(), 0u);
  world.handler.end_streams();
  world.runtime.run_for(1s);
}

// The buffers that join what is written are for those who are known, and on their account: a
// stranger who does not read holds none, over either protocol.
TEST(Answers, BuffersAreNotForStrangers) {
  StrictWorld world;
  world.runtime.pipe_bytes = 100;
  std::vector<RawPeer> peers;
  const auto unread = [&](std::string bytes) {
    RawPeer& peer = peers.emplace_back(world.connect());
    world.runtime.run(peer.send(std::move(bytes)), 1s);
    world.runtime.run_for(10ms);
  };
  unread(request("GET", "/some/path", "") + request("GET", "/some/path", ""));
  unread(client_opening() + request_frame(1, "/some/path"));
  EXPECT_EQ(world.handler.started, 2);
  EXPECT_EQ(world.server->counters().buffers_lent, 0u);
  EXPECT_EQ(world.server->request_bytes(), 0u);
  unread(request("GET", "/some/path", "node-1"));
  EXPECT_EQ(world.server->counters().buffers_lent, 1u);
  EXPECT_GE(world.server->request_bytes(), 64u << 10);
  unread(client_opening() + get(1, "/big?pieces=100", "node-1"));
  EXPECT_EQ(world.server->counters().buffers_lent, 2u);
  EXPECT_GE(world.server->request_bytes(), 128u << 10);
}

}  // namespace
}  // namespace fairlead::http
