// The making of test certificates; compiled into the test program only.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "foundation/base/check.h"
#include "foundation/runtime/test_certificates.h"

namespace fairlead::runtime {
namespace {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using X509Ptr = std::unique_ptr<X509, decltype([](X509* x509) { X509_free(x509); })>;
using BioPtr = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

TestIdentity to_pem(X509* certificate, EVP_PKEY* key) {
  const BioPtr certificate_text(BIO_new(BIO_s_mem()));
  const BioPtr key_text(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509(certificate_text.get(), certificate) == 1);
  CHECK(PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  CHECK(extension);
  CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

X509Ptr start_certificate(EVP_PKEY* key, std::string_view name, long from, long until) {
  static long serial = 1;
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(name.size()), -1, 0);
  return certificate;
}

}  // namespace

TestIdentity make_test_ca(std::string_view name) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate = start_certificate(key.get(), name, -60, 7200);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  add_extension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign");
  CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  return to_pem(certificate.get(), key.get());
}

TestIdentity make_test_identity(const TestIdentity& ca, std::string_view name,
                                std::string_view alternative_names, long valid_seconds) {
  const BioPtr ca_certificate_text(
      BIO_new_mem_buf(ca.certificate.data(), static_cast<int>(ca.certificate.size())));
  const BioPtr ca_key_text(
      BIO_new_mem_buf(ca.private_key.data(), static_cast<int>(ca.private_key.size())));
  const X509Ptr issuer(PEM_read_bio_X509(ca_certificate_text.get(), nullptr, nullptr, nullptr));
  const KeyPtr issuer_key(PEM_read_bio_PrivateKey(ca_key_text.get(), nullptr, nullptr, nullptr));
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate = start_certificate(key.get(), name, -3600, valid_seconds);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  if (!alternative_names.empty())
    add_extension(certificate.get(), issuer.get(), NID_subject_alt_name,
                  std::string(alternative_names));
  add_extension(certificate.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  CHECK(X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) > 0);
  return to_pem(certificate.get(), key.get());
}

}  // namespace fairlead::runtime
