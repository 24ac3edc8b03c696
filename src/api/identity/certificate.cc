// Reading certificates, keys and requests, and judging them. Making them is in issue.cc.
#include "api/identity/certificate.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <chrono>
#include <utility>

#include "api/identity/openssl_support.h"
#include "foundation/base/encoding.h"

namespace fairlead::identity {
namespace {

using namespace openssl;

constexpr std::size_t kMaxPemBytes = 1 << 20;
constexpr std::size_t kMaxBundle = 256;

Result<std::string> pem_of(X509* x509) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || !PEM_write_bio_X509(bio.get(), x509))
    return fail(last_error(Code::internal, "encode certificate"));
  return content(bio.get());
}

std::string serial_of(const X509* x509) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(x509);
  return encode_hex(std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)),
                                     static_cast<std::size_t>(ASN1_STRING_length(serial))));
}

Result<std::string> fingerprint_of(const X509* x509) {
  Digest digest;
  unsigned length = 0;
  if (!X509_digest(x509, EVP_sha256(), digest.data(), &length) || length != digest.size())
    return fail(last_error(Code::invalid, "certificate"));
  return encode_hex(as_text(digest));
}

// The passphrase callback of someone who has none: an encrypted key fails instead of asking a
// terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

Result<Certificate> CertificateReader::certificate(X509Ptr x509) {
  auto facts = std::make_shared<Certificate::Facts>();
  X509* raw = x509.get();
  facts->subject = read_subject(X509_get_subject_name(raw));
  GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(raw, NID_subject_alt_name, nullptr, nullptr)));
  facts->names = read_names(names.get());
  FL_TRY(facts->validity.not_before, read_time(X509_get0_notBefore(raw)));
  FL_TRY(facts->validity.not_after, read_time(X509_get0_notAfter(raw)));
  facts->authority = X509_check_ca(raw) > 0;
  // X509_get_extension_flags fills the cache that X509_check_ca filled already; XKU is all ones
  // when the extension is absent.
  const std::uint32_t usage = X509_get_extended_key_usage(raw);
  facts->server_auth = usage & (XKU_SSL_SERVER | XKU_ANYEKU);
  facts->client_auth = usage & (XKU_SSL_CLIENT | XKU_ANYEKU);
  FL_TRY(facts->pem, pem_of(raw));
  facts->serial = serial_of(raw);
  FL_TRY(facts->fingerprint, fingerprint_of(raw));
  FL_TRY(facts->key_pin, key_pin_of(X509_get0_pubkey(raw)));
  facts->x509 = std::shared_ptr<X509>(std::move(x509));
  ERR_clear_error();
  Certificate certificate;
  certificate.facts_ = std::move(facts);
  return certificate;
}

PrivateKey CertificateReader::key(KeyPtr key) {
  PrivateKey result;
  result.key_ = std::shared_ptr<EVP_PKEY>(std::move(key));
  return result;
}

Result<Certificate> Certificate::parse_pem(std::string_view text) {
  if (text.size() > kMaxPemBytes) return fail(Code::invalid, "certificate: too long");
  BioPtr bio = read_only(text);
  X509Ptr x509(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  if (!x509) return fail(last_error(Code::invalid, "certificate"));
  return CertificateReader::certificate(std::move(x509));
}

Result<std::vector<Certificate>> Certificate::parse_bundle(std::string_view text) {
  if (text.size() > kMaxPemBytes) return fail(Code::invalid, "certificates: too long");
  BioPtr bio = read_only(text);
  std::vector<Certificate> bundle;
  while (bundle.size() < kMaxBundle) {
    X509Ptr x509(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
    if (!x509) {
      const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (!at_end) return fail(last_error(Code::invalid, "certificates"));
      ERR_clear_error();
      if (bundle.empty()) return fail(Code::invalid, "certificates: there is none");
      return bundle;
    }
    FL_TRY(Certificate certificate, CertificateReader::certificate(std::move(x509)));
    bundle.push_back(std::move(certificate));
  }
  return fail(Code::invalid, "certificates: too many");
}

bool Certificate::allows(Purpose purpose) const {
  return purpose == Purpose::server ? facts_->server_auth : facts_->client_auth;
}

bool Certificate::covers(WallTime now) const {
  // The last instant itself is outside, as OpenSSL's verification has it.
  return facts_->validity.not_before <= now && now < facts_->validity.not_after;
}

Result<PrivateKey> PrivateKey::generate() {
  KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (!key) return fail(last_error(Code::internal, "generate key"));
  return CertificateReader::key(std::move(key));
}

Result<PrivateKey> PrivateKey::parse_pem(std::string_view text) {
  if (text.size() > kMaxPemBytes) return fail(Code::invalid, "private key: too long");
  BioPtr bio = read_only(text);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return fail(last_error(Code::invalid, "private key"));
  return CertificateReader::key(std::move(key));
}

Result<std::string> PrivateKey::pem() const {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio ||
      !PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr))
    return fail(last_error(Code::internal, "encode private key"));
  return content(bio.get());
}

