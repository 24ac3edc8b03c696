#include "sim/world/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using runtime::Endpoint;
using runtime::Listener;
using runtime::sleep;
using runtime::Stream;

Endpoint at(std::string host, std::uint16_t port) {
  return {.host = std::move(host), .port = port};
}

// What a receiving program got, and how it ended.
struct Received {
  std::string bytes;
  std::optional<Error> error;
  bool ended = false;
  int connections = 0;
};

Task<void> collect(std::unique_ptr<Stream> stream, Received& received) {
  std::array<char, 4096> buffer;
  for (;;) {
    const Result<std::size_t> n = co_await stream->read(buffer);
    if (!n) {
      received.error = n.error();
      co_return;
    }
    if (*n == 0) {
      received.ended = true;
      co_return;
    }
    received.bytes.append(buffer.data(), *n);
  }
}

Task<void> collect_all(Machine& machine, Received& received) {
  auto listener = machine.listen(at("0.0.0.0", 80), nullptr);
  CHECK(listener.has_value());
  runtime::Scope scope(machine);
  for (;;) {
    Result<std::unique_ptr<Stream>> stream = co_await (*listener)->accept();
    if (!stream) break;
    ++received.connections;
    scope.spawn(collect(std::move(*stream), received));
  }
  co_await scope.close();
}

// How a sending program fared.
struct Sent {
  Result<> outcome = fail(Code::internal, "not ended");
  Moment ended;
  std::size_t written = 0;
};

Task<Result<>> send_counted(Machine& machine, std::string host, int count, Duration pause,
                            Sent& sent) {
  FL_CO_TRY(std::unique_ptr<Stream> stream, co_await machine.connect(at(host, 80), nullptr));
  for (int i = 0; i < count; ++i) {
    const std::string line = std::to_string(i) + "\n";
    FL_CO_CHECKED(co_await stream->write(line));
    sent.written += line.size();
    if (pause > 0s) {
      FL_CO_CHECKED(co_await sleep(machine, pause));
    }
  }
  FL_CO_CHECKED(co_await stream->shutdown_write());
  std::array<char, 16> buffer;
  FL_CO_TRY(const std::size_t n, co_await stream->read(buffer));
  if (n != 0) co_return fail(Code::corrupt, "unexpected bytes");
  co_return Result<>{};
}

Task<void> send_lines(Machine& machine, std::string host, int count, Duration pause, Sent& sent) {
  sent.outcome = co_await send_counted(machine, host, count, pause, sent);
  sent.ended = machine.world().now();
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + "\n";
  return text;
}

struct Pair {
  explicit Pair(std::uint64_t seed, WorldSettings settings = {}) : world(seed, settings) {
    server.start([this](Machine& m) { return collect_all(m, received); });
  }
  void send(int count, Duration pause = 0s) {
    client.start(
        [this, count, pause](Machine& m) { return send_lines(m, "server", count, pause, sent); });
  }
  Received received;
  Sent sent;
  World world;
  Machine& server = world.add_machine("server");
  Machine& client = world.add_machine("client");
};

// Bytes arrive complete and in order whatever latency, loss and splitting do; half close works.
TEST(Streams, DeliverInOrder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    WorldSettings settings;
    settings.link.latency = {.least = 1ms, .spread = 50ms};
    settings.link.loss_per_million = 50'000;
    Pair pair(seed, settings);
    pair.send(500);
    pair.world.run_for(600s);
    EXPECT_EQ(pair.received.bytes, lines(500));
    EXPECT_TRUE(pair.received.ended);
    EXPECT_TRUE(pair.sent.outcome) << pair.sent.outcome.error().to_string();
  }
}

// Nobody listens: refused after one round trip. A name nobody has: not resolved.
TEST(Streams, RefusedWhenNobodyListens) {
  Sent sent;
  Sent unknown;
  World world(1);
  world.add_machine("server");
  Machine& client = world.add_machine("client");
  client.start([&](Machine& m) { return send_lines(m, "server", 1, 0s, sent); });
  client.start([&](Machine& m) { return send_lines(m, "nowhere", 1, 0s, unknown); });
  world.run_for(1s);
  ASSERT_FALSE(sent.outcome);
  EXPECT_EQ(sent.outcome.error().code, Code::unavailable);
  EXPECT_TRUE(sent.outcome.error().message.ends_with("connection refused"));
  ASSERT_FALSE(unknown.outcome);
  EXPECT_EQ(unknown.outcome.error().code, Code::unavailable);
}

