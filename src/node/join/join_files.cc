#include "node/join/join_files.h"

#include <sstream>

#include "api/identity/kubeconfig.h"

namespace fairlead::join {
namespace {

constexpr int kSecretMode = 0600;
constexpr int kPublicMode = 0644;

}  // namespace

Result<std::optional<std::string>> JoinFiles::read_file(std::string_view name) {
  Result<std::string> text = files_.read(path(name));
  if (text) return std::move(*text);
  if (text.error().code == Code::not_found) return std::nullopt;
  return fail(std::move(text).error());
}

Result<identity::PrivateKey> JoinFiles::key() {
  FL_TRY(const std::optional<std::string> known, read_file("node.key"));
  if (known) {
    Result<identity::PrivateKey> key = identity::PrivateKey::parse_pem(*known);
    if (!key) return fail(std::move(key).error().context(path("node.key")));
    return key;
  }
  FL_TRY(identity::PrivateKey key, identity::PrivateKey::generate());
  FL_TRY(const std::string pem, key.pem());
  FL_CHECKED(files_.write_atomically(path("node.key"), pem, kSecretMode));
  return key;
}

Result<std::optional<Membership>> JoinFiles::read(const identity::PrivateKey& key) {
  FL_TRY(const std::optional<std::string> certificate, read_file("node.crt"));
  FL_TRY(const std::optional<std::string> ca, read_file("ca.crt"));
  FL_TRY(const std::optional<std::string> servers, read_file("servers"));
  FL_TRY(const std::optional<std::string> kubeconfig, read_file("node.kubeconfig"));
  if (!certificate || !ca || !servers || !kubeconfig) return std::nullopt;
  Membership membership;
  Result<identity::Certificate> parsed = identity::Certificate::parse_pem(*certificate);
  if (!parsed) return fail(std::move(parsed).error().context(path("node.crt")));
  membership.certificate = std::move(*parsed);
  if (!key.matches(membership.certificate)) return std::nullopt;
  const identity::Subject& subject = membership.certificate.subject();
  const identity::User user{subject.common_name, {}, subject.organizations, {}};
  membership.node = identity::node_of(user);
  membership.ca = *ca;
  std::istringstream lines(*servers);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) membership.servers.push_back(line);
  return membership;
}

Result<> JoinFiles::write(const identity::JoinResponse& response, const identity::PrivateKey& key,
                          const std::vector<std::string>& servers) {
  FL_TRY(const std::string key_pem, key.pem());
  std::string lines;
  for (const std::string& server : servers) lines += server + "\n";
  const std::string kubeconfig =
      identity::encode_kubeconfig({.server = servers.front(),
                                   .ca = response.ca,
                                   .client_certificate = response.certificate,
                                   .client_key = key_pem},
                                  "fairlead", identity::node_user(response.node).name);
  FL_CHECKED(files_.write_atomically(path("ca.crt"), response.ca, kPublicMode));
  FL_CHECKED(files_.write_atomically(path("servers"), lines, kPublicMode));
  FL_CHECKED(files_.write_atomically(path("node.kubeconfig"), kubeconfig, kSecretMode));
  return files_.write_atomically(path("node.crt"), response.certificate, kPublicMode);
}

}  // namespace fairlead::join
