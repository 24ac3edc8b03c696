// TlsContext: credentials loaded into an SSL_CTX. TlsContexts: a cache of those in use, so that PEM
// is parsed only when credentials change.
//
// TLS 1.2 and 1.3, AEAD ciphers with forward secrecy only, AES-128-GCM preferred. A server with a
// trusted CA asks for a client certificate and completes the handshake even if that does not
// verify; PeerInfo::certificate_trusted has the verdict. A client verifies chain and name.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/stream.h"

namespace fairlead::runtime {

class TlsContext {
 public:
  enum class Role { server, client };
  static Result<std::shared_ptr<TlsContext>> make(Role role, const TlsCredentials& credentials);

  TlsContext(Role role, SSL_CTX* context) : role_(role), context_(context) {}
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext() { SSL_CTX_free(context_); }

  Role role() const { return role_; }
  SSL_CTX* get() const { return context_; }

 private:
  Result<> load(const TlsCredentials& credentials);
  Result<> use_certificate(const TlsCredentials& credentials);
  Result<> trust(const TlsCredentials& credentials);
  Result<> offer(const std::vector<std::string>& protocols);
  static int choose_protocol(SSL* ssl, const unsigned char** out, unsigned char* out_length,
                             const unsigned char* in, unsigned in_length, void* self);

  Role role_;
  SSL_CTX* context_;
  std::string protocols_;  // ALPN as on the wire: length byte, name, …
};

class TlsContexts {
 public:
  Result<std::shared_ptr<TlsContext>> server(std::shared_ptr<const TlsCredentials> credentials);
  Result<std::shared_ptr<TlsContext>> client(std::shared_ptr<const TlsCredentials> credentials);

 private:
  struct Entry {
    TlsContext::Role role;
    std::shared_ptr<const TlsCredentials> credentials;
    std::shared_ptr<TlsContext> context;
  };
  Result<std::shared_ptr<TlsContext>> find(TlsContext::Role role,
                                           std::shared_ptr<const TlsCredentials> credentials);
  std::vector<Entry> entries_;  // most recently used last; few
};

// The oldest queued OpenSSL error as text; empties the queue.
std::string take_tls_error();

}  // namespace fairlead::runtime
