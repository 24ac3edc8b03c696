#include "features/vip/keys/peer_certificate.h"

#include <algorithm>
#include <utility>

#include "foundation/runtime/tls_context.h"

namespace fairlead::vip {
namespace {

bool has_name(const identity::Certificate& certificate, const std::string& node) {
  const std::vector<std::string>& names = certificate.names().dns;
  return std::ranges::find(names, node) != names.end();
}

std::string names_of(const identity::Certificate& certificate) {
  std::string all;
  for (const std::string& name : certificate.names().dns) all += (all.empty() ? "" : ", ") + name;
  return all.empty() ? "no DNS name" : all;
}

Result<std::string> read_file(runtime::Files& files, const char* field, const std::string& path) {
  Result<std::string> text = files.read(path);
  if (!text)
    return fail(std::move(text).error().context(std::string("election.tls.") + field + " " + path));
  return text;
}

}  // namespace

Result<runtime::TlsCredentials> read_tls(runtime::Files& files, const TlsFiles& tls,
                                         const std::string& node) {
  runtime::TlsCredentials credentials;
  FL_TRY(credentials.trusted_ca, read_file(files, "ca", tls.ca));
  FL_TRY(credentials.certificate_chain, read_file(files, "certificate", tls.certificate));
  FL_TRY(credentials.private_key, read_file(files, "key", tls.key));
  if (Result<identity::TrustStore> ca = identity::TrustStore::parse_pem(credentials.trusted_ca);
      !ca)
    return fail(std::move(ca).error().context("election.tls.ca " + tls.ca));
  Result<identity::Certificate> own =
      identity::Certificate::parse_pem(credentials.certificate_chain);
  const std::string where = "election.tls.certificate " + tls.certificate;
  if (!own) return fail(std::move(own).error().context(where));
  if (!has_name(*own, node))
    return fail(Code::invalid, where + ": must have this node's name, " + node +
                                   ", among its DNS names; it has " + names_of(*own));
  // The same as with the first connection, but with the file's name.
  for (const auto role : {runtime::TlsContext::Role::server, runtime::TlsContext::Role::client})
    if (auto context = runtime::TlsContext::make(role, credentials); !context)
      return fail(std::move(context).error().context("election.tls.key " + tls.key));
  return credentials;
}

Result<> check_certificate(const runtime::PeerInfo& peer, const std::string& node,
                           identity::Purpose purpose, const std::string& ca, WallTime now) {
  if (peer.certificate.empty()) return fail(Code::unauthorized, "it shows no certificate");
  FL_TRY(const identity::Certificate shown, identity::Certificate::parse_pem(peer.certificate));
  FL_TRY(const identity::TrustStore trust, identity::TrustStore::parse_pem(ca));
  // The handshake has the verdict on the whole chain; this one tells the reason.
  Result<> verdict = trust.verify(shown, purpose, now);
  if (!peer.certificate_trusted && verdict)
    verdict = fail(Code::unauthorized, "the certificate does not lead to election.tls.ca");
  if (!peer.certificate_trusted) return verdict;
  if (!has_name(shown, node))
    return fail(Code::unauthorized,
                "its certificate is not that of " + node + ": it has " + names_of(shown));
  return {};
}

}  // namespace fairlead::vip
