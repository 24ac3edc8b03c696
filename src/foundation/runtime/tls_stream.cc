#include "foundation/runtime/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <optional>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/runtime/hello_guard.h"

namespace fairlead::runtime {

namespace {

// DER of everything the peer showed. A server's list is without the leaf, a client's is with it.
std::size_t chain_bytes(const SSL* ssl, const X509* leaf) {
  std::size_t bytes = SSL_is_server(ssl) ? static_cast<std::size_t>(i2d_X509(leaf, nullptr)) : 0;
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i)
    bytes += static_cast<std::size_t>(i2d_X509(sk_X509_value(chain, i), nullptr));
  return bytes;
}

}  // namespace

struct TlsStream::Transport {
  std::unique_ptr<Descriptor> descriptor;
  bool ended = false;                 // the peer's FIN was read
  int error_number = 0;               // of the system call that failed
  std::optional<HelloGuard> guard{};  // a server's, until the handshake is done
};

const BIO_METHOD* TlsStream::bio_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "loop socket");
    CHECK(made);
    BIO_meth_set_create(made, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    BIO_meth_set_write_ex(
        made, [](BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
          auto& transport = *static_cast<Transport*>(BIO_get_data(bio));
          BIO_clear_retry_flags(bio);
          for (;;) {
            const ssize_t n = ::send(transport.descriptor->fd(), bytes, size, MSG_NOSIGNAL);
            if (n >= 0) {
              *written = static_cast<std::size_t>(n);
              return 1;
            }
            if (errno == EINTR) continue;
            if (errno == EAGAIN) {
              transport.descriptor->write_blocked();
              BIO_set_retry_write(bio);
            } else {
              transport.error_number = errno;
            }
            return 0;
          }
        });
    BIO_meth_set_read_ex(made, [](BIO* bio, char* into, std::size_t size, std::size_t* got) {
      auto& transport = *static_cast<Transport*>(BIO_get_data(bio));
      BIO_clear_retry_flags(bio);
      Descriptor& descriptor = *transport.descriptor;
      while (descriptor.may_read()) {
        const ssize_t n = ::recv(descriptor.fd(), into, size, 0);
        if (n > 0) {
          *got = static_cast<std::size_t>(n);
          if (transport.guard && !transport.guard->admit({into, *got})) {
            transport.error_number = EMSGSIZE;
            return 0;
          }
          if (*got < size) descriptor.read_short();
          return 1;
        }
        if (n == 0) {
          transport.ended = true;
          return 0;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) {
          transport.error_number = errno;
          return 0;
        }
        descriptor.read_blocked();
      }
      BIO_set_retry_read(bio);
      return 0;
    });
    BIO_meth_set_ctrl(made, [](BIO* bio, int command, long, void*) -> long {
      if (command == BIO_CTRL_FLUSH) return 1;
      if (command == BIO_CTRL_EOF) return static_cast<Transport*>(BIO_get_data(bio))->ended;
      return 0;
    });
    return made;
  }();
  return method;
}

TlsStream::TlsStream(ConnectedSocket socket, std::shared_ptr<TlsContext> context)
    : transport_(
          std::make_unique<Transport>(Transport{.descriptor = std::move(socket.descriptor)})),
      context_(std::move(context)) {
  peer_.address = std::move(socket.peer_address);
  peer_.tls = true;
}

TlsStream::~TlsStream() {
  close();
  SSL_free(ssl_);
}

Result<> TlsStream::attach() {
  ssl_ = SSL_new(context_->get());
  BIO* bio = ssl_ ? BIO_new(bio_method()) : nullptr;
  if (!bio) return fail(Code::exhausted, "TLS with " + peer_.address + ": " + take_tls_error());
  BIO_set_data(bio, transport_.get());
  SSL_set_bio(ssl_, bio, bio);
  if (context_->role() == TlsContext::Role::server) {
    SSL_set_accept_state(ssl_);
    transport_->guard.emplace();
  } else {
    SSL_set_connect_state(ssl_);
  }
  return {};
}

Result<> TlsStream::expect_name(const std::string& name) {
  in6_addr scratch;
  const bool address = ::inet_pton(AF_INET, name.c_str(), &scratch) == 1 ||
                       ::inet_pton(AF_INET6, name.c_str(), &scratch) == 1;
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl_);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool set = address ? X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1
                           : X509_VERIFY_PARAM_set1_host(param, name.data(), name.size()) == 1 &&
                                 SSL_set_tlsext_host_name(ssl_, name.c_str()) == 1;
  if (!set) return fail(Code::invalid, "TLS server name \"" + name + "\": " + take_tls_error());
  return {};
}

Result<std::unique_ptr<Stream>> TlsStream::accepted(ConnectedSocket socket,
                                                    std::shared_ptr<TlsContext> context) {
  auto stream = std::make_unique<TlsStream>(std::move(socket), std::move(context));
  FL_CHECKED(stream->attach());
  return stream;
}

Task<Result<std::unique_ptr<Stream>>> TlsStream::connected(ConnectedSocket socket,
                                                           std::shared_ptr<TlsContext> context,
                                                           std::string name, bool skip_verify) {
  auto stream = std::make_unique<TlsStream>(std::move(socket), std::move(context));
  FL_CO_CHECKED(stream->attach());
  if (!name.empty()) {
    FL_CO_CHECKED(stream->expect_name(name));
  } else if (!skip_verify) {
    co_return fail(Code::invalid, "TLS with " + stream->peer_.address + " needs a server name");
  }
  FL_CO_CHECKED(co_await stream->handshake());
  stream->peer_.certificate_trusted = !skip_verify;
  co_return stream;
}

