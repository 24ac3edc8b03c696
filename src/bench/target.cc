#include "bench/target.h"

#include <utility>

namespace fairlead::bench {
namespace {

Result<> parse_server(Target& target) {
  std::string_view text = target.config.server;
  target.tls = text.starts_with("https://");
  if (!target.tls && !text.starts_with("http://"))
    return fail(Code::invalid, "server \"" + std::string(text) + "\": must begin with https://");
  text.remove_prefix(target.tls ? 8 : 7);
  const std::size_t slash = text.find('/');
  target.authority = text.substr(0, slash);
  if (slash != std::string_view::npos) target.base_path = text.substr(slash);
  while (target.base_path.ends_with('/')) target.base_path.pop_back();
  const std::size_t bracket = target.authority.rfind(']');
  const std::size_t host_end = bracket == std::string::npos ? 0 : bracket;
  std::string address = target.authority;
  if (address.find(':', host_end) == std::string::npos) address += target.tls ? ":443" : ":80";
  FL_TRY(target.endpoint, runtime::Endpoint::parse(address));
  return {};
}

}  // namespace

Result<Target> load_target(runtime::Files& files, const std::string& path) {
  FL_TRY(const std::string text, files.read(path));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const auto read = [&files](const std::string& file) { return files.read(file); };
  Target target;
  Result<identity::Kubeconfig> parsed = identity::parse_kubeconfig(text);
  if (!parsed) return fail(std::move(parsed).error().context(path));
  Result<identity::ClientConfig> config = identity::resolve(*parsed, "", folder, read);
  if (!config) return fail(std::move(config).error().context(path));
  target.config = std::move(*config);
  FL_CHECKED(parse_server(target));
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
