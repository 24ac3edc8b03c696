#include "foundation/runtime/epoll_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/stream_scenarios.h"

namespace fairlead::runtime {
namespace {

// A folder of its own for each test, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "fairlead-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

Endpoint unix_at(std::string path) {
  return Endpoint{.kind = Endpoint::Kind::unix_socket, .host = std::move(path)};
}

Task<Result<std::string>> both_ways(Runtime& runtime, Endpoint at, std::size_t size) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, at, nullptr, nullptr));
  const std::string bytes = pattern(size);
  std::string client_log, server_log;
  Scope scope(runtime);
  scope.spawn(write_and_end(*pair.client, bytes, client_log));
  scope.spawn(write_and_end(*pair.server, bytes, server_log));
  // The client reads first, so both directions are full at some point.
  FL_CO_TRY(const std::string at_client, co_await read_all(*pair.client));
  FL_CO_TRY(const std::string at_server, co_await read_all(*pair.server, 4096));
  co_await scope.join();
  if (at_client != bytes || at_server != bytes) co_return fail(Code::corrupt, "bytes differ");
  co_return client_log + " " + server_log;
}

// Large transfers in both directions at once arrive whole, over TCP and over unix sockets.
TEST(EpollSocket, LargeTransfersBothWays) {
  EpollRuntime runtime;
  const TemporaryFolder folder;
  for (const Endpoint& at : {any_port(), unix_at(folder / "s")}) {
    const Result<std::string> done = runtime.run_until_complete(both_ways(runtime, at, 8 << 20));
    ASSERT_TRUE(done.has_value()) << outcome(done);
    EXPECT_EQ(*done, "ok ok");
  }
}

Task<Result<std::string>> half_close(Runtime& runtime) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), nullptr, nullptr));
  FL_CO_CHECKED(co_await pair.client->write("question"));
  FL_CO_CHECKED(co_await pair.client->shutdown_write());
  FL_CO_TRY(const std::string question, co_await read_all(*pair.server));
  // The other direction goes on, also past what the socket's buffer holds.
  const std::string answer = pattern(4 << 20);
  std::string log;
  Scope scope(runtime);
  scope.spawn(write_and_end(*pair.server, answer, log));
  FL_CO_TRY(const std::string got, co_await read_all(*pair.client));
  co_await scope.join();
  co_return question + (got == answer ? " answered " : " garbled ") + log;
}

// One side ends its direction and still receives the answer.
TEST(EpollSocket, HalfClose) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(half_close(runtime)), "question answered ok");
}

Task<void> read_into_log(Stream& stream, std::string& log) {
  std::string buffer(100, '\0');
  const Result<std::size_t> n = co_await stream.read(buffer);
  log += n ? "read " + std::to_string(*n) : n.error().to_string();
}
Task<void> write_into_log(Stream& stream, std::string& log) {
  const std::string much(64 << 20, 'w');
  const Result<> written = co_await stream.write(much);
  log += outcome(written);
}

Task<Result<std::string>> close_under(Runtime& runtime) {
  FL_CO_TRY(const StreamPair pair, co_await make_pair(runtime, any_port(), nullptr, nullptr));
  std::string reader, writer;
  Scope scope(runtime);
  scope.spawn(read_into_log(*pair.client, reader));
  scope.spawn(write_into_log(*pair.client, writer));
  FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  pair.client->close();
  pair.client->close();
  co_await scope.join();
  const Result<> after = co_await pair.client->write("x");
  const Result<> shut = co_await pair.client->shutdown_write();
  co_return reader + " / " + writer + " / " + outcome(after) + " / " + outcome(shut);
}

// close() wakes the pending read and write with unavailable; later operations say the same.
TEST(EpollSocket, CloseWakesPendingOperations) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(close_under(runtime)),
            "unavailable: connection closed / unavailable: connection closed / "
            "unavailable: connection closed / unavailable: connection closed");
}