// A cut holds bytes back; after it heals they arrive, in order, and nothing failed.
TEST(Streams, CutDelaysAndHealDelivers) {
  Pair pair(3);
  pair.send(100, 10ms);
  pair.world.run_for(300ms);
  pair.world.network().cut_both(pair.client, pair.server);
  const std::size_t before = pair.received.bytes.size();
  pair.world.run_for(30s);
  EXPECT_LE(pair.received.bytes.size(), before + 16);  // what was on the wire at most
  EXPECT_FALSE(pair.received.ended);
  pair.world.network().heal_both(pair.client, pair.server);
  pair.world.run_for(120s);
  EXPECT_EQ(pair.received.bytes, lines(100));
  EXPECT_TRUE(pair.sent.outcome);
}

// A cut that outlasts the sender's patience fails the sender with timeout.
TEST(Streams, LongCutTimesOut) {
  WorldSettings settings;
  settings.link.give_up_after = 60s;
  Pair pair(3, settings);
  pair.send(1000, 10ms);
  pair.world.run_for(300ms);
  pair.world.network().cut(pair.client, pair.server);
  pair.world.run_for(300s);
  ASSERT_FALSE(pair.sent.outcome);
  EXPECT_EQ(pair.sent.outcome.error().code, Code::timeout);
}

// A one-way cut stops one direction only: the dial gets through and its answer does not.
TEST(Streams, OneWayCutIsOneWay) {
  Pair pair(4);
  pair.world.network().cut(pair.server, pair.client);
  pair.send(1);
  pair.world.run_for(10s);
  EXPECT_EQ(pair.received.connections, 1);
  EXPECT_FALSE(pair.sent.outcome);
  pair.world.network().heal(pair.server, pair.client);
  pair.world.run_for(60s);
  EXPECT_TRUE(pair.sent.outcome);
}

// A killed process resets its peers at once.
TEST(Streams, KillResetsPeers) {
  Pair pair(5);
  pair.send(1000, 10ms);
  pair.world.run_for(300ms);
  pair.client.crash(Crash::kill());
  pair.world.run_for(1s);
  ASSERT_TRUE(pair.received.error);
  EXPECT_EQ(pair.received.error->code, Code::unavailable);
}

