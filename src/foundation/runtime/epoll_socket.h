// Stream sockets of the loop, TCP and unix alike: the plain stream, the listener, and the setting
// up of connections. TlsStream builds on a connected socket from here.
#pragma once

#include <memory>
#include <string>

#include "foundation/runtime/epoll_loop.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/socket_address.h"

namespace fairlead::runtime {

class TlsContext;
class TlsContexts;

struct ConnectedSocket {
  std::unique_ptr<Descriptor> descriptor;
  std::string peer_address;
};

class PlainStream final : public Stream {
 public:
  explicit PlainStream(ConnectedSocket socket);

  Task<Result<>> handshake() override;
  Task<Result<std::size_t>> read(std::span<char> into) override;
  Task<Result<>> write(std::string_view bytes) override;
  Task<Result<>> shutdown_write() override;
  void close() override { descriptor_->close(); }
  const PeerInfo& peer() const override { return peer_; }

 private:
  std::unique_ptr<Descriptor> descriptor_;
  PeerInfo peer_;
};

// Tries the endpoint's addresses in turn. Errors read "connect 10.0.0.1:2379: Connection refused"
// and are unavailable unless they are this machine's own (forbidden, exhausted).
Task<Result<ConnectedSocket>> connect_socket(Runtime& runtime, EpollLoop& loop, const Endpoint& to);

class EpollListener final : public Listener {
 public:
  // A unix socket's file is replaced if nobody answers behind it.
  static Result<std::unique_ptr<Listener>> open(Runtime& runtime, EpollLoop& loop,
                                                TlsContexts& contexts, const Endpoint& at,
                                                std::shared_ptr<const TlsSource> tls);
  EpollListener(Runtime& runtime, EpollLoop& loop, TlsContexts& contexts, int fd, Endpoint local,
                std::shared_ptr<const TlsSource> tls);
  ~EpollListener() override { close(); }

  Task<Result<std::unique_ptr<Stream>>> accept() override;
  Endpoint local() const override { return local_; }
  void close() override;

 private:
  Result<std::unique_ptr<Stream>> make_stream(ConnectedSocket socket);
  Result<std::shared_ptr<TlsContext>> current_context();

  Runtime& runtime_;
  EpollLoop& loop_;
  TlsContexts& contexts_;
  Descriptor descriptor_;
  Endpoint local_;
  std::shared_ptr<const TlsSource> tls_;
  // The last good context, used while the source's credentials do not load; the bad ones are
  // remembered so that they are logged once.
  std::shared_ptr<TlsContext> last_good_;
  std::shared_ptr<const TlsCredentials> refused_;
};

}  // namespace fairlead::runtime
