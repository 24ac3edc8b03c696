// What the stream tests share: a pair of connected streams, reading to the end, patterned bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::runtime {

inline Endpoint any_port() { return Endpoint{.kind = Endpoint::Kind::tcp, .host = "127.0.0.1"}; }

template <class T>
std::string outcome(const Result<T>& result) {
  return result ? "ok" : result.error().to_string();
}

// Bytes that show displacement: no two positions within 251 look alike.
inline std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

inline Task<Result<std::string>> read_all(Stream& stream, std::size_t piece = 64 << 10) {
  std::string all;
  std::string buffer(piece, '\0');
  for (;;) {
    FL_CO_TRY(const std::size_t n, co_await stream.read(buffer));
    if (n == 0) co_return all;
    all.append(buffer, 0, n);
  }
}

inline Task<Result<std::string>> read_exactly(Stream& stream, std::size_t size) {
  std::string all(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    FL_CO_TRY(const std::size_t n, co_await stream.read(std::span(all.data() + have, size - have)));
    if (n == 0) co_return fail(Code::unavailable, "early end");
    have += n;
  }
  co_return all;
}

inline Task<void> write_and_end(Stream& stream, const std::string& bytes, std::string& log) {
  Result<> done = co_await stream.write(bytes);
  if (done) done = co_await stream.shutdown_write();
  log = outcome(done);
}

class FixedTls final : public TlsSource {
 public:
  explicit FixedTls(TlsCredentials credentials)
      : current_(std::make_shared<const TlsCredentials>(std::move(credentials))) {}
  std::shared_ptr<const TlsCredentials> current() const override { return current_; }
  void replace(TlsCredentials credentials) {
    current_ = std::make_shared<const TlsCredentials>(std::move(credentials));
  }

 private:
  std::shared_ptr<const TlsCredentials> current_;
};

struct StreamPair {
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

inline Task<void> accept_into(Listener& listener, Result<std::unique_ptr<Stream>>& into) {
  into = co_await listener.accept();
  if (!into) co_return;
  const Result<> shaken = co_await (*into)->handshake();
  if (!shaken) into = fail(shaken.error());
}

// Connects to a listener of its own; both handshakes done. The server's error wins.
inline Task<Result<StreamPair>> make_pair(Runtime& runtime, Endpoint at,
                                          std::shared_ptr<const TlsSource> server_tls,
                                          std::shared_ptr<const TlsCredentials> client_tls) {
  FL_CO_TRY(const std::unique_ptr<Listener> listener, runtime.listen(at, server_tls));
  Result<std::unique_ptr<Stream>> server = fail(Code::internal, "not accepted");
  Scope scope(runtime);
  scope.spawn(accept_into(*listener, server));
  Result<std::unique_ptr<Stream>> client = co_await runtime.connect(listener->local(), client_tls);
  co_await scope.join();
  if (!server) co_return fail(server.error());
  if (!client) co_return fail(client.error());
  co_return StreamPair{std::move(*client), std::move(*server)};
}

}  // namespace fairlead::runtime