// A machine that lost power says nothing; a peer that only reads never learns of it, and one that
// writes is reset once the machine is back.
TEST(Streams, PowerLossIsSilentUntilReboot) {
  Pair pair(6);
  pair.send(100'000, 10ms);
  pair.world.run_for(300ms);
  pair.server.crash(Crash::power());
  pair.world.run_for(20s);
  EXPECT_EQ(pair.sent.outcome.error().code, Code::internal);  // still under way
  pair.server.restart();
  pair.world.run_for(60s);
  ASSERT_FALSE(pair.sent.outcome);
  EXPECT_EQ(pair.sent.outcome.error().code, Code::unavailable);

  Pair idle(6);
  idle.send(100'000, 10ms);
  idle.world.run_for(300ms);
  idle.client.crash(Crash::power());
  idle.world.run_for(3600s);
  EXPECT_FALSE(idle.received.error);
  EXPECT_FALSE(idle.received.ended);
}

Task<void> accept_and_sleep(Machine& machine, std::unique_ptr<Stream>& held) {
  auto listener = machine.listen(at("0.0.0.0", 80), nullptr);
  Result<std::unique_ptr<Stream>> stream = co_await (*listener)->accept();
  held = std::move(*stream);
  co_await sleep(machine, 100'000s);
}

// A reader that does not read stops the writer after one window, and memory with it.
TEST(Streams, BackPressureStopsTheWriter) {
  WorldSettings settings;
  settings.link.window = 1'000;
  std::unique_ptr<Stream> held;
  Sent sent;
  World world(7, settings);
  Machine& server = world.add_machine("server");
  server.start([&held](Machine& m) { return accept_and_sleep(m, held); });
  world.add_machine("client").start(
      [&sent](Machine& m) { return send_lines(m, "server", 10'000, 0s, sent); });
  world.run_for(60s);
  EXPECT_LE(sent.written, 1'000u);
  EXPECT_GT(sent.written, 900u);
  held.reset();
}

// A slow link passes its bytes per second and no more.
TEST(Streams, BandwidthIsKept) {
  WorldSettings settings;
  settings.link.bytes_per_second = 1'000;
  Pair pair(8, settings);
  pair.send(2'000);  // 8,890 bytes
  pair.world.run_for(5s);
  EXPECT_GT(pair.received.bytes.size(), 4'000u);
  EXPECT_LE(pair.received.bytes.size(), 5'000u);
  pair.world.run_for(10s);
  EXPECT_EQ(pair.received.bytes, lines(2'000));
}

Task<void> fill(Machine& machine, std::string host, Sent& sent) {
  auto stream = co_await machine.connect(at(host, 80), nullptr);
  sent.outcome = stream ? Result<>{} : fail(stream.error());
  co_await sleep(machine, 100'000s);
}

// A paused process still has a kernel: connections are set up and bytes wait for it.
TEST(Streams, PausedMachineStillAccepts) {
  Pair pair(9);
  pair.world.run_for(1s);
  pair.server.pause();
  pair.send(10);
  pair.world.run_for(5s);
  EXPECT_EQ(pair.received.connections, 0);
  EXPECT_GT(pair.sent.written, 0u);
  pair.server.resume();
  pair.world.run_for(5s);
  EXPECT_EQ(pair.received.bytes, lines(10));
}

// Dialling a dead machine times out rather than being refused.
TEST(Streams, DialToDeadMachineTimesOut) {
  Sent sent;
  World world(10);
  world.add_machine("server").crash();
  world.add_machine("client").start([&sent](Machine& m) { return fill(m, "server", sent); });
  world.run_for(300s);
  ASSERT_FALSE(sent.outcome);
  EXPECT_EQ(sent.outcome.error().code, Code::timeout);
}

Task<Result<>> dial_briefly(Machine& machine) {
  FL_CO_CHECKED(co_await machine.connect(at("server", 80), nullptr));
  co_return Result<>{};
}

Task<void> give_up_dialling(Machine& machine, Sent& sent) {
  sent.outcome = co_await runtime::with_timeout(machine, 1s, dial_briefly(machine));
}

// A dial can be given up, and leaves nothing behind.
TEST(Streams, DialCanBeCancelled) {
  Sent sent;
  World world(11);
  world.add_machine("server").crash();
  world.add_machine("client").start([&sent](Machine& m) { return give_up_dialling(m, sent); });
  world.run_for(2s);
  ASSERT_FALSE(sent.outcome);
  EXPECT_EQ(sent.outcome.error().code, Code::timeout);
  EXPECT_TRUE(world.run_until_idle(1s));
}

Task<void> unix_pair(Machine& machine, Received& received, Sent& sent) {
  const Endpoint path{.kind = Endpoint::Kind::unix_socket, .host = "/run/x.sock"};
  auto listener = machine.listen(path, nullptr);
  auto client = co_await machine.connect(path, nullptr);
  auto server = co_await (*listener)->accept();
  sent.outcome = co_await (*client)->write("hello");
  client->reset();
  co_await collect(std::move(*server), received);
}

// Unix sockets connect within a machine.
TEST(Streams, UnixSockets) {
  Received received;
  Sent sent;
  World world(12);
  world.add_machine("a").start([&](Machine& m) { return unix_pair(m, received, sent); });
  world.run_for(1s);
  EXPECT_EQ(received.bytes, "hello");
  EXPECT_TRUE(received.ended);
}

// A port is taken while it is listened on, and free after a crash.
TEST(Streams, PortsAreExclusive) {
  World world(13);
  Machine& machine = world.add_machine("a");
  auto first = machine.listen(at("0.0.0.0", 80), nullptr);
  ASSERT_TRUE(first);
  EXPECT_FALSE(machine.listen(at("0.0.0.0", 80), nullptr));
  machine.crash();
  machine.restart([](Machine& m) -> Task<void> { co_await sleep(m, 1s); });
  EXPECT_TRUE(machine.listen(at("0.0.0.0", 80), nullptr));
}

Task<void> receive_datagrams(Machine& machine, std::vector<std::string>& received) {
  auto socket = machine.open_datagram(at("0.0.0.0", 53));
  for (;;) {
    Result<runtime::Datagram> datagram = co_await (*socket)->receive();
    if (!datagram) co_return;
    received.push_back(datagram->bytes);
  }
}

Task<void> send_datagrams(Machine& machine, int count) {
  auto socket = machine.open_datagram(at("0.0.0.0", 0));
  const Endpoint to = at("b", 53);
  for (int i = 0; i < count; ++i) {
    const std::string text = std::to_string(i);
    co_await (*socket)->send(to, text);
    co_await sleep(machine, 1ms);
  }
}

// Datagrams are lost, doubled and overtake each other, and a cut loses all of them.
TEST(Datagrams, AreUnreliable) {
  WorldSettings settings;
  settings.link.latency = {.least = 1ms, .spread = 20ms};
  settings.link.loss_per_million = 100'000;
  settings.link.duplicate_per_million = 100'000;
  std::vector<std::string> received;
  World world(14, settings);
  Machine& a = world.add_machine("a");
  Machine& b = world.add_machine("b");
  b.start([&received](Machine& m) { return receive_datagrams(m, received); });
  a.start([](Machine& m) { return send_datagrams(m, 1'000); });
  world.run_for(10s);
  std::set<std::string> distinct(received.begin(), received.end());
  EXPECT_LT(distinct.size(), 1'000u);
  EXPECT_GT(distinct.size(), 800u);
  EXPECT_GT(received.size(), distinct.size());
  EXPECT_FALSE(std::is_sorted(received.begin(), received.end(), [](const auto& x, const auto& y) {
    return std::stoi(x) < std::stoi(y);
  }));
  received.clear();
  world.network().cut(a, b);
  a.start([](Machine& m) { return send_datagrams(m, 100); });
  world.run_for(10s);
  EXPECT_TRUE(received.empty());
}

std::string frame_to(const std::array<std::uint8_t, 6>& to,
                     const std::array<std::uint8_t, 6>& from) {
  std::string frame(to.begin(), to.end());
  frame.append(from.begin(), from.end());
  frame += "\x08\x06 payload";
  return frame;
}

Task<void> receive_frames(Machine& machine, int& count) {
  auto socket = machine.open_packet("eth0", 0x0806);
  for (;;) {
    const Result<std::string> frame = co_await (*socket)->receive();
    if (!frame) co_return;
    ++count;
  }
}

Task<void> send_frame(Machine& machine, std::string frame) {
  auto socket = machine.open_packet("eth0", 0x0806);
  co_await (*socket)->send(frame);
}

// The switch floods group addresses and what it does not know, and each card takes only its own.
TEST(Ethernet, SwitchFloodsAndCardsFilter) {
  std::array<int, 3> counts{};
  World world(15);
  std::vector<Machine*> machines;
  for (int i = 0; i < 3; ++i) {
    machines.push_back(&world.add_machine("m" + std::to_string(i)));
    machines.back()->start([&counts, i](Machine& m) { return receive_frames(m, counts[i]); });
  }
  const std::array<std::uint8_t, 6> everyone{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const std::array<std::uint8_t, 6> first{2, 0, 0, 0, 0, 1};
  const std::array<std::uint8_t, 6> second{2, 0, 0, 0, 0, 2};
  machines[0]->start([&](Machine& m) { return send_frame(m, frame_to(everyone, first)); });
  world.run_for(1s);
  EXPECT_EQ(counts, (std::array<int, 3>{0, 1, 1}));
  machines[0]->start([&](Machine& m) { return send_frame(m, frame_to(second, first)); });
  world.run_for(1s);
  EXPECT_EQ(counts, (std::array<int, 3>{0, 2, 1}));
}

}  // namespace
}  // namespace fairlead::sim
