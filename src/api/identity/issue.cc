// Making certificates and signing requests.
#include <openssl/bn.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "api/identity/certificate.h"
#include "api/identity/openssl_support.h"

namespace fairlead::identity {
namespace {

using namespace openssl;

// 127 random bits with the highest set: positive, never short, as RFC 5280 wants serials.
Result<> set_serial(X509* x509, const Random& random) {
  std::string bytes = random_bytes(random, 16);
  bytes[0] = static_cast<char>((static_cast<unsigned char>(bytes[0]) & 0x7f) | 0x40);
  Owned<BIGNUM, BN_free> number(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), 16, nullptr));
  if (!number || !BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x509)))
    return fail(last_error(Code::internal, "certificate serial"));
  return {};
}

Result<> add_extension(X509* x509, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  if (!extension || !X509_add_ext(x509, extension.get(), -1))
    return fail(last_error(Code::internal, "certificate extension"));
  return {};
}

Result<> add_names(X509* x509, const Names& names) {
  FL_TRY(GeneralNamesPtr general, make_general_names(names));
  if (general && X509_add1_ext_i2d(x509, NID_subject_alt_name, general.get(), 0, 0) != 1)
    return fail(last_error(Code::internal, "certificate names"));
  return {};
}

// Version, serial, subject, key and times: what every certificate has.
Result<X509Ptr> begin_certificate(const Subject& subject, const Validity& validity, EVP_PKEY* key,
                                  const Random& random) {
  X509Ptr x509(X509_new());
  if (!x509 || !X509_set_version(x509.get(), X509_VERSION_3))
    return fail(last_error(Code::internal, "certificate"));
  FL_CHECKED(set_serial(x509.get(), random));
  FL_TRY(NamePtr name, make_name(subject));
  if (!X509_set_subject_name(x509.get(), name.get()) || !X509_set_pubkey(x509.get(), key))
    return fail(last_error(Code::internal, "certificate"));
  FL_CHECKED(set_time(X509_getm_notBefore(x509.get()), validity.not_before));
  FL_CHECKED(set_time(X509_getm_notAfter(x509.get()), validity.not_after));
  return x509;
}

Result<Certificate> finish_certificate(X509Ptr x509, EVP_PKEY* signer) {
  if (!X509_sign(x509.get(), signer, EVP_sha256()))
    return fail(last_error(Code::internal, "sign certificate"));
  // Read back from its encoding: what OpenSSL derived while building would otherwise stay cached.
  unsigned char* der = nullptr;
  const int length = i2d_X509(x509.get(), &der);
  if (length <= 0) return fail(last_error(Code::internal, "encode certificate"));
  const unsigned char* position = der;
  X509Ptr read(d2i_X509(nullptr, &position, length));
  OPENSSL_free(der);
  if (!read) return fail(last_error(Code::internal, "encode certificate"));
  return CertificateReader::certificate(std::move(read));
}

std::string usage_text(const std::vector<Purpose>& purposes) {
  std::string text;
  for (const Purpose purpose : purposes) {
    if (!text.empty()) text += ",";
    text += purpose == Purpose::server ? "serverAuth" : "clientAuth";
  }
  return text;
}

Result<Certificate> issue_for_key(const KeyPair& authority, EVP_PKEY* key,
                                  const CertificateSpec& spec, const Random& random) {
  if (spec.purposes.empty()) return fail(Code::invalid, "certificate: no purpose given");
  Validity validity = spec.validity;
  validity.not_after = std::min(validity.not_after, authority.certificate.validity().not_after);
  if (validity.not_after <= validity.not_before)
    return fail(Code::invalid, "certificate: would never be valid");
  FL_TRY(X509Ptr x509, begin_certificate(spec.subject, validity, key, random));
  X509* issuer = authority.certificate.native();
  if (!X509_set_issuer_name(x509.get(), X509_get_subject_name(issuer)))
    return fail(last_error(Code::internal, "certificate issuer"));
  FL_CHECKED(add_extension(x509.get(), issuer, NID_basic_constraints, "critical,CA:FALSE"));
  FL_CHECKED(add_extension(x509.get(), issuer, NID_key_usage, "critical,digitalSignature"));
  FL_CHECKED(
      add_extension(x509.get(), issuer, NID_ext_key_usage, usage_text(spec.purposes).c_str()));
  // An authority from elsewhere may lack the identifier; chains are then built by name alone.
  if (X509_get0_subject_key_id(issuer)) {
    FL_CHECKED(add_extension(x509.get(), issuer, NID_authority_key_identifier, "keyid:always"));
  }
  FL_CHECKED(add_names(x509.get(), spec.names));
  return finish_certificate(std::move(x509), authority.key.native());
}

}  // namespace

Result<KeyPair> make_authority(const std::string& common_name, Validity validity,
                               const Random& random) {
  FL_TRY(PrivateKey key, PrivateKey::generate());
  return make_authority(common_name, validity, std::move(key), random);
}

Result<KeyPair> make_authority(const std::string& common_name, Validity validity, PrivateKey key,
                               const Random& random) {
  FL_TRY(X509Ptr x509, begin_certificate({.common_name = common_name, .organizations = {}},
                                         validity, key.native(), random));
  if (!X509_set_issuer_name(x509.get(), X509_get_subject_name(x509.get())))
    return fail(last_error(Code::internal, "certificate issuer"));
  X509* self = x509.get();
  FL_CHECKED(add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  FL_CHECKED(add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign"));
  FL_CHECKED(add_extension(self, self, NID_subject_key_identifier, "hash"));
  FL_TRY(Certificate certificate, finish_certificate(std::move(x509), key.native()));
  return KeyPair{std::move(certificate), std::move(key)};
}

Result<KeyPair> issue(const KeyPair& authority, const CertificateSpec& spec, const Random& random) {
  FL_TRY(PrivateKey key, PrivateKey::generate());
  FL_TRY(Certificate certificate, issue_for_key(authority, key.native(), spec, random));
  return KeyPair{std::move(certificate), std::move(key)};
}

Result<Certificate> sign(const KeyPair& authority, const SigningRequest& request,
                         const CertificateSpec& spec, const Random& random) {
  return issue_for_key(authority, X509_REQ_get0_pubkey(request.native()), spec, random);
}

Result<SigningRequest> SigningRequest::make(const PrivateKey& key, const Subject& subject,
                                            const Names& names) {
  RequestPtr request(X509_REQ_new());
  FL_TRY(NamePtr name, make_name(subject));
  if (!request || !X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) ||
      !X509_REQ_set_subject_name(request.get(), name.get()) ||
      !X509_REQ_set_pubkey(request.get(), key.native()))
    return fail(last_error(Code::internal, "signing request"));
  FL_TRY(GeneralNamesPtr general, make_general_names(names));
  if (general) {
    STACK_OF(X509_EXTENSION)* raw = nullptr;
    const int added = X509V3_add1_i2d(&raw, NID_subject_alt_name, general.get(), 0, 0);
    ExtensionsPtr extensions(raw);
    if (added != 1 || !X509_REQ_add_extensions(request.get(), extensions.get()))
      return fail(last_error(Code::internal, "signing request"));
  }
  if (!X509_REQ_sign(request.get(), key.native(), EVP_sha256()))
    return fail(last_error(Code::internal, "signing request"));
  return read(std::shared_ptr<X509_REQ>(std::move(request)));
}

}  // namespace fairlead::identity
