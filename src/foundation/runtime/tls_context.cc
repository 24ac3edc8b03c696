#include "foundation/runtime/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::runtime {
namespace {

// Contexts kept: a program has one server identity and a few client ones; old ones age out.
constexpr std::size_t kContextsKept = 16;

constexpr const char* kTls13Ciphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kTls12Ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
// Of the certificates that a client may show: a leaf and a large one above it. OpenSSL keeps them
// as long as the connection is there, in twenty times the room.
constexpr long kMostCertificates = 4 << 10;
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr unsigned char kSessionContext[] = "fairlead";

using BioPtr = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
using X509Ptr = std::unique_ptr<X509, decltype([](X509* x509) { X509_free(x509); })>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;

Error tls_error(Code code, std::string_view what) {
  return Error{code, std::string(what).append(": ").append(take_tls_error())};
}

BioPtr read_from(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<std::vector<X509Ptr>> read_certificates(const std::string& pem, std::string_view what) {
  const BioPtr bio = read_from(pem);
  std::vector<X509Ptr> certificates;
  ERR_clear_error();
  while (X509* x509 = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    certificates.emplace_back(x509);
  // Running out of PEM blocks is the normal end; anything else is a damaged one.
  const unsigned long end = ERR_peek_last_error();
  if (certificates.empty() || ERR_GET_LIB(end) != ERR_LIB_PEM ||
      ERR_GET_REASON(end) != PEM_R_NO_START_LINE)
    return fail(tls_error(Code::invalid, what));
  ERR_clear_error();
  return certificates;
}

// The verdict is kept as the handshake's verify result; the caller answers 401 rather than hanging
// up.
int verify_and_go_on(X509_STORE_CTX* store, void*) {
  if (X509_verify_cert(store) <= 0 && X509_STORE_CTX_get_error(store) == X509_V_OK)
    X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED);
  ERR_clear_error();
  return 1;
}

}  // namespace

std::string take_tls_error() {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  if (error == 0) return "unknown TLS error";
  const char* reason = ERR_reason_error_string(error);
  return reason ? reason : "TLS error " + std::to_string(error);
}

Result<std::shared_ptr<TlsContext>> TlsContext::make(Role role, const TlsCredentials& credentials) {
  SSL_CTX* raw = SSL_CTX_new(role == Role::server ? TLS_server_method() : TLS_client_method());
  if (!raw) return fail(tls_error(Code::internal, "TLS context"));
  auto context = std::make_shared<TlsContext>(role, raw);
  FL_CHECKED(context->load(credentials));
  return context;
}

Result<> TlsContext::load(const TlsCredentials& credentials) {
  CHECK(SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION) == 1);
  CHECK(SSL_CTX_set_ciphersuites(context_, kTls13Ciphers) == 1);
  CHECK(SSL_CTX_set_cipher_list(context_, kTls12Ciphers) == 1);
  CHECK(SSL_CTX_set1_groups_list(context_, kGroups) == 1);
  SSL_CTX_set_options(
      context_, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS |
                                 SSL_MODE_NO_AUTO_CHAIN);  // show the chain given, not the CA
  SSL_CTX_set_read_ahead(context_, 1);  // header and payload of a record in one system call
  // Tickets carry the session; a cache in memory would grow with every stranger.
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context_, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_num_tickets(context_, 1);
  if (role_ == Role::server) SSL_CTX_set_max_cert_list(context_, kMostCertificates);
  FL_CHECKED(use_certificate(credentials));
  FL_CHECKED(trust(credentials));
  return offer(credentials.alpn);
}

Result<> TlsContext::use_certificate(const TlsCredentials& credentials) {
  if (credentials.certificate_chain.empty()) {
    if (role_ == Role::server) return fail(Code::invalid, "a TLS server needs a certificate");
    return {};
  }
  FL_TRY(std::vector<X509Ptr> chain,
         read_certificates(credentials.certificate_chain, "certificate"));
  if (SSL_CTX_use_certificate(context_, chain.front().get()) != 1)
    return fail(tls_error(Code::invalid, "certificate"));
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context_, chain[i].get()) != 1)
      return fail(tls_error(Code::invalid, "certificate chain"));
  }
  const BioPtr bio = read_from(credentials.private_key);
  // An encrypted key must not stop at a terminal and ask.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context_, key.get()) != 1 ||
      SSL_CTX_check_private_key(context_) != 1)
    return fail(tls_error(Code::invalid, "private key"));
  return {};
}

Result<> TlsContext::trust(const TlsCredentials& credentials) {
  X509_STORE* store = SSL_CTX_get_cert_store(context_);
  // As in Go: whatever is listed is an anchor, be it a root or not.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  if (!credentials.trusted_ca.empty()) {
    FL_TRY(const std::vector<X509Ptr> anchors,
           read_certificates(credentials.trusted_ca, "trusted CA"));
    for (const X509Ptr& anchor : anchors) {
      if (X509_STORE_add_cert(store, anchor.get()) != 1)
        return fail(tls_error(Code::invalid, "trusted CA"));
      if (role_ == Role::server) SSL_CTX_add_client_CA(context_, anchor.get());
    }
  }
  if (role_ == Role::server) {
    if (credentials.trusted_ca.empty()) return {};
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(context_, verify_and_go_on, nullptr);
    return {};
  }
  if (credentials.trusted_ca.empty() && !credentials.skip_verify)
    SSL_CTX_set_default_verify_paths(context_);
  SSL_CTX_set_verify(context_, credentials.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     nullptr);
  return {};
}

Result<> TlsContext::offer(const std::vector<std::string>& protocols) {
  for (const std::string& name : protocols) {
    if (name.empty() || name.size() > 255) return fail(Code::invalid, "bad ALPN protocol name");
    protocols_.push_back(static_cast<char>(name.size()));
    protocols_.append(name);
  }
  if (protocols_.empty()) return {};
  if (role_ == Role::server) {
    SSL_CTX_set_alpn_select_cb(context_, choose_protocol, this);
  } else {
    SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(protocols_.data()),
                            static_cast<unsigned>(protocols_.size()));
  }
  return {};
}

int TlsContext::choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                                const unsigned char* in, unsigned in_length, void* self) {
  const std::string& own = static_cast<TlsContext*>(self)->protocols_;
  unsigned char* chosen = nullptr;
  const int status =
      SSL_select_next_proto(&chosen, out_length, reinterpret_cast<const unsigned char*>(own.data()),
                            static_cast<unsigned>(own.size()), in, in_length);
  *out = chosen;
  return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<std::shared_ptr<TlsContext>> TlsContexts::server(
    std::shared_ptr<const TlsCredentials> credentials) {
  return find(TlsContext::Role::server, std::move(credentials));
}

Result<std::shared_ptr<TlsContext>> TlsContexts::client(
    std::shared_ptr<const TlsCredentials> credentials) {
  return find(TlsContext::Role::client, std::move(credentials));
}

Result<std::shared_ptr<TlsContext>> TlsContexts::find(
    TlsContext::Role role, std::shared_ptr<const TlsCredentials> credentials) {
  if (!credentials) return fail(Code::invalid, "no TLS credentials");
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.role == role &&
           (entry.credentials == credentials || *entry.credentials == *credentials);
  });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
    return entries_.back().context;
  }
  FL_TRY(std::shared_ptr<TlsContext> context, TlsContext::make(role, *credentials));
  if (entries_.size() >= kContextsKept) entries_.erase(entries_.begin());
  entries_.push_back({role, std::move(credentials), context});
  return context;
}

}  // namespace fairlead::runtime
