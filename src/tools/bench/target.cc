#include "tools/bench/target.h"

#include <utility>

#include "api/client/server_url.h"
#include "api/identity/kubeconfig_file.h"

namespace fairlead::bench {

Result<Target> load_target(runtime::Files& files, const std::string& path) {
  const auto read = [&files](const std::string& file) { return files.read(file); };
  Target target;
  Result<identity::ClientConfig> config = identity::read_kubeconfig(path, read);
  if (!config) return fail(std::move(config).error().context(path));
  target.config = std::move(*config);
  FL_TRY(client::ServerUrl url, client::parse_server_url(target.config.server));
  target.tls = url.tls;
  target.endpoint = std::move(url.endpoint);
  target.authority = std::move(url.authority);
  target.base_path = std::move(url.path);
  std::string token = target.config.token;
  if (!target.config.token_file.empty()) {
    FL_TRY(token, files.read(target.config.token_file));
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  }
  if (!token.empty()) target.authorization = "Bearer " + token;
  return target;
}

std::shared_ptr<const runtime::TlsCredentials> Target::credentials(std::string alpn) const {
  if (!tls) return nullptr;
  return std::make_shared<const runtime::TlsCredentials>(runtime::TlsCredentials{
      .certificate_chain = config.client_certificate,
      .private_key = config.client_key,
      .trusted_ca = config.ca,
      .server_name = config.tls_server_name.empty() ? endpoint.host : config.tls_server_name,
      .alpn = {std::move(alpn)},
      .skip_verify = config.insecure_skip_tls_verify});
}

}  // namespace fairlead::bench