Task<Result<std::string>> reset_by_peer(Runtime& runtime) {
  FL_CO_TRY(StreamPair pair, co_await make_pair(runtime, any_port(), nullptr, nullptr));
  FL_CO_CHECKED(co_await pair.client->write("unread"));
  FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  pair.server.reset();  // with unread bytes: the kernel sends a reset
  std::string log;
  co_await read_into_log(*pair.client, log);
  std::string buffer(1, '\0');
  Result<> written = co_await pair.client->write("x");
  co_return log.substr(0, log.find("from") + 4) + " / " +
      std::string(code_name(written.error().code));
}

// A reset shows as unavailable, on reading and on writing, and raises no signal.
TEST(EpollSocket, PeerReset) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(reset_by_peer(runtime)),
            "unavailable: read from / unavailable");
}

Task<Result<std::string>> data_then_end(Runtime& runtime, bool wait) {
  FL_CO_TRY(StreamPair pair, co_await make_pair(runtime, any_port(), nullptr, nullptr));
  FL_CO_CHECKED(co_await pair.client->write("last words"));
  pair.client.reset();
  // With the wait, data and end arrive as one edge; without, perhaps as two.
  if (wait) {
    FL_CO_CHECKED(co_await sleep(runtime, 2ms));
  }
  co_return co_await read_all(*pair.server);
}

// The end is seen although it arrived together with the data and is announced only once.
TEST(EpollSocket, EndTogetherWithData) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(data_then_end(runtime, false)), "last words");
  EXPECT_EQ(runtime.run_until_complete(data_then_end(runtime, true)), "last words");
}

Task<Result<std::string>> cancel_read(Runtime& runtime) {
  FL_CO_TRY(StreamPair pair, co_await make_pair(runtime, any_port(), nullptr, nullptr));
  std::string log;
  {
    Scope scope(runtime);
    scope.spawn(read_into_log(*pair.server, log));
    FL_CO_CHECKED(co_await sleep(runtime, 1ms));
    co_await scope.close();
  }
  {
    Scope scope(runtime);  // destroyed under a waiting reader
    scope.spawn(read_into_log(*pair.server, log));
    FL_CO_CHECKED(co_await sleep(runtime, 1ms));
  }
  FL_CO_CHECKED(co_await pair.client->write("still there"));
  FL_CO_TRY(const std::string bytes, co_await read_exactly(*pair.server, 11));
  co_return log + " / " + bytes;
}

// A cancelled or destroyed read takes no bytes; the stream is as good as before.
TEST(EpollSocket, CancelledReadLosesNothing) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(cancel_read(runtime)), "cancelled: cancelled / still there");
}

Task<Result<std::string>> connect_to(Runtime& runtime, Endpoint to) {
  FL_CO_TRY(const std::unique_ptr<Stream> stream, co_await runtime.connect(to, nullptr));
  co_return stream->peer().address;
}

// Errors name what was connected to.
TEST(EpollSocket, ConnectErrors) {
  EpollRuntime runtime;
  Endpoint nobody;
  {
    const Result<std::unique_ptr<Listener>> listener = runtime.listen(any_port(), nullptr);
    ASSERT_TRUE(listener.has_value());
    nobody = (*listener)->local();
  }
  EXPECT_EQ(outcome(runtime.run_until_complete(connect_to(runtime, nobody))),
            "unavailable: connect " + nobody.to_string() + ": Connection refused");
  EXPECT_EQ(outcome(runtime.run_until_complete(connect_to(runtime, unix_at("/nonexistent/s")))),
            "unavailable: connect unix:/nonexistent/s: No such file or directory");
  const Endpoint name{.kind = Endpoint::Kind::tcp, .host = "no-such-host.invalid", .port = 1};
  const Result<std::string> unresolved = runtime.run_until_complete(connect_to(runtime, name));
  EXPECT_TRUE(
      outcome(unresolved)
          .starts_with(
              "unavailable: connect no-such-host.invalid:1: resolve no-such-host.invalid: "))
      << outcome(unresolved);
}

