// X.509 certificates, ECDSA P-256 keys and signing requests as values.
//
// Pure: the time is a parameter, serial numbers come from the randomness passed in. (Keys and
// signature nonces are drawn inside OpenSSL, whose generator is the one to trust with them.) No
// file is touched here; see authority.h. OpenSSL's types stay behind this header.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity/digest.h"
#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

struct evp_pkey_st;
struct x509_st;
struct X509_req_st;

namespace fairlead::identity {

enum class Purpose { server, client };

struct Subject {
  std::string common_name;
  std::vector<std::string> organizations;  // a client certificate's groups
  bool operator==(const Subject&) const = default;
};

struct Names {
  std::vector<std::string> dns;
  std::vector<Ip> ips;
  bool operator==(const Names&) const = default;
};

struct Validity {
  WallTime not_before;
  WallTime not_after;
  bool operator==(const Validity&) const = default;
};

// A parsed certificate. Cheap to copy (shared, immutable).
class Certificate {
 public:
  // The first certificate in the text; what follows is ignored. Fails with invalid.
  static Result<Certificate> parse_pem(std::string_view text);
  // Every certificate in the text, at most 256; fails if there is none or one is malformed.
  static Result<std::vector<Certificate>> parse_bundle(std::string_view text);

  const Subject& subject() const { return facts_->subject; }
  const Names& names() const { return facts_->names; }
  const Validity& validity() const { return facts_->validity; }
  bool is_authority() const { return facts_->authority; }
  // Without an extended key usage a certificate is good for everything, as RFC 5280 has it.
  bool allows(Purpose purpose) const;
  bool covers(WallTime now) const;
  const std::string& pem() const { return facts_->pem; }
  const std::string& serial() const { return facts_->serial; }            // hexadecimal
  const std::string& fingerprint() const { return facts_->fingerprint; }  // SHA-256 of the DER, hex
  // "sha256:<hex>" of the public key (SubjectPublicKeyInfo): what join tokens pin and registrations
  // remember. The same for a renewed certificate with the same key.
  const std::string& key_pin() const { return facts_->key_pin; }

  x509_st* native() const { return facts_->x509.get(); }

 private:
  struct Facts {
    std::shared_ptr<x509_st> x509;
    Subject subject;
    Names names;
    Validity validity;
    bool authority = false;
    bool server_auth = false;
    bool client_auth = false;
    std::string pem, serial, fingerprint, key_pin;
  };
  friend struct CertificateReader;
  std::shared_ptr<const Facts> facts_;
};

class PrivateKey {
 public:
  static Result<PrivateKey> generate();  // ECDSA P-256
  static Result<PrivateKey> parse_pem(std::string_view text);
  Result<std::string> pem() const;  // PKCS #8, not encrypted: write it with mode 0600 or not at all
  bool matches(const Certificate& certificate) const;
  evp_pkey_st* native() const { return key_.get(); }

 private:
  friend struct CertificateReader;
  std::shared_ptr<evp_pkey_st> key_;
};

struct KeyPair {
  Certificate certificate;
  PrivateKey key;
};

// A PKCS #10 request. parse_pem checks the request's own signature: its sender holds the key.
class SigningRequest {
 public:
  static Result<SigningRequest> make(const PrivateKey& key, const Subject& subject,
                                     const Names& names = {});
  static Result<SigningRequest> parse_pem(std::string_view text);
  const std::string& pem() const { return pem_; }
  const Subject& subject() const { return subject_; }
  const std::string& key_pin() const { return key_pin_; }
  X509_req_st* native() const { return request_.get(); }

 private:
  static Result<SigningRequest> read(std::shared_ptr<X509_req_st> request);
  std::shared_ptr<X509_req_st> request_;
  std::string pem_, key_pin_;
  Subject subject_;
};

// What an issued certificate says. Nothing of a signing request but its key enters a certificate.
struct CertificateSpec {
  Subject subject;
  Names names;
  std::vector<Purpose> purposes;
  Validity validity;
};

// A self-signed authority: may sign leaves, no further authorities.
Result<KeyPair> make_authority(const std::string& common_name, Validity validity,
                               const Random& random);
// The same for a key that exists: a lost certificate made anew keeps what it signed valid.
Result<KeyPair> make_authority(const std::string& common_name, Validity validity, PrivateKey key,
                               const Random& random);
// A new key and its certificate. Never outlives the authority: not_after is cut to the authority's.
Result<KeyPair> issue(const KeyPair& authority, const CertificateSpec& spec, const Random& random);
// A certificate for the key of a request.
Result<Certificate> sign(const KeyPair& authority, const SigningRequest& request,
                         const CertificateSpec& spec, const Random& random);

// A set of authorities that may vouch for peers. Made once, used for every new certificate.
class TrustStore {
 public:
  TrustStore() = default;  // trusts nobody
  static Result<TrustStore> parse_pem(std::string_view bundle);
  explicit TrustStore(std::vector<Certificate> authorities)
      : authorities_(std::move(authorities)) {}

  const std::vector<Certificate>& authorities() const { return authorities_; }
  bool empty() const { return authorities_.empty(); }
  // Whether `leaf` chains to an authority here, through `intermediates` if given, all valid at
  // `now`, and may be used for `purpose`. Fails with unauthorized and the reason.
  Result<> verify(const Certificate& leaf, Purpose purpose, WallTime now,
                  std::span<const Certificate> intermediates = {}) const;

 private:
  std::vector<Certificate> authorities_;
};

// At two thirds of its life a certificate is to be replaced.
bool needs_renewal(const Validity& validity, WallTime now);
inline bool needs_renewal(const Certificate& certificate, WallTime now) {
  return needs_renewal(certificate.validity(), now);
}
// The moment at which needs_renewal() becomes true.
WallTime renewal_time(const Validity& validity);

}  // namespace fairlead::identity
