#include "program/server_config.h"

namespace fairlead::program {

Result<StoreChoice> parse_store(const std::string& text, const std::string& data) {
  using Kind = StoreChoice::Kind;
  if (text == "sqlite") return StoreChoice{Kind::sqlite, data};
  if (text.starts_with("sqlite:") && text.size() > 7)
    return StoreChoice{Kind::sqlite, text.substr(7)};
  if (text.starts_with("etcd:") && text.size() > 5) return StoreChoice{Kind::etcd, text.substr(5)};
  if (text == "memory") return StoreChoice{Kind::memory, ""};
  return fail(Code::invalid,
              "--store " + text + ": must be sqlite, sqlite:DIR, etcd:URL[,URL…] or memory");
}

Result<ServerConfig> check_flags(ServerFlags flags) {
  ServerConfig config;
  if (flags.data.empty()) return fail(Code::invalid, "--data: a folder must be given");
  for (const std::string& text : flags.listen) {
    Result<runtime::Endpoint> endpoint = runtime::Endpoint::parse(text);
    if (!endpoint) return fail(std::move(endpoint).error().context("--listen " + text));
    config.listen.push_back(std::move(*endpoint));
  }
  for (const std::string& text : flags.listen_netns) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Code::invalid, "--listen-netns " + text + ": must look like NETNS=10.0.0.1:6443");
    Result<runtime::Endpoint> endpoint = runtime::Endpoint::parse(text.substr(equals + 1));
    if (!endpoint) return fail(std::move(endpoint).error().context("--listen-netns " + text));
    config.listen_elsewhere.push_back({text.substr(0, equals), std::move(*endpoint)});
  }
  FL_TRY(config.store, parse_store(flags.store, flags.data));
  if (!flags.audit_log.empty()) {
    if (flags.audit_level == "metadata") {
      config.audit_level = apiserver::AuditLevel::metadata;
    } else if (flags.audit_level == "request") {
      config.audit_level = apiserver::AuditLevel::request;
    } else {
      return fail(Code::invalid,
                  "--audit-level " + flags.audit_level + ": must be metadata or request");
    }
  }
  if (flags.etcd_cert.empty() != flags.etcd_key.empty())
    return fail(Code::invalid, "--etcd-cert and --etcd-key must be given together");
  if (flags.drain_seconds < 0 || flags.drain_seconds > 3600)
    return fail(Code::invalid, "--drain-seconds: must be between 0 and 3600");
  config.drain =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(flags.drain_seconds));
  config.flags = std::move(flags);
  return config;
}

}  // namespace fairlead::program
