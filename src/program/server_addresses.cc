#include "program/server_addresses.h"

#include <utility>

#include "foundation/runtime/network_namespace.h"

namespace fairlead::program {

std::string url_of(const runtime::Endpoint& local, const ServerConfig& config) {
  if (!config.flags.advertise.empty()) return "https://" + config.flags.advertise.front();
  runtime::Endpoint shown = local;
  if (shown.host == "0.0.0.0") shown.host = "127.0.0.1";
  if (shown.host == "::") shown.host = "::1";
  return "https://" + shown.to_string();
}

std::vector<std::string> urls_for_nodes(const std::vector<runtime::Endpoint>& local,
                                        const ServerConfig& config) {
  std::vector<std::string> urls;
  for (const std::string& text : config.flags.advertise) urls.push_back("https://" + text);
  if (!urls.empty()) return urls;
  for (const ElsewhereEndpoint& elsewhere : config.listen_elsewhere)
    urls.push_back("https://" + elsewhere.endpoint.to_string());
  for (const runtime::Endpoint& at : local)
    if (at.kind == runtime::Endpoint::Kind::tcp && at.host != "0.0.0.0" && at.host != "::")
      urls.push_back("https://" + at.to_string());
  return urls;
}

Result<std::unique_ptr<runtime::Listener>> listen_elsewhere(
    runtime::Runtime& runtime, const ElsewhereEndpoint& at,
    std::shared_ptr<const runtime::TlsSource> tls) {
  FL_TRY(const auto visit, runtime::NetworkNamespaceVisit::enter(at.netns));
  return runtime.listen(at.endpoint, std::move(tls));
}

}  // namespace fairlead::program