TlsStream::Outcome TlsStream::judge(int status) {
  switch (SSL_get_error(ssl_, status)) {
    case SSL_ERROR_NONE:
      return Outcome::done;
    case SSL_ERROR_WANT_READ:
      return Outcome::want_read;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::want_write;
    case SSL_ERROR_ZERO_RETURN:
      return Outcome::ended;
    default:
      broken_ = true;
      return Outcome::failed;
  }
}

Readiness TlsStream::wait_for(Outcome outcome) {
  Descriptor& descriptor = *transport_->descriptor;
  return outcome == Outcome::want_read ? descriptor.readable() : descriptor.writable();
}

Error TlsStream::failure(std::string_view what) {
  const std::string where = std::string(what).append(" ").append(peer_.address);
  if (transport_->error_number != 0) {
    ERR_clear_error();
    Error error = errno_error(where, transport_->error_number);
    if (error.code == Code::io) error.code = Code::unavailable;
    return error;
  }
  if (transport_->ended) {
    ERR_clear_error();
    return Error{Code::unavailable, where + ": connection cut by the peer"};
  }
  std::string why = take_tls_error();
  const long verdict = SSL_get_verify_result(ssl_);
  if (!established_ && verdict != X509_V_OK && context_->role() == TlsContext::Role::client)
    why.append(": ").append(X509_verify_cert_error_string(verdict));
  return Error{Code::unavailable, where + ": " + why};
}

Task<Result<>> TlsStream::handshake() {
  while (!established_) {
    FL_CO_CHECKED(co_await transport_->descriptor->loop().checkpoint());
    if (transport_->descriptor->closed()) co_return fail(Code::unavailable, "connection closed");
    ERR_clear_error();
    const Outcome outcome = judge(SSL_do_handshake(ssl_));
    if (outcome == Outcome::done) {
      established_ = true;
      transport_->guard.reset();
      describe_peer();
    } else if (outcome == Outcome::want_read || outcome == Outcome::want_write) {
      FL_CO_CHECKED(co_await wait_for(outcome));
    } else {
      co_return fail(failure("TLS handshake with"));
    }
  }
  co_return Result<>{};
}

void TlsStream::describe_peer() {
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl_, &protocol, &length);
  if (protocol) peer_.alpn.assign(reinterpret_cast<const char*>(protocol), length);
  X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (!certificate) return;
  // A resumed session brings the verdict of its first handshake; its certificate may have expired.
  peer_.certificate_trusted = SSL_get_verify_result(ssl_) == X509_V_OK &&
                              X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
  peer_.certificate_bytes = chain_bytes(ssl_, certificate);
  BIO* text = BIO_new(BIO_s_mem());
  if (!text) return;
  char* bytes = nullptr;
  if (PEM_write_bio_X509(text, certificate) == 1) {
    const long size = BIO_get_mem_data(text, &bytes);
    peer_.certificate.assign(bytes, static_cast<std::size_t>(size));
  }
  BIO_free(text);
}

Task<Result<std::size_t>> TlsStream::read(std::span<char> into) {
  CHECK(!into.empty());
  CHECK(established_);
  FL_CO_CHECKED(co_await transport_->descriptor->loop().checkpoint());
  for (;;) {
    if (transport_->descriptor->closed()) co_return fail(Code::unavailable, "connection closed");
    ERR_clear_error();
    std::size_t total = 0;
    int status = 0;
    // Whatever is decrypted or lies in OpenSSL's buffer belongs to this read.
    do {
      std::size_t got = 0;
      status = SSL_read_ex(ssl_, into.data() + total, into.size() - total, &got);
      total += got;
    } while (status == 1 && total < into.size() && SSL_has_pending(ssl_));
    if (total > 0) co_return total;
    const Outcome outcome = judge(status);
    if (outcome == Outcome::ended) co_return std::size_t{0};
    if (outcome == Outcome::failed) co_return fail(failure("read from"));
    FL_CO_CHECKED(co_await wait_for(outcome));
  }
}

Task<Result<>> TlsStream::write(std::string_view bytes) {
  CHECK(established_);
  while (!bytes.empty()) {
    FL_CO_CHECKED(co_await transport_->descriptor->loop().give_way());
    if (transport_->descriptor->closed()) co_return fail(Code::unavailable, "connection closed");
    ERR_clear_error();
    std::size_t written = 0;
    const int status = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &written);
    record_pending_ = status != 1;
    if (status == 1) {
      bytes.remove_prefix(written);
      continue;
    }
    const Outcome outcome = judge(status);
    if (outcome != Outcome::want_read && outcome != Outcome::want_write)
      co_return fail(failure("write to"));
    FL_CO_CHECKED(co_await wait_for(outcome));
  }
  co_return Result<>{};
}

Task<Result<>> TlsStream::shutdown_write() {
  for (;;) {
    if (transport_->descriptor->closed()) co_return fail(Code::unavailable, "connection closed");
    if (broken_) co_return fail(Code::unavailable, "shut down " + peer_.address + ": broken");
    ERR_clear_error();
    const int status = SSL_shutdown(ssl_);
    if (status >= 0) break;
    const Outcome outcome = judge(status);
    if (outcome != Outcome::want_read && outcome != Outcome::want_write)
      co_return fail(failure("shut down"));
    FL_CO_CHECKED(co_await wait_for(outcome));
  }
  ::shutdown(transport_->descriptor->fd(), SHUT_WR);
  co_return Result<>{};
}

void TlsStream::close() {
  if (transport_->descriptor->closed()) return;
  // A goodbye if it fits into the socket now, so that the peer can tell the end from a cut.
  if (established_ && !broken_ && !record_pending_ &&
      !(SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN)) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  transport_->descriptor->close();
}

}  // namespace fairlead::runtime