Task<Result<std::string>> connect_by_name(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), nullptr));
  Endpoint to = listener->local();
  to.host = "localhost";
  FL_CO_TRY(const std::unique_ptr<Stream> stream, co_await runtime.connect(to, nullptr));
  FL_CO_TRY(const std::unique_ptr<Stream> accepted, co_await listener->accept());
  co_return stream->peer().address == listener->local().to_string() ? "reached" : "elsewhere";
}

// A name is resolved; where it has several addresses, the next is tried when one refuses.
TEST(EpollSocket, ConnectByName) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(connect_by_name(runtime)), "reached");
}

// Listening errors name the endpoint; port 0 becomes a real one.
TEST(EpollSocket, ListenErrors) {
  EpollRuntime runtime;
  const Result<std::unique_ptr<Listener>> first = runtime.listen(any_port(), nullptr);
  ASSERT_TRUE(first.has_value());
  const Endpoint taken = (*first)->local();
  EXPECT_NE(taken.port, 0);
  EXPECT_EQ(outcome(runtime.listen(taken, nullptr)),
            "io: listen " + taken.to_string() + ": Address already in use");
  const Endpoint foreign{.kind = Endpoint::Kind::tcp, .host = "192.0.2.1", .port = 1};
  EXPECT_EQ(outcome(runtime.listen(foreign, nullptr)),
            "io: listen 192.0.2.1:1: Cannot assign requested address");
}

Task<void> accept_into_log(Listener& listener, std::string& log) {
  const Result<std::unique_ptr<Stream>> stream = co_await listener.accept();
  log += outcome(stream);
}

Task<std::string> close_under_accept(Runtime& runtime, Endpoint at) {
  const Result<std::unique_ptr<Listener>> listener = runtime.listen(at, nullptr);
  if (!listener) co_return outcome(listener);
  std::string log;
  Scope scope(runtime);
  scope.spawn(accept_into_log(**listener, log));
  co_await yield(runtime);
  co_await yield(runtime);
  (*listener)->close();
  co_await scope.join();
  co_return log;
}

// Closing a listener ends a pending accept and removes the file of a unix socket.
TEST(EpollSocket, CloseEndsAccept) {
  EpollRuntime runtime;
  const TemporaryFolder folder;
  EXPECT_EQ(runtime.run_until_complete(close_under_accept(runtime, any_port())),
            "unavailable: connection closed");
  EXPECT_EQ(runtime.run_until_complete(close_under_accept(runtime, unix_at(folder / "s"))),
            "unavailable: connection closed");
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
}

// A socket file left by a dead process is replaced; one with a living owner, or no socket, is not.
TEST(EpollSocket, StaleUnixSocket) {
  EpollRuntime runtime;
  const TemporaryFolder folder;
  const std::string path = folder / "s";
  {
    const Result<std::unique_ptr<Listener>> first = runtime.listen(unix_at(path), nullptr);
    ASSERT_TRUE(first.has_value());
    EXPECT_FALSE(runtime.listen(unix_at(path), nullptr).has_value());
    std::filesystem::rename(path, folder / "kept");  // survives the close, with nobody behind it
  }
  std::filesystem::rename(folder / "kept", path);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(outcome(runtime.listen(unix_at(path), nullptr)), "ok");
  ASSERT_TRUE(runtime.files().write_atomically(folder / "file", "x", 0600).has_value());
  EXPECT_FALSE(runtime.listen(unix_at(folder / "file"), nullptr).has_value());
}

Task<Result<std::string>> accept_without_descriptors(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), nullptr));
  FL_CO_TRY(const std::unique_ptr<Stream> client,
            co_await runtime.connect(listener->local(), nullptr));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  const rlimit tight{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  std::string log;
  Scope scope(runtime);
  scope.spawn(accept_into_log(*listener, log));
  FL_CO_CHECKED(co_await sleep(runtime, 5ms));
  ::setrlimit(RLIMIT_NOFILE, &before);
  if (!log.empty()) co_return fail(Code::internal, "gave up: " + log);
  co_await scope.join();
  co_return log;
}

