// What `fairlead server` was asked for: flags, read and checked. Errors name the flag.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apiserver/audit_log.h"
#include "api/delegation/agent_tokens.h"
#include "api/store/opened_store.h"
#include "foundation/base/result.h"
#include "foundation/command/log_flags.h"
#include "foundation/http/server.h"
#include "foundation/runtime/stream.h"
#include "foundation/runtime/time.h"

namespace fairlead::program {

// The flags as given.
struct ServerFlags {
  std::string data;
  std::vector<std::string> listen = {"127.0.0.1:6443"};
  std::vector<std::string> listen_netns;
  std::vector<std::string> advertise;
  std::vector<std::string> tls_names;
  std::string store = "sqlite";
  std::string etcd_ca, etcd_cert, etcd_key, etcd_prefix = "/fairlead/";
  std::string token_auth_file;
  std::string client_ca_file;
  std::string requestheader_client_ca_file;
  std::vector<std::string> requestheader_allowed_names;
  std::string host_kubeconfig;       // a file, or kInCluster; empty: this server stands alone
  std::string agent_token_audience;  // empty: agents do not prove themselves by tokens
  std::string agent_service_account = "fairlead-system/fairlead-agent";
  std::string audit_log;
  std::string audit_level = "metadata";
  command::LogFlags log;
  bool anonymous = true;
  double shutdown_delay_seconds = 0;
  double drain_seconds = 10;
  double lock_wait_seconds = 120;
  std::size_t max_reads = 1'000;
  std::size_t max_writes = 1'000;
  std::size_t max_watches = 20'000;
  std::size_t max_connections = http::Limits{}.connections;
  std::size_t max_strangers = http::Limits{}.strangers;
  double joins_per_second = 10;
  double node_grace_seconds = 40;
  double handshake_seconds = 10;
  double header_seconds = 10;
  double body_seconds = 60;
  double idle_seconds = 180;
  double stall_seconds = 30;
};

// --host-kubeconfig for a server that runs in a pod of the host cluster.
inline constexpr std::string_view kInCluster = "in-cluster";

using store::StoreChoice;

// A network namespace by name, and an address in it.
struct ElsewhereEndpoint {
  std::string netns;
  runtime::Endpoint endpoint;
};

struct ServerConfig {
  ServerFlags flags;
  std::vector<runtime::Endpoint> listen;
  std::vector<ElsewhereEndpoint> listen_elsewhere;
  StoreChoice store;
  apiserver::AuditLevel audit_level = apiserver::AuditLevel::none;
  Duration shutdown_delay = 0s;
  std::optional<delegation::AgentTokens> agent_tokens;
  Duration drain = 10s;
  Duration lock_wait = 120s;
  Duration node_grace = 40s;
  http::Limits limits;

  // Behind the aggregator of a host cluster.
  bool aggregated() const { return !flags.host_kubeconfig.empty(); }
};

// "sqlite", "sqlite:DIR", "etcd:URL,URL", "memory".
Result<StoreChoice> parse_store(const std::string& text, const std::string& data);
Result<ServerConfig> check_flags(ServerFlags flags);

}  // namespace fairlead::program
