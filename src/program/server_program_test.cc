#include "program/server_program.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/store/memory_store.h"
#include "api/store/temporary_directory.h"
#include "foundation/runtime/epoll_runtime.h"

namespace fairlead::program {
namespace {

using runtime::Endpoint;

// A client whose connection the kernel has taken; it says nothing.
class QuietClient {
 public:
  void connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    connected_ = true;
  }
  ~QuietClient() { ::close(socket_); }
  bool connected() const { return connected_; }
  bool closed_by_peer() const {
    char byte = 0;
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  bool connected_ = false;
};

// The real one, except that a client connects to the first listener before the second is made, and
// the second gets the address of the first.
class BusyRuntime final : public runtime::Runtime {
 public:
  explicit BusyRuntime(runtime::Runtime& real) : real_(real) {}
  QuietClient client;

  Result<std::unique_ptr<runtime::Listener>> listen(
      const Endpoint& at, std::shared_ptr<const runtime::TlsSource> tls) override {
    if (first_) {
      client.connect(first_->port);
      return real_.listen(*first_, std::move(tls));
    }
    FL_TRY(std::unique_ptr<runtime::Listener> listener, real_.listen(at, std::move(tls)));
    first_ = listener->local();
    return listener;
  }
  void post(runtime::Ready& ready) override { real_.post(ready); }
  Instant now() const override { return real_.now(); }
  WallTime wall_now() const override { return real_.wall_now(); }
  std::uint64_t random() override { return real_.random(); }
  runtime::TimerHeap& timers() override { return real_.timers(); }
  runtime::Files& files() override { return real_.files(); }
  void start_blocking(runtime::BlockingJob job) override { real_.start_blocking(std::move(job)); }
  Task<Result<std::unique_ptr<runtime::Stream>>> connect(
      Endpoint to, std::shared_ptr<const runtime::TlsCredentials> tls) override {
    return real_.connect(std::move(to), std::move(tls));
  }
  Result<std::unique_ptr<runtime::DatagramSocket>> open_datagram(const Endpoint& at) override {
    return real_.open_datagram(at);
  }
  Result<std::unique_ptr<runtime::PacketSocket>> open_packet(const std::string& interface,
                                                             std::uint16_t ethertype) override {
    return real_.open_packet(interface, ethertype);
  }

 private:
  runtime::Runtime& real_;
  std::optional<Endpoint> first_;
};

// The first listener has taken a connection when the second cannot be made: nobody is served by a
// server whose store is being closed.
TEST(ServerProgram, AListenerThatCannotBeMadeEndsTheOthersBeforeTheStore) {
  const store::TemporaryDirectory folder;
  ServerFlags flags;
  flags.data = folder.path();
  flags.listen = {"127.0.0.1:0", "127.0.0.1:1"};
  const Result<ServerConfig> config = check_flags(flags);
  ASSERT_TRUE(config) << config.error().message;
  runtime::EpollRuntime real;
  BusyRuntime runtime(real);
  bool connected_at_close = false, cut_at_close = false;
  ServerSurroundings surroundings{
      .open_store = [&](metrics::Registry&) -> Result<OpenedStore> {
        OpenedStore opened = used_alone(std::make_unique<store::MemoryStore>(runtime), "memory");
        opened.close = [&]() -> Task<void> {
          (void)co_await runtime::sleep(runtime, 20ms);  // as a store that has something to write
          connected_at_close = runtime.client.connected();
          cut_at_close = runtime.client.closed_by_peer();
        };
        return opened;
      },
      .tell_ready = [](const std::string&, const std::string&) { ADD_FAILURE() << "ready"; },
      .give_back_memory = [] {}};
  command::StopRequest stop;
  const Result<> outcome =
      real.run_until_complete(run_server(runtime, *config, std::move(surroundings), stop));
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("--listen"), std::string::npos) << outcome.error().message;
  EXPECT_TRUE(connected_at_close);
  EXPECT_TRUE(cut_at_close) << "it is still served";
}

}  // namespace
}  // namespace fairlead::program