bool PrivateKey::matches(const Certificate& certificate) const {
  EVP_PKEY* other = X509_get0_pubkey(certificate.native());
  const bool same = other && EVP_PKEY_eq(key_.get(), other) == 1;
  ERR_clear_error();
  return same;
}

Result<SigningRequest> SigningRequest::parse_pem(std::string_view text) {
  if (text.size() > kMaxPemBytes) return fail(Code::invalid, "signing request: too long");
  BioPtr bio = read_only(text);
  RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, no_passphrase, nullptr));
  if (!request) return fail(last_error(Code::invalid, "signing request"));
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (!key || X509_REQ_verify(request.get(), key) != 1)
    return fail(last_error(Code::invalid, "signing request: its signature is wrong"));
  return read(std::shared_ptr<X509_REQ>(std::move(request)));
}

Result<SigningRequest> SigningRequest::read(std::shared_ptr<X509_req_st> request) {
  SigningRequest result;
  result.request_ = std::move(request);
  X509_REQ* raw = result.request_.get();
  result.subject_ = read_subject(X509_REQ_get_subject_name(raw));
  FL_TRY(result.key_pin_, key_pin_of(X509_REQ_get0_pubkey(raw)));
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || !PEM_write_bio_X509_REQ(bio.get(), raw))
    return fail(last_error(Code::internal, "encode signing request"));
  result.pem_ = content(bio.get());
  return result;
}

Result<TrustStore> TrustStore::parse_pem(std::string_view bundle) {
  FL_TRY(std::vector<Certificate> authorities, Certificate::parse_bundle(bundle));
  return TrustStore(std::move(authorities));
}

Result<> TrustStore::verify(const Certificate& leaf, Purpose purpose, WallTime now,
                            std::span<const Certificate> intermediates) const {
  if (authorities_.empty()) return fail(Code::unauthorized, "certificate: nobody is trusted");
  StorePtr store(X509_STORE_new());
  CertificatesPtr chain(sk_X509_new_null());
  StoreContextPtr context(X509_STORE_CTX_new());
  if (!store || !chain || !context) return fail(last_error(Code::internal, "verify certificate"));
  for (const Certificate& authority : authorities_)
    X509_STORE_add_cert(store.get(), authority.native());
  for (const Certificate& intermediate : intermediates)
    sk_X509_push(chain.get(), intermediate.native());
  if (!X509_STORE_CTX_init(context.get(), store.get(), leaf.native(), chain.get()))
    return fail(last_error(Code::internal, "verify certificate"));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, static_cast<std::time_t>(seconds));
  // An authority on the list is trusted even if someone above it signed it, as Kubernetes has it;
  // and no chain may lean on SHA-1 or on RSA keys below 2048 bits.
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_auth_level(parameters, 2);
  X509_VERIFY_PARAM_set_purpose(
      parameters, purpose == Purpose::server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  const int verified = X509_verify_cert(context.get());
  ERR_clear_error();
  if (verified == 1) return {};
  return fail(Code::unauthorized,
              std::string("certificate: ") +
                  X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())));
}

WallTime renewal_time(const Validity& validity) {
  // Halved first: the whole span of WallTime would overflow a Duration.
  const Duration half =
      validity.not_after.time_since_epoch() / 2 - validity.not_before.time_since_epoch() / 2;
  return validity.not_before + half / 3 * 4;
}

bool needs_renewal(const Validity& validity, WallTime now) { return now >= renewal_time(validity); }

}  // namespace fairlead::identity
