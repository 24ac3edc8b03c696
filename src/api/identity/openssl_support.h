// What the certificate sources share about OpenSSL: owning pointers, its errors as ours, PEM texts.
// Included by identity's own .cc files only.
#pragma once

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "api/identity/certificate.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::identity::openssl {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;

inline void free_general_names(GENERAL_NAMES* names) { GENERAL_NAMES_free(names); }
inline void free_certificates(STACK_OF(X509) * stack) { sk_X509_free(stack); }  // not its elements
inline void free_extensions(STACK_OF(X509_EXTENSION) * stack) {
  sk_X509_EXTENSION_pop_free(stack, X509_EXTENSION_free);
}

using BioPtr = Owned<BIO, BIO_free_all>;
using X509Ptr = Owned<X509, X509_free>;
using RequestPtr = Owned<X509_REQ, X509_REQ_free>;
using KeyPtr = Owned<EVP_PKEY, EVP_PKEY_free>;
using NamePtr = Owned<X509_NAME, X509_NAME_free>;
using GeneralNamesPtr = Owned<GENERAL_NAMES, free_general_names>;
using ExtensionPtr = Owned<X509_EXTENSION, X509_EXTENSION_free>;
using ExtensionsPtr = Owned<STACK_OF(X509_EXTENSION), free_extensions>;
using CertificatesPtr = Owned<STACK_OF(X509), free_certificates>;
using StorePtr = Owned<X509_STORE, X509_STORE_free>;
using StoreContextPtr = Owned<X509_STORE_CTX, X509_STORE_CTX_free>;

// The oldest error OpenSSL queued, with what was attempted; empties the queue.
Error last_error(Code code, std::string_view what);

BioPtr read_only(std::string_view text);
std::string content(BIO* bio);

Subject read_subject(const X509_NAME* name);
Result<NamePtr> make_name(const Subject& subject);
Names read_names(const GENERAL_NAMES* names);
// Null when there are no names.
Result<GeneralNamesPtr> make_general_names(const Names& names);

// Clamped to what WallTime can hold.
Result<WallTime> read_time(const ASN1_TIME* time);
Result<> set_time(ASN1_TIME* into, WallTime time);

// "sha256:<hex>" of the SubjectPublicKeyInfo.
Result<std::string> key_pin_of(EVP_PKEY* key);

}  // namespace fairlead::identity::openssl

namespace fairlead::identity {

// Builds Certificate and PrivateKey values from OpenSSL's.
struct CertificateReader {
  static Result<Certificate> certificate(openssl::X509Ptr x509);
  static PrivateKey key(openssl::KeyPtr key);
};

}  // namespace fairlead::identity
