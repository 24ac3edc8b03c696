#include "foundation/runtime/datagram_socket.h"

#include <gtest/gtest.h>

#include <string>

#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/packet_socket.h"
#include "foundation/runtime/stream_scenarios.h"

namespace fairlead::runtime {
namespace {

Task<Result<std::string>> exchange(Runtime& runtime, Endpoint server_at, Endpoint client_at,
                                   std::string reach) {
  FL_CO_TRY(const std::unique_ptr<DatagramSocket> server, runtime.open_datagram(server_at));
  FL_CO_TRY(const std::unique_ptr<DatagramSocket> client, runtime.open_datagram(client_at));
  Endpoint to = server->local();
  to.host = reach;
  const std::string large = pattern(60'000);
  FL_CO_CHECKED(co_await client->send(to, ""));
  FL_CO_CHECKED(co_await client->send(to, large));
  FL_CO_TRY(const Datagram empty, co_await server->receive());
  FL_CO_TRY(const Datagram full, co_await server->receive());
  if (!empty.bytes.empty() || full.bytes != large) co_return fail(Code::corrupt, "bytes differ");
  if (full.from.port != client->local().port) co_return fail(Code::corrupt, "wrong sender");
  FL_CO_CHECKED(co_await server->send(full.from, "back"));
  FL_CO_TRY(const Datagram back, co_await client->receive());
  co_return full.from.host + " " + back.bytes;
}

// Datagrams keep their bounds and their sender, empty ones included, within and across families.
TEST(DatagramSocket, Exchanges) {
  EpollRuntime runtime;
  const Endpoint v4 = any_port();
  const Endpoint all{.kind = Endpoint::Kind::tcp, .host = "::"};
  EXPECT_EQ(runtime.run_until_complete(exchange(runtime, v4, v4, "127.0.0.1")), "127.0.0.1 back");
  EXPECT_EQ(runtime.run_until_complete(exchange(runtime, v4, all, "127.0.0.1")), "127.0.0.1 back");
  EXPECT_EQ(runtime.run_until_complete(exchange(runtime, all, v4, "127.0.0.1")), "127.0.0.1 back");
}

Task<void> receive_into_log(DatagramSocket& socket, std::string& log) {
  const Result<Datagram> datagram = co_await socket.receive();
  log += outcome(datagram);
}

Task<Result<std::string>> refused_and_closed(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<DatagramSocket> socket, runtime.open_datagram(any_port()));
  Endpoint nobody;
  {
    FL_CO_TRY(const std::unique_ptr<DatagramSocket> passing, runtime.open_datagram(any_port()));
    nobody = passing->local();
  }
  std::string log;
  Scope scope(runtime);
  scope.spawn(receive_into_log(*socket, log));
  FL_CO_CHECKED(co_await socket->send(nobody, "hello?"));
  FL_CO_CHECKED(co_await socket->send(nobody, "hello?"));
  FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  if (!log.empty()) co_return fail(Code::internal, "gave up: " + log);
  socket->close();
  co_await scope.join();
  co_return log;
}

// A closed port elsewhere does not disturb the socket; closing it ends the pending receive.
TEST(DatagramSocket, RefusedPeersAndClose) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(refused_and_closed(runtime)),
            "unavailable: connection closed");
}

// Errors name the endpoint.
TEST(DatagramSocket, Errors) {
  EpollRuntime runtime;
  const Result<std::unique_ptr<DatagramSocket>> first = runtime.open_datagram(any_port());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(outcome(runtime.open_datagram((*first)->local())),
            "io: listen udp " + (*first)->local().to_string() + ": Address already in use");
  const Endpoint name{.kind = Endpoint::Kind::tcp, .host = "localhost", .port = 1};
  EXPECT_EQ(runtime.open_datagram(name).error().code, Code::invalid);
}

Task<Result<std::string>> frame_round(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<PacketSocket> one, runtime.open_packet("lo", 0x88b5));
  FL_CO_TRY(const std::unique_ptr<PacketSocket> two, runtime.open_packet("lo", 0x88b5));
  std::string frame(12, '\0');  // loopback has no addresses
  frame += "\x88\xb5payload";
  FL_CO_CHECKED(co_await one->send(frame));
  FL_CO_TRY(const std::string got, co_await two->receive());
  co_return got.substr(14);
}

// A frame sent on an interface arrives whole at another listener of its kind; a missing interface
// and missing rights are named.
TEST(PacketSocket, Frames) {
  EpollRuntime runtime;
  const Result<std::string> got = runtime.run_until_complete(frame_round(runtime));
  if (!got && got.error().code == Code::forbidden) {
    EXPECT_EQ(got.error().message, "packets on lo: Operation not permitted");
    GTEST_SKIP() << "needs CAP_NET_RAW";
  }
  EXPECT_EQ(got, "payload");
  EXPECT_EQ(outcome(runtime.open_packet("no-such-if", 0x0806)),
            "io: packets on no-such-if: No such device");
}

}  // namespace
}  // namespace fairlead::runtime
