#include "foundation/runtime/epoll_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/resolver.h"
#include "foundation/runtime/tls_context.h"
#include "foundation/runtime/tls_stream.h"

namespace fairlead::runtime {
namespace {

// How long accepting rests when this process or machine has no descriptors left.
constexpr Duration kExhaustedPause = 100ms;
constexpr int kBacklog = 4096;

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

// On a listener these are inherited by what it accepts, so they cost nothing per connection.
void set_tcp_options(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

int open_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && family != AF_UNIX) set_tcp_options(fd);
  return fd;
}

Error connect_error(const SocketAddress& address, int error_number) {
  Error error = errno_error("connect " + endpoint_of(address).to_string(), error_number);
  // Whatever the network says, the peer was not reached.
  if (error.code != Code::forbidden && error.code != Code::exhausted)
    error.code = Code::unavailable;
  return error;
}

// Closes the descriptor unless it is taken out.
class PendingSocket {
 public:
  explicit PendingSocket(int fd) : fd_(fd) {}
  PendingSocket(const PendingSocket&) = delete;
  PendingSocket& operator=(const PendingSocket&) = delete;
  ~PendingSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Task<Result<ConnectedSocket>> connect_address(EpollLoop& loop, const SocketAddress& address) {
  PendingSocket socket(open_socket(address.family()));
  if (socket.get() < 0) co_return fail(connect_error(address, errno));
  const int status = ::connect(socket.get(), address.get(), address.length);
  // A full unix backlog answers EAGAIN and gives nothing to wait for: an error like the others.
  if (status != 0 && errno != EINPROGRESS && errno != EINTR)
    co_return fail(connect_error(address, errno));
  auto descriptor = std::make_unique<Descriptor>(loop, socket.take());
  if (status != 0) {
    descriptor->write_blocked();
    FL_CO_CHECKED(co_await descriptor->writable());
    int error_number = 0;
    socklen_t length = sizeof error_number;
    ::getsockopt(descriptor->fd(), SOL_SOCKET, SO_ERROR, &error_number, &length);
    if (error_number != 0) co_return fail(connect_error(address, error_number));
  }
  co_return ConnectedSocket{.descriptor = std::move(descriptor),
                            .peer_address = endpoint_of(address).to_string()};
}

bool is_wildcard_v6(const SocketAddress& address) {
  return address.family() == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
}

// A socket file that a dead process left behind stops bind; one that answers must stay.
void remove_stale_socket(const SocketAddress& address, const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const PendingSocket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (probe.get() < 0) return;
  if (::connect(probe.get(), address.get(), address.length) != 0 && errno == ECONNREFUSED)
    ::unlink(path.c_str());
}

Result<int> open_listening(const SocketAddress& address, const Endpoint& at) {
  PendingSocket socket(open_socket(address.family()));
  if (socket.get() < 0) return fail(errno_error("listen " + at.to_string()));
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6)
    set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, is_wildcard_v6(address) ? 0 : 1);
  if (at.kind == Endpoint::Kind::unix_socket) {
    remove_stale_socket(address, at.host);
    // bind makes the file with this mode: nobody slips in before.
    if (::fchmod(socket.get(), 0600) != 0)
      return fail(errno_error("listen " + at.to_string() + ": chmod"));
  }
  if (::bind(socket.get(), address.get(), address.length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return fail(errno_error("listen " + at.to_string()));
  return socket.take();
}

Endpoint local_endpoint(int fd, const Endpoint& asked) {
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (asked.kind == Endpoint::Kind::unix_socket ||
      ::getsockname(fd, bound.get(), &bound.length) != 0)
    return asked;
  return endpoint_of(bound);
}

// Errors of one connection attempt that say nothing about the listener (accept(2)).
bool is_passing(int error_number) {
  switch (error_number) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

bool is_exhaustion(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS ||
         error_number == ENOMEM;
}

}  // namespace

PlainStream::PlainStream(ConnectedSocket socket) : descriptor_(std::move(socket.descriptor)) {
  peer_.address = std::move(socket.peer_address);
}

Task<Result<>> PlainStream::handshake() { co_return Result<>{}; }

Task<Result<std::size_t>> PlainStream::read(std::span<char> into) {
  CHECK(!into.empty());
  FL_CO_CHECKED(co_await descriptor_->loop().checkpoint());
  for (;;) {
    FL_CO_CHECKED(co_await descriptor_->readable());
    const ssize_t n = ::recv(descriptor_->fd(), into.data(), into.size(), 0);
    if (n >= 0) {
      const auto count = static_cast<std::size_t>(n);
      if (count < into.size()) descriptor_->read_short();
      co_return count;
    }
    if (errno == EAGAIN) {
      descriptor_->read_blocked();
    } else if (errno != EINTR) {
      co_return fail(errno_error("read from " + peer_.address));
    }
  }
}

Task<Result<>> PlainStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    FL_CO_CHECKED(co_await descriptor_->loop().give_way());
    if (descriptor_->closed()) co_return fail(Code::unavailable, "connection closed");
    const ssize_t n = ::send(descriptor_->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      descriptor_->write_blocked();
      FL_CO_CHECKED(co_await descriptor_->writable());
    } else if (errno != EINTR) {
      co_return fail(errno_error("write to " + peer_.address));
    }
  }
  co_return Result<>{};
}

