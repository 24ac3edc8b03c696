#include "sim/world/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace fairlead::sim {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })>;
using X509Ptr = std::unique_ptr<X509, decltype([](X509* x509) { X509_free(x509); })>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })>;
using StorePtr = std::unique_ptr<X509_STORE, decltype([](X509_STORE* s) { X509_STORE_free(s); })>;
using StoreContextPtr =
    std::unique_ptr<X509_STORE_CTX, decltype([](X509_STORE_CTX* c) { X509_STORE_CTX_free(c); })>;

// A verdict on everything but time, and when it holds.
struct Verdict {
  std::string refusal;  // empty: good
  WallTime from;
  WallTime until;
};

constexpr std::size_t kVerdictsKept = 4'096;

std::vector<X509Ptr> read_certificates(const std::string& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<X509Ptr> certificates;
  while (X509* x509 = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    certificates.emplace_back(x509);
  ERR_clear_error();
  return certificates;
}

WallTime wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  // Years beyond what nanoseconds can count are as good as for ever.
  if (parts.tm_year > 360) return WallTime::max();
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

bool is_address(const std::string& name) {
  in6_addr scratch;
  return ::inet_pton(AF_INET, name.c_str(), &scratch) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &scratch) == 1;
}

Verdict judge(const std::string& chain, const std::string& anchors, CertificateUse use,
              const std::string& name) {
  Verdict verdict{.refusal = {}, .from = WallTime::min(), .until = WallTime::max()};
  const std::vector<X509Ptr> shown = read_certificates(chain);
  if (shown.empty()) return {"no certificate", {}, {}};
  const StorePtr store(X509_STORE_new());
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
  for (const X509Ptr& anchor : read_certificates(anchors))
    X509_STORE_add_cert(store.get(), anchor.get());
  STACK_OF(X509)* between = sk_X509_new_null();
  for (std::size_t i = 1; i < shown.size(); ++i) sk_X509_push(between, shown[i].get());
  const StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), shown.front().get(), between);
  X509_STORE_CTX_set_default(context.get(),
                             use == CertificateUse::server ? "ssl_server" : "ssl_client");
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str());
  } else if (!name.empty()) {
    X509_VERIFY_PARAM_set1_host(param, name.data(), name.size());
  }
  if (X509_verify_cert(context.get()) != 1) {
    verdict.refusal = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  } else {
    STACK_OF(X509)* path = X509_STORE_CTX_get0_chain(context.get());
    for (int i = 0; i < sk_X509_num(path); ++i) {
      const X509* x509 = sk_X509_value(path, i);
      verdict.from = std::max(verdict.from, wall_time(X509_get0_notBefore(x509)));
      verdict.until = std::min(verdict.until, wall_time(X509_get0_notAfter(x509)));
    }
  }
  sk_X509_free(between);
  ERR_clear_error();
  return verdict;
}

}  // namespace

Result<> check_certificate(const std::string& chain, const std::string& anchors, CertificateUse use,
                           const std::string& name, WallTime now) {
  // A pure function of its inputs, so what it remembers cannot make two runs differ.
  static std::map<std::tuple<std::string, std::string, CertificateUse, std::string>, Verdict>
      verdicts;
  const auto key = std::tuple(chain, anchors, use, name);
  auto found = verdicts.find(key);
  if (found == verdicts.end()) {
    if (verdicts.size() >= kVerdictsKept) verdicts.clear();
    found = verdicts.emplace(key, judge(chain, anchors, use, name)).first;
  }
  const Verdict& verdict = found->second;
  if (!verdict.refusal.empty()) return fail(Code::unauthorized, verdict.refusal);
  if (now < verdict.from) return fail(Code::unauthorized, "certificate is not yet valid");
  if (now > verdict.until) return fail(Code::unauthorized, "certificate has expired");
  return {};
}

Result<> check_own_credentials(const runtime::TlsCredentials& credentials) {
  const std::vector<X509Ptr> chain = read_certificates(credentials.certificate_chain);
  if (chain.empty()) return fail(Code::invalid, "certificate: no PEM");
  const std::string& pem = credentials.private_key;
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  const bool matches = key && X509_check_private_key(chain.front().get(), key.get()) == 1;
  ERR_clear_error();
  if (!matches) return fail(Code::invalid, "private key does not belong to the certificate");
  return {};
}

std::string leaf_certificate(const std::string& chain) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  const std::size_t begin = chain.find("-----BEGIN CERTIFICATE-----");
  const std::size_t end = chain.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return chain.substr(begin, end + kEnd.size() - begin) + "\n";
}

}  // namespace fairlead::sim
