#include "runtime/epoll_runtime.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::runtime {
namespace {

Endpoint any_port() { return Endpoint{.kind = Endpoint::Kind::tcp, .host = "127.0.0.1"}; }

Task<Result<std::string>> read_all(Stream& stream) {
  std::string all;
  std::string buffer(4096, '\0');
  for (;;) {
    FL_CO_TRY(const std::size_t n, co_await stream.read(buffer));
    if (n == 0) co_return all;
    all.append(buffer, 0, n);
  }
}

Task<void> echo_once(Listener& listener) {
  Result<std::unique_ptr<Stream>> stream = co_await listener.accept();
  if (!stream) co_return;
  const Result<std::string> all = co_await read_all(**stream);
  if (!all) co_return;
  (void)co_await (*stream)->write(*all);
  (void)co_await (*stream)->shutdown_write();
}

Task<Result<std::string>> echo_round_trip(Runtime& runtime, std::string text) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(any_port(), nullptr));
  Scope scope(runtime);
  scope.spawn(echo_once(*listener));
  FL_CO_TRY(const std::unique_ptr<Stream> stream,
            co_await runtime.connect(listener->local(), nullptr));
  FL_CO_CHECKED(co_await stream->write(text));
  FL_CO_CHECKED(co_await stream->shutdown_write());
  Result<std::string> answer = co_await read_all(*stream);
  co_await scope.close();
  co_return answer;
}

// Bytes go over TCP and come back, with the end of each direction seen by the other side.
TEST(EpollRuntime, EchoesOverTcp) {
  EpollRuntime runtime;
  const std::string text(100'000, 'x');
  EXPECT_EQ(runtime.run_until_complete(echo_round_trip(runtime, text)), text);
}

}  // namespace
}  // namespace fairlead::runtime