// Out of descriptors, accepting pauses and goes on when there are some again.
TEST(EpollSocket, AcceptSurvivesExhaustion) {
  EpollRuntime runtime;
  testing::internal::CaptureStderr();
  const Result<std::string> done = runtime.run_until_complete(accept_without_descriptors(runtime));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(done, "ok");
  EXPECT_TRUE(log.contains("accepting pauses")) << log;
}

Task<Result<std::string>> dual_stack(Runtime& runtime) {
  const Endpoint all{.kind = Endpoint::Kind::tcp, .host = ""};
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(all, nullptr));
  Endpoint to = listener->local();
  to.host = "127.0.0.1";
  FL_CO_TRY(const std::unique_ptr<Stream> client, co_await runtime.connect(to, nullptr));
  FL_CO_TRY(const std::unique_ptr<Stream> server, co_await listener->accept());
  co_return server->peer().address.substr(0, 10);
}

// Without a host a listener takes both families, and shows IPv4 peers as such.
TEST(EpollSocket, ListensOnBothFamilies) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(dual_stack(runtime)), "127.0.0.1:");
}

Task<void> echo(std::unique_ptr<Stream> stream) {
  std::string buffer(1000, '\0');
  for (;;) {
    const Result<std::size_t> n = co_await stream->read(buffer);
    if (!n || *n == 0) co_return;
    const Result<> written = co_await stream->write(std::string_view(buffer).substr(0, *n));
    if (!written) co_return;
  }
}

Task<void> echo_server(Runtime& runtime, Listener& listener) {
  Scope scope(runtime);
  for (;;) {
    Result<std::unique_ptr<Stream>> stream = co_await listener.accept();
    if (!stream) break;
    scope.spawn(echo(std::move(*stream)));
  }
  co_await scope.close();
}

Task<void> ping_pong(Runtime& runtime, Endpoint to, int rounds, int& done) {
  const Result<std::unique_ptr<Stream>> stream = co_await runtime.connect(to, nullptr);
  if (!stream) co_return;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = "round " + std::to_string(i);
    const Result<> sent = co_await (*stream)->write(text);
    if (!sent) co_return;
    const Result<std::string> back = co_await read_exactly(**stream, text.size());
    if (!back || *back != text) co_return;
  }
  ++done;
}

Task<Result<int>> many_connections(Runtime& runtime) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), nullptr));
  Scope server(runtime);
  server.spawn(echo_server(runtime, *listener));
  int done = 0;
  Scope clients(runtime);
  for (int i = 0; i < 200; ++i) clients.spawn(ping_pong(runtime, listener->local(), 20, done));
  co_await clients.join();
  co_await server.close();
  co_return done;
}

// Many connections at once, each in lockstep with its peer, all make progress.
TEST(EpollSocket, ManyConnections) {
  EpollRuntime runtime;
  EXPECT_EQ(runtime.run_until_complete(many_connections(runtime)), 200);
}

// The texts of endpoints, both ways.
TEST(Endpoint, ParsesAndPrints) {
  for (const char* text : {"10.0.0.1:6443", "[::1]:80", "name.example:443", "unix:/run/x.sock",
                           ":80", "[fe80::1%eth0]:1"}) {
    const Result<Endpoint> endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.has_value()) << outcome(endpoint);
    EXPECT_EQ(endpoint->to_string(), text);
  }
  for (const char* text : {"", "host", "host:", "host:x", "host:65536", "host:-1", "::1:80",
                           "[::1:80", "unix:", "a b:1", "http://x:1", "host:80/"})
    EXPECT_FALSE(Endpoint::parse(text).has_value()) << text;
  EXPECT_FALSE(Endpoint::parse("unix:/" + std::string(107, 'x')).has_value());
  EXPECT_EQ(Endpoint::parse("host").error().message, "endpoint \"host\": no port");
}

}  // namespace
}  // namespace fairlead::runtime
