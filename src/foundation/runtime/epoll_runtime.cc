#include "foundation/runtime/epoll_runtime.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "foundation/runtime/datagram_socket.h"
#include "foundation/runtime/epoll_socket.h"
#include "foundation/runtime/packet_socket.h"
#include "foundation/runtime/tls_stream.h"

namespace fairlead::runtime {

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

EpollRuntime::EpollRuntime(EpollOptions options)
    : blocking_(std::make_unique<BlockingPool>(options.blocking_threads)) {
  // Sockets are written with MSG_NOSIGNAL; this is for the pipes and libraries of the process.
  ::signal(SIGPIPE, SIG_IGN);
}

EpollRuntime::~EpollRuntime() {
  blocking_.reset();
  loop_.drop_calls();
}

Result<> EpollRuntime::catch_signals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (const int status = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); status != 0)
    return fail(errno_error("block signals", status));
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return fail(errno_error("signalfd"));
  signals_ = std::make_unique<Descriptor>(loop_, fd);
  return {};
}

Task<Result<int>> EpollRuntime::next_signal() {
  CHECK(signals_);
  FL_CO_CHECKED(co_await loop_.checkpoint());
  for (;;) {
    FL_CO_CHECKED(co_await signals_->readable());
    signalfd_siginfo info{};
    const ssize_t n = ::read(signals_->fd(), &info, sizeof info);
    if (n == sizeof info) co_return static_cast<int>(info.ssi_signo);
    if (n < 0 && errno == EAGAIN) {
      signals_->read_blocked();
    } else if (n < 0 && errno != EINTR) {
      co_return fail(errno_error("read signal"));
    }
  }
}

WallTime EpollRuntime::wall_now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

void EpollRuntime::start_blocking(BlockingJob job) {
  // Both halves are moved along, so that the last reference to what they share dies on the loop.
  auto shared = std::make_shared<BlockingJob>(std::move(job));
  blocking_->run([this, shared]() mutable {
    shared->work();
    loop_.call_soon([shared = std::move(shared)] { shared->done(); });
  });
}

Task<Result<std::unique_ptr<Stream>>> EpollRuntime::connect(
    Endpoint to, std::shared_ptr<const TlsCredentials> tls) {
  FL_CO_TRY(ConnectedSocket socket, co_await connect_socket(*this, loop_, to));
  if (!tls) co_return std::make_unique<PlainStream>(std::move(socket));
  FL_CO_TRY(std::shared_ptr<TlsContext> context, tls_contexts_.client(tls));
  std::string name = tls->server_name;
  if (name.empty() && to.kind == Endpoint::Kind::tcp) name = to.host;
  const bool skip_verify = tls->skip_verify;
  co_return co_await TlsStream::connected(std::move(socket), std::move(context), std::move(name),
                                          skip_verify);
}

Result<std::unique_ptr<Listener>> EpollRuntime::listen(const Endpoint& at,
                                                       std::shared_ptr<const TlsSource> tls) {
  return EpollListener::open(*this, loop_, tls_contexts_, at, std::move(tls));
}

Result<std::unique_ptr<DatagramSocket>> EpollRuntime::open_datagram(const Endpoint& at) {
  return EpollDatagramSocket::open(loop_, at);
}

Result<std::unique_ptr<PacketSocket>> EpollRuntime::open_packet(const std::string& interface,
                                                                std::uint16_t ethertype) {
  return EpollPacketSocket::open(loop_, interface, ethertype);
}

}  // namespace fairlead::runtime
