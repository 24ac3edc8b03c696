#include "program/server_identity.h"

#include "api/control/loop.h"
#include "api/identity/kubeconfig.h"
#include "api/identity/token.h"
#include "foundation/base/log.h"

namespace fairlead::program {
namespace {

constexpr Duration kMaintainInterval = 60s;
constexpr int kSecretMode = 0600;

bool is_wildcard(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::" || host == "[::]";
}

// What clients may call this server: the addresses it listens on, is advertised as, and --tls-name.
identity::Names server_names(const ServerConfig& config) {
  identity::Names names;
  const auto add = [&](const std::string& host) {
    if (is_wildcard(host)) return;
    if (Result<Ip> ip = Ip::parse(host)) {
      names.ips.push_back(*ip);
    } else {
      names.dns.push_back(host);
    }
  };
  for (const runtime::Endpoint& endpoint : config.listen)
    if (endpoint.kind == runtime::Endpoint::Kind::tcp) add(endpoint.host);
  for (const ElsewhereEndpoint& elsewhere : config.listen_elsewhere) add(elsewhere.endpoint.host);
  for (const std::string& text : config.flags.advertise)
    if (Result<runtime::Endpoint> endpoint = runtime::Endpoint::parse(text)) add(endpoint->host);
  for (const std::string& name : config.flags.tls_names) add(name);
  return names;
}

}  // namespace

ServerIdentity::ServerIdentity(runtime::Runtime& runtime, std::string folder)
    : runtime_(runtime), folder_(std::move(folder)) {}

Result<std::unique_ptr<ServerIdentity>> ServerIdentity::open(
    runtime::Runtime& runtime, const ServerConfig& config,
    identity::X509Authenticator::NodeRegistered node_registered, FurtherAuthenticators further) {
  std::unique_ptr<ServerIdentity> self(new ServerIdentity(runtime, config.flags.data));
  FL_CHECKED(self->open_authority(config));
  FL_CHECKED(self->open_admin_token());
  FL_CHECKED(self->make_authenticator(config, std::move(node_registered), std::move(further)));
  return self;
}

Result<std::string> ServerIdentity::read_flag_file(const std::string& path, std::string_view flag) {
  if (path.empty()) return std::string();
  Result<std::string> text = runtime_.files().read(path);
  if (!text) return fail(std::move(text).error().context(flag));
  return text;
}

Result<> ServerIdentity::open_authority(const ServerConfig& config) {
  FL_TRY(std::string client_ca, read_flag_file(config.flags.client_ca_file, "--client-ca-file"));
  FL_TRY(const std::string proxy_ca, read_flag_file(config.flags.requestheader_client_ca_file,
                                                    "--requestheader-client-ca-file"));
  client_authorities_ = client_ca + "\n" + proxy_ca;
  FL_CHECKED(runtime_.files().make_directories(folder_ + "/pki", 0700));
  FL_TRY(authority_,
         identity::Authority::open(runtime_.files(),
                                   {.folder = folder_ + "/pki",
                                    .server_names = server_names(config),
                                    .extra_client_ca = client_authorities_},
                                   runtime_.wall_now(), [this] { return runtime_.random(); }));
  return {};
}

Result<> ServerIdentity::open_admin_token() {
  const std::string path = folder_ + "/admin.token";
  if (Result<std::string> text = runtime_.files().read(path)) {
    Result<std::string> token = identity::parse_single_token(*text);
    if (!token) return fail(std::move(token).error().context(path));
    admin_token_ = std::move(*token);
    return {};
  } else if (text.error().code != Code::not_found) {
    return fail(std::move(text).error());
  }
  admin_token_ = identity::make_token([this] { return runtime_.random(); });
  return runtime_.files().write_atomically(path, admin_token_ + "\n", kSecretMode);
}

Result<> ServerIdentity::make_authenticator(
    const ServerConfig& config, identity::X509Authenticator::NodeRegistered node_registered,
    FurtherAuthenticators further) {
  std::vector<std::shared_ptr<identity::Authenticator>> members;
  FL_TRY(const std::string proxy_ca, read_flag_file(config.flags.requestheader_client_ca_file,
                                                    "--requestheader-client-ca-file"));
  if (!proxy_ca.empty()) {
    identity::RequestHeaderOptions options;
    Result<identity::TrustStore> trust = identity::TrustStore::parse_pem(proxy_ca);
    if (!trust) return fail(std::move(trust).error().context("--requestheader-client-ca-file"));
    options.trust = std::move(*trust);
    options.allowed_names = config.flags.requestheader_allowed_names;
    members.push_back(std::make_shared<identity::RequestHeaderAuthenticator>(std::move(options)));
  }
  if (further.request_headers) members.push_back(std::move(further.request_headers));

  FL_TRY(const std::string client_ca,
         read_flag_file(config.flags.client_ca_file, "--client-ca-file"));
  Result<identity::TrustStore> trust =
      identity::TrustStore::parse_pem(authority_->ca_pem() + "\n" + client_ca);
  if (!trust) return fail(std::move(trust).error().context("--client-ca-file"));
  members.push_back(
      std::make_shared<identity::X509Authenticator>(std::move(*trust), std::move(node_registered)));
  if (further.certificates) members.push_back(std::move(further.certificates));

  identity::TokenTable tokens;
  FL_TRY(const std::string token_file,
         read_flag_file(config.flags.token_auth_file, "--token-auth-file"));
  if (!token_file.empty()) {
    Result<std::vector<identity::StaticToken>> entries = identity::parse_token_file(token_file);
    if (!entries) return fail(std::move(entries).error().context("--token-auth-file"));
    for (identity::StaticToken& entry : *entries)
      tokens.add(entry.token, std::make_shared<identity::User>(
                                  identity::with_authenticated_group(std::move(entry.user))));
  }
  tokens.add(admin_token_, std::make_shared<identity::User>(identity::with_authenticated_group(
                               {.name = std::string(identity::kAdminUser),
                                .groups = {std::string(identity::kMastersGroup)}})));
  auto own_tokens =
      std::make_shared<identity::TokenAuthenticator>(std::move(tokens), authority_->token_key());
  own_tokens->set_last(further.tokens == nullptr);
  members.push_back(std::move(own_tokens));
  if (further.tokens) members.push_back(std::move(further.tokens));
  authenticator_ =
      std::make_unique<identity::UnionAuthenticator>(std::move(members), config.flags.anonymous);
  return {};
}

void ServerIdentity::set_further_authorities(const std::string& pem) {
  authority_->set_extra_client_ca(client_authorities_ + "\n" + pem);
}

Result<> ServerIdentity::write_kubeconfig(const std::string& server_url) {
  const std::string text = identity::encode_kubeconfig(
      {.server = server_url, .ca = authority_->ca_pem(), .token = admin_token_}, "fairlead",
      identity::kAdminUser);
  return runtime_.files().write_atomically(folder_ + "/admin.kubeconfig", text, kSecretMode);
}

Task<void> ServerIdentity::maintain() {
  co_await control::every(runtime_, kMaintainInterval, [this] { return maintain_once(); });
}

Task<void> ServerIdentity::maintain_once() {
  const auto maintained = authority_->maintain(runtime_.wall_now());
  if (!maintained) {
    log::error("certificates could not be renewed", {{"error", maintained.error().to_string()}});
  } else if (maintained->server_renewed || maintained->server_reloaded) {
    log::info("server certificate replaced",
              {{"renewed", maintained->server_renewed}, {"reloaded", maintained->server_reloaded}});
  }
  co_return;
}

}  // namespace fairlead::program
