// kubeconfig files and in-cluster configuration: from text to what a client needs.
//
// Pure over texts; files that a kubeconfig refers to are read through the function passed in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::identity {

// What a client needs to reach an API. PEM texts, not paths; the token file's path is kept, because
// its content changes.
struct ClientConfig {
  std::string server;           // "https://127.0.0.1:6443", without a trailing slash
  std::string ca;               // PEM; empty: nobody is trusted (or insecure)
  std::string tls_server_name;  // empty: the host of `server`
  bool insecure_skip_tls_verify = false;
  std::string token;
  std::string token_file;  // read again about every minute; wins over `token` once readable
  std::string client_certificate;
  std::string client_key;
  std::string namespace_ = "default";
};

struct Kubeconfig {
  struct Cluster {
    std::string name, server;
    std::string certificate_authority;       // path
    std::string certificate_authority_data;  // PEM, decoded
    std::string tls_server_name;
    bool insecure_skip_tls_verify = false;
    std::string proxy_url;
  };
  struct AuthInfo {
    std::string name;
    std::string token, token_file;
    std::string client_certificate, client_key;            // paths
    std::string client_certificate_data, client_key_data;  // PEM, decoded
    std::string username, password;
    bool exec = false;          // credential plugin
    std::string auth_provider;  // its name
  };
  struct Context {
    std::string name, cluster, user, namespace_;
  };
  std::vector<Cluster> clusters;
  std::vector<AuthInfo> users;
  std::vector<Context> contexts;
  std::string current_context;
};

// YAML or JSON. Unknown fields are ignored, as kubectl does. Fails with invalid, naming the place.
Result<Kubeconfig> parse_kubeconfig(std::string_view text);

using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// The configuration of one context (empty: the current one). Relative paths are relative to
// `folder`, the kubeconfig's own. Exec plugins, auth providers, passwords and proxies fail with
// unsupported, saying which user or cluster asks for them.
Result<ClientConfig> resolve(const Kubeconfig& config, std::string_view context,
                             const std::string& folder, const ReadFile& read);

// A kubeconfig with one cluster, one user and one context, everything embedded; as YAML.
std::string encode_kubeconfig(const ClientConfig& config, std::string_view cluster_name,
                              std::string_view user_name);

// What a pod finds in its environment and its service account's files.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ClientConfig> in_cluster_config(const Environment& environment, const ReadFile& read);

// The credentials in `config` fit together: the URL is one, the PEM texts parse, key matches
// certificate.
Result<> check_config(const ClientConfig& config);

}  // namespace fairlead::identity
