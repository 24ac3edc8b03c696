#include "program/server_config.h"

namespace fairlead::program {
namespace {

struct TimeFlag {
  const char* name;
  double ServerFlags::* given;
  Duration http::Limits::* limit;
};

// How long a peer may take for each step before it is cut.
constexpr TimeFlag kTimeFlags[] = {
    {"--handshake-seconds", &ServerFlags::handshake_seconds, &http::Limits::handshake_time},
    {"--header-seconds", &ServerFlags::header_seconds, &http::Limits::header_time},
    {"--body-seconds", &ServerFlags::body_seconds, &http::Limits::body_time},
    {"--idle-seconds", &ServerFlags::idle_seconds, &http::Limits::idle_time},
    {"--stall-seconds", &ServerFlags::stall_seconds, &http::Limits::write_stall_time},
};

Duration to_duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Result<http::Limits> check_limits(const ServerFlags& flags) {
  http::Limits limits;
  for (const TimeFlag& flag : kTimeFlags) {
    const double seconds = flags.*flag.given;
    // Written so that "not a number" is refused too.
    if (!(seconds >= 0.1 && seconds <= 3600))
      return fail(Code::invalid, std::string(flag.name).append(": must be between 0.1 and 3600"));
    limits.*flag.limit = to_duration(seconds);
  }
  if (flags.max_connections == 0)
    return fail(Code::invalid, "--max-connections: must be at least 1");
  limits.connections = flags.max_connections;
  if (flags.max_strangers == 0) return fail(Code::invalid, "--max-strangers: must be at least 1");
  limits.strangers = flags.max_strangers;
  if (!(flags.joins_per_second > 0 && flags.joins_per_second <= 100'000))
    return fail(Code::invalid, "--joins-per-second: must be above 0, and at most 100000");
  return limits;
}

Result<Duration> up_to_an_hour(std::string_view flag, double seconds) {
  if (!(seconds >= 0 && seconds <= 3600))
    return fail(Code::invalid, std::string(flag).append(": must be between 0 and 3600"));
  return to_duration(seconds);
}

Result<std::optional<delegation::AgentTokens>> check_agent_tokens(const ServerFlags& flags) {
  if (flags.agent_token_audience.empty()) return std::nullopt;
  if (flags.host_kubeconfig.empty())
    return fail(Code::invalid,
                "--agent-token-audience: needs --host-kubeconfig, the cluster that reviews tokens");
  Result<delegation::AgentTokens> tokens =
      delegation::parse_agent_tokens(flags.agent_token_audience, flags.agent_service_account);
  if (!tokens)
    return fail(std::move(tokens).error().context("--agent-service-account " +
                                                  flags.agent_service_account));
  return std::move(*tokens);
}

}  // namespace

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
  FL_TRY(config.shutdown_delay,
         up_to_an_hour("--shutdown-delay-seconds", flags.shutdown_delay_seconds));
  FL_TRY(config.drain, up_to_an_hour("--drain-seconds", flags.drain_seconds));
  FL_TRY(config.lock_wait, up_to_an_hour("--lock-wait-seconds", flags.lock_wait_seconds));
  if (!(flags.node_grace_seconds >= 1 && flags.node_grace_seconds <= 3600))
    return fail(Code::invalid, "--node-grace-seconds: must be between 1 and 3600");
  config.node_grace = to_duration(flags.node_grace_seconds);
  FL_TRY(config.limits, check_limits(flags));
  FL_TRY(config.agent_tokens, check_agent_tokens(flags));
  config.flags = std::move(flags);
  return config;
}

}  // namespace fairlead::program