Task<Result<>> PlainStream::shutdown_write() {
  if (descriptor_->closed()) co_return fail(Code::unavailable, "connection closed");
  if (::shutdown(descriptor_->fd(), SHUT_WR) != 0)
    co_return fail(errno_error("shut down " + peer_.address));
  co_return Result<>{};
}

Task<Result<ConnectedSocket>> connect_socket(Runtime& runtime, EpollLoop& loop,
                                             const Endpoint& to) {
  FL_CO_CHECKED(co_await loop.checkpoint());
  Result<std::vector<SocketAddress>> addresses = co_await resolve(runtime, to);
  if (!addresses) co_return fail(addresses.error().context("connect " + to.to_string()));
  Result<ConnectedSocket> connected = fail(Code::unavailable, "no address");
  for (const SocketAddress& address : *addresses) {
    connected = co_await connect_address(loop, address);
    if (connected || connected.error().code == Code::cancelled) break;
  }
  co_return connected;
}

Result<std::unique_ptr<Listener>> EpollListener::open(Runtime& runtime, EpollLoop& loop,
                                                      TlsContexts& contexts, const Endpoint& at,
                                                      std::shared_ptr<const TlsSource> tls) {
  Result<std::vector<SocketAddress>> addresses = resolve_now(at);
  if (!addresses) return fail(addresses.error().context("listen " + at.to_string()));
  FL_TRY(const int fd, open_listening(addresses->front(), at));
  auto listener = std::make_unique<EpollListener>(runtime, loop, contexts, fd,
                                                  local_endpoint(fd, at), std::move(tls));
  if (listener->tls_) {
    // Credentials that cannot work are an error of start-up, not of the first connection.
    FL_CHECKED(listener->current_context());
  }
  return listener;
}

EpollListener::EpollListener(Runtime& runtime, EpollLoop& loop, TlsContexts& contexts, int fd,
                             Endpoint local, std::shared_ptr<const TlsSource> tls)
    : runtime_(runtime),
      loop_(loop),
      contexts_(contexts),
      descriptor_(loop, fd),
      local_(std::move(local)),
      tls_(std::move(tls)) {}

void EpollListener::close() {
  if (descriptor_.closed()) return;
  if (local_.kind == Endpoint::Kind::unix_socket) ::unlink(local_.host.c_str());
  descriptor_.close();
}

Result<std::shared_ptr<TlsContext>> EpollListener::current_context() {
  std::shared_ptr<const TlsCredentials> credentials = tls_->current();
  if (last_good_ && credentials == refused_) return last_good_;
  Result<std::shared_ptr<TlsContext>> context = contexts_.server(credentials);
  if (context) {
    last_good_ = *context;
    return context;
  }
  const Error error = context.error().context("TLS credentials of " + local_.to_string());
  if (!last_good_) return fail(error);
  log::error("new TLS credentials do not load, the former stay in use", {{"error", error.message}});
  refused_ = std::move(credentials);
  return last_good_;
}

Result<std::unique_ptr<Stream>> EpollListener::make_stream(ConnectedSocket socket) {
  if (!tls_) return std::make_unique<PlainStream>(std::move(socket));
  FL_TRY(std::shared_ptr<TlsContext> context, current_context());
  return TlsStream::accepted(std::move(socket), std::move(context));
}

Task<Result<std::unique_ptr<Stream>>> EpollListener::accept() {
  for (;;) {
    FL_CO_CHECKED(co_await loop_.checkpoint());
    FL_CO_CHECKED(co_await descriptor_.readable());
    SocketAddress from;
    from.length = sizeof from.storage;
    const int fd =
        ::accept4(descriptor_.fd(), from.get(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      ConnectedSocket socket{.descriptor = std::make_unique<Descriptor>(loop_, fd),
                             .peer_address = endpoint_of(from).to_string()};
      co_return make_stream(std::move(socket));
    }
    if (errno == EAGAIN) {
      descriptor_.read_blocked();
    } else if (is_exhaustion(errno)) {
      const Error error = errno_error("accept on " + local_.to_string());
      log::warning("accepting pauses", {{"error", error.message}});
      FL_CO_CHECKED(co_await sleep(runtime_, kExhaustedPause));
    } else if (!is_passing(errno)) {
      co_return fail(errno_error("accept on " + local_.to_string()));
    }
  }
}

}  // namespace fairlead::runtime
