// TlsStream: TLS by OpenSSL directly on the socket. Its own BIO passes OpenSSL's buffers to send
// and recv, so encryption adds no copy, and uses the loop's knowledge of the socket's readiness, so
// an idle connection costs no failing system call. Idle connections hold no record buffers.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "foundation/runtime/epoll_loop.h"
#include "foundation/runtime/epoll_socket.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/tls_context.h"

namespace fairlead::runtime {

class TlsStream final : public Stream {
 public:
  // The server's side, before its handshake.
  static Result<std::unique_ptr<Stream>> accepted(ConnectedSocket socket,
                                                  std::shared_ptr<TlsContext> context);
  // The client's side, handshake included; verifies `name` (a DNS name or an address) unless told
  // not to verify.
  static Task<Result<std::unique_ptr<Stream>>> connected(ConnectedSocket socket,
                                                         std::shared_ptr<TlsContext> context,
                                                         std::string name, bool skip_verify);

  TlsStream(ConnectedSocket socket, std::shared_ptr<TlsContext> context);
  ~TlsStream() override;

  Task<Result<>> handshake() override;
  Task<Result<std::size_t>> read(std::span<char> into) override;
  Task<Result<>> write(std::string_view bytes) override;
  Task<Result<>> shutdown_write() override;
  void close() override;
  const PeerInfo& peer() const override { return peer_; }

 private:
  enum class Outcome { done, want_read, want_write, ended, failed };
  struct Transport;  // the socket as the BIO sees it

  Result<> attach();
  Result<> expect_name(const std::string& name);
  Outcome judge(int status);
  Readiness wait_for(Outcome outcome);
  Error failure(std::string_view what);
  void describe_peer();
  static const BIO_METHOD* bio_method();

  std::unique_ptr<Transport> transport_;
  std::shared_ptr<TlsContext> context_;
  SSL* ssl_ = nullptr;
  PeerInfo peer_;
  bool established_ = false;
  bool broken_ = false;          // nothing more may be sent, not even close_notify
  bool record_pending_ = false;  // a record is half sent
};

}  // namespace fairlead::runtime
