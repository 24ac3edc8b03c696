// Authority: the cluster's own certificate authority and this server's certificate, in a folder.
//
//   DIR/pki/ca.crt  ca.key            the authority (10 years), made on first start
//   DIR/pki/server.crt  server.key    this server's certificate (1 year), reissued by itself
//   DIR/pki/token.key                 signs tokens bound to nodes
//
// Key files have mode 0600. Servers that share a cluster get the same ca.* and token.key copied
// into their folder. Synchronous file access through runtime::Files, at start and in maintain(); no
// clock of its own. The program calls maintain() about once a minute.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/identity/certificate.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::identity {

// TLS credentials that can be replaced while in use. Owned by shared_ptr: listeners keep it.
class SwappableTls final : public runtime::TlsSource {
 public:
  SwappableTls() = default;
  explicit SwappableTls(runtime::TlsCredentials credentials) { swap(std::move(credentials)); }
  std::shared_ptr<const runtime::TlsCredentials> current() const override { return current_; }
  void swap(runtime::TlsCredentials credentials) {
    current_ = std::make_shared<const runtime::TlsCredentials>(std::move(credentials));
  }

 private:
  std::shared_ptr<const runtime::TlsCredentials> current_;
};

struct AuthorityOptions {
  std::string folder;  // DIR/pki
  Names server_names;  // SANs of the server certificate; 127.0.0.1, ::1 and localhost are added
  std::string cluster_name = "fairlead";
  // PEM bundles of further authorities whose client certificates the TLS layer shall ask for
  // (client CA, request-header CA). Which of them may vouch for whom is the authenticators'
  // business.
  std::string extra_client_ca;
};

// Lifetimes of what the authority issues.
inline constexpr Duration kAuthorityLife = 24h * 365 * 10;
inline constexpr Duration kServerLife = 24h * 365;
inline constexpr Duration kNodeLife = 24h * 30;
// Certificates begin a little in the past, for peers whose clocks are behind.
inline constexpr Duration kClockAllowance = 5min;

class Authority {
 public:
  // Loads what is there, makes what is missing. Fails, naming the file, when something is there and
  // cannot be used: a key that is lost or does not fit is never silently replaced, except the
  // server's own certificate.
  static Result<std::unique_ptr<Authority>> open(runtime::Files& files, AuthorityOptions options,
                                                 WallTime now, Random random);

  const KeyPair& ca() const { return ca_; }
  std::string ca_pem() const { return ca_.certificate.pem(); }
  const std::string& token_key() const { return token_key_; }
  const Certificate& server_certificate() const { return server_.certificate; }

  // For Runtime::listen(): follows every renewal. ALPN offers h2 and http/1.1.
  std::shared_ptr<const runtime::TlsSource> tls() const { return tls_; }

  struct Maintained {
    bool server_renewed = false;   // reissued here
    bool server_reloaded = false;  // taken from files that changed on disk
  };
  // Reissues the server certificate when its time or its names ask for it; takes over server.crt
  // and server.key when someone replaced them with a fitting pair.
  Result<Maintained> maintain(WallTime now);
  void set_extra_client_ca(std::string pem);

  Result<Certificate> sign_node(const SigningRequest& request, const std::string& node,
                                WallTime now) const;

 private:
  Authority(runtime::Files& files, AuthorityOptions options, Random random);
  Result<> open_ca(WallTime now);
  Result<> open_token_key();
  Result<bool> load_server();
  Result<> reissue_server(WallTime now);
  bool server_fits(WallTime now) const;
  void publish();
  std::string path(std::string_view name) const;

  runtime::Files& files_;
  AuthorityOptions options_;
  Random random_;
  KeyPair ca_;
  KeyPair server_;
  std::string server_chain_;  // server.crt as it is on disk
  std::string server_key_;
  std::string token_key_;
  std::shared_ptr<SwappableTls> tls_ = std::make_shared<SwappableTls>();
};

// Credentials from two or three files someone else keeps (--tls-cert-file …, an agent's
// certificate), read again by reload() when they change.
class FileTls {
 public:
  struct Paths {
    std::string certificate, key, trusted_ca;  // trusted_ca may be empty
  };
  static Result<std::unique_ptr<FileTls>> open(runtime::Files& files, Paths paths,
                                               runtime::TlsCredentials base);
  std::shared_ptr<const runtime::TlsSource> tls() const { return tls_; }
  // True when new credentials were taken over. A half-written or mismatched pair is an error and
  // leaves the old ones in use.
  Result<bool> reload();

 private:
  FileTls(runtime::Files& files, Paths paths, runtime::TlsCredentials base)
      : files_(files), paths_(std::move(paths)), base_(std::move(base)) {}
  runtime::Files& files_;
  Paths paths_;
  runtime::TlsCredentials base_;
  std::shared_ptr<SwappableTls> tls_ = std::make_shared<SwappableTls>();
};

}  // namespace fairlead::identity
