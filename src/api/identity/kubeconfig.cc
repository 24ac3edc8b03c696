#include "api/identity/kubeconfig.h"

#include <algorithm>
#include <utility>

#include "api/identity/certificate.h"
#include "api/identity/digest.h"
#include "api/identity/token.h"
#include "foundation/base/encoding.h"
#include "foundation/wire/yaml.h"

namespace fairlead::identity {
namespace {

constexpr std::size_t kMaxBytes = 4 << 20;

// One object of the file and where it is, for messages.
class Section {
 public:
  Section(const JsonObject* object, std::string where)
      : object_(object), where_(std::move(where)) {}

  Result<std::string> text(std::string_view name) const {
    const Json* value = find(name);
    if (!value) return std::string();
    if (!value->is_string()) return fail(Code::invalid, at(name) + " must be a string");
    return std::string(value->get_string().data(), value->get_string().size());
  }
  // A base64 text, decoded.
  Result<std::string> data(std::string_view name) const {
    FL_TRY(const std::string encoded, text(name));
    Result<std::string> decoded = decode_base64(encoded);
    if (!decoded) return fail(decoded.error().context(at(name)));
    return decoded;
  }
  Result<bool> flag(std::string_view name) const {
    const Json* value = find(name);
    if (!value) return false;
    if (!value->is_bool()) return fail(Code::invalid, at(name) + " must be true or false");
    return value->get_bool();
  }
  Result<Section> section(std::string_view name) const {
    const Json* value = find(name);
    if (value && !value->is_object()) return fail(Code::invalid, at(name) + " must be an object");
    return Section(value ? &value->get_object() : nullptr, at(name));
  }
  Result<std::vector<Section>> list(std::string_view name) const {
    std::vector<Section> sections;
    const Json* value = find(name);
    if (!value) return sections;
    if (!value->is_array()) return fail(Code::invalid, at(name) + " must be a list");
    for (const Json& item : value->get_array()) {
      const std::string where = at(name) + "[" + std::to_string(sections.size()) + "]";
      if (!item.is_object()) return fail(Code::invalid, where + " must be an object");
      sections.emplace_back(&item.get_object(), where);
    }
    return sections;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }

 private:
  std::string at(std::string_view name) const {
    return where_.empty() ? std::string(name) : where_ + "." + std::string(name);
  }
  // null counts as absent.
  const Json* find(std::string_view name) const {
    const Json* value = object_ ? object_->if_contains(name) : nullptr;
    return value && !value->is_null() ? value : nullptr;
  }
  const JsonObject* object_;
  std::string where_;
};

Result<Kubeconfig::Cluster> read_cluster(const Section& entry) {
  Kubeconfig::Cluster cluster;
  FL_TRY(cluster.name, entry.text("name"));
  FL_TRY(const Section body, entry.section("cluster"));
  FL_TRY(cluster.server, body.text("server"));
  FL_TRY(cluster.certificate_authority, body.text("certificate-authority"));
  FL_TRY(cluster.certificate_authority_data, body.data("certificate-authority-data"));
  FL_TRY(cluster.tls_server_name, body.text("tls-server-name"));
  FL_TRY(cluster.insecure_skip_tls_verify, body.flag("insecure-skip-tls-verify"));
  FL_TRY(cluster.proxy_url, body.text("proxy-url"));
  return cluster;
}

Result<Kubeconfig::AuthInfo> read_user(const Section& entry) {
  Kubeconfig::AuthInfo user;
  FL_TRY(user.name, entry.text("name"));
  FL_TRY(const Section body, entry.section("user"));
  FL_TRY(user.token, body.text("token"));
  FL_TRY(user.token_file, body.text("tokenFile"));
  FL_TRY(user.client_certificate, body.text("client-certificate"));
  FL_TRY(user.client_key, body.text("client-key"));
  FL_TRY(user.client_certificate_data, body.data("client-certificate-data"));
  FL_TRY(user.client_key_data, body.data("client-key-data"));
  FL_TRY(user.username, body.text("username"));
  FL_TRY(user.password, body.text("password"));
  user.exec = body.has("exec");
  FL_TRY(const Section provider, body.section("auth-provider"));
  if (body.has("auth-provider")) {
    FL_TRY(user.auth_provider, provider.text("name"));
    if (user.auth_provider.empty()) user.auth_provider = "unnamed";
  }
  return user;
}

Result<Kubeconfig::Context> read_context(const Section& entry) {
  Kubeconfig::Context context;
  FL_TRY(context.name, entry.text("name"));
  FL_TRY(const Section body, entry.section("context"));
  FL_TRY(context.cluster, body.text("cluster"));
  FL_TRY(context.user, body.text("user"));
  FL_TRY(context.namespace_, body.text("namespace"));
  return context;
}

template <class T>
const T* by_name(const std::vector<T>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &T::name);
  return found == list.end() ? nullptr : &*found;
}

std::string joined(const std::string& folder, const std::string& path) {
  return path.starts_with('/') || folder.empty() ? path : folder + "/" + path;
}

// Embedded data wins over a file, as for kubectl.
Result<std::string> data_or_file(const std::string& data, const std::string& path,
                                 const std::string& folder, const ReadFile& read) {
  if (!data.empty() || path.empty()) return data;
  return read(joined(folder, path));
}

Error unsupported(const std::string& who, std::string_view what) {
  return {Code::unsupported, who + " asks for " + std::string(what) + ", which is not supported"};
}

Result<> refuse_unsupported(const Kubeconfig::Cluster& cluster, const Kubeconfig::AuthInfo& user) {
  const std::string who = "kubeconfig user " + user.name;
  if (user.exec) return fail(unsupported(who, "an exec credential plugin"));
  if (!user.auth_provider.empty())
    return fail(unsupported(who, "the auth provider " + user.auth_provider));
  if (!user.username.empty() || !user.password.empty())
    return fail(unsupported(who, "a user name and password"));
  if (!cluster.proxy_url.empty())
    return fail(unsupported("kubeconfig cluster " + cluster.name, "a proxy (proxy-url)"));
  return {};
}

Result<> add_credentials(const Kubeconfig::AuthInfo& user, const std::string& folder,
                         const ReadFile& read, ClientConfig& config) {
  FL_TRY(config.client_certificate,
         data_or_file(user.client_certificate_data, user.client_certificate, folder, read));
  FL_TRY(config.client_key, data_or_file(user.client_key_data, user.client_key, folder, read));
  if (config.client_certificate.empty() != config.client_key.empty())
    return fail(Code::invalid, "kubeconfig user " + user.name +
                                   ": client certificate and key belong together; one is missing");
  config.token = user.token;
  if (user.token_file.empty()) return {};
  config.token_file = joined(folder, user.token_file);
  FL_TRY(const std::string text, read(config.token_file));
  Result<std::string> token = parse_single_token(text);
  if (!token) return fail(token.error().context(config.token_file));
  config.token = std::move(*token);
  return {};
}

std::string without_trailing_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text) {
  Result<wire::ParsedJson> parsed =
      wire::parse_yaml(text, {.max_depth = 20, .max_bytes = kMaxBytes});
  if (!parsed) return fail(parsed.error().context("kubeconfig"));
  if (!parsed->value.is_object()) return fail(Code::invalid, "kubeconfig: expected an object");
  const Section root(&parsed->value.get_object(), {});
  FL_TRY(const std::string kind, root.text("kind"));
  if (!kind.empty() && kind != "Config")
    return fail(Code::invalid, "kubeconfig: kind must be Config");
  Kubeconfig config;
  FL_TRY(config.current_context, root.text("current-context"));
  FL_TRY(const std::vector<Section> clusters, root.list("clusters"));
  for (const Section& entry : clusters) {
    FL_TRY(Kubeconfig::Cluster cluster, read_cluster(entry));
    config.clusters.push_back(std::move(cluster));
  }
  FL_TRY(const std::vector<Section> users, root.list("users"));
  for (const Section& entry : users) {
    FL_TRY(Kubeconfig::AuthInfo user, read_user(entry));
    config.users.push_back(std::move(user));
  }
  FL_TRY(const std::vector<Section> contexts, root.list("contexts"));
  for (const Section& entry : contexts) {
    FL_TRY(Kubeconfig::Context context, read_context(entry));
    config.contexts.push_back(std::move(context));
  }
  return config;
}

Result<ClientConfig> resolve(const Kubeconfig& kubeconfig, std::string_view context_name,
                             const std::string& folder, const ReadFile& read) {
  const std::string wanted(context_name.empty() ? kubeconfig.current_context : context_name);
  if (wanted.empty()) return fail(Code::invalid, "kubeconfig: no current-context is set");
  const Kubeconfig::Context* context = by_name(kubeconfig.contexts, wanted);
  if (!context) return fail(Code::not_found, "kubeconfig: there is no context " + wanted);
  const Kubeconfig::Cluster* cluster = by_name(kubeconfig.clusters, context->cluster);
  if (!cluster)
    return fail(Code::not_found, "kubeconfig context " + wanted + ": there is no cluster \"" +
                                     context->cluster + "\"");
  const Kubeconfig::AuthInfo nobody{};
  const Kubeconfig::AuthInfo* user = by_name(kubeconfig.users, context->user);
  if (!user && !context->user.empty())
    return fail(Code::not_found,
                "kubeconfig context " + wanted + ": there is no user \"" + context->user + "\"");
  if (!user) user = &nobody;
  FL_CHECKED(refuse_unsupported(*cluster, *user));

  ClientConfig config;
  config.server = without_trailing_slash(cluster->server);
  config.tls_server_name = cluster->tls_server_name;
  config.insecure_skip_tls_verify = cluster->insecure_skip_tls_verify;
  FL_TRY(config.ca, data_or_file(cluster->certificate_authority_data,
                                 cluster->certificate_authority, folder, read));
  if (config.insecure_skip_tls_verify && !config.ca.empty())
    return fail(Code::invalid,
                "kubeconfig cluster " + cluster->name +
                    ": a certificate authority together with insecure-skip-tls-verify");
  FL_CHECKED(add_credentials(*user, folder, read, config));
  if (!context->namespace_.empty()) config.namespace_ = context->namespace_;
  Result<> checked = check_config(config);
  if (!checked) return fail(checked.error().context("kubeconfig context " + wanted));
  return config;
}

std::string encode_kubeconfig(const ClientConfig& config, std::string_view cluster_name,
                              std::string_view user_name) {
  JsonObject cluster;
  cluster["server"] = config.server;
  if (!config.ca.empty()) cluster["certificate-authority-data"] = encode_base64(config.ca);
  if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
  if (config.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
  JsonObject user;
  if (!config.token.empty()) user["token"] = config.token;
  if (!config.token_file.empty()) user["tokenFile"] = config.token_file;
  if (!config.client_certificate.empty()) {
    user["client-certificate-data"] = encode_base64(config.client_certificate);
    user["client-key-data"] = encode_base64(config.client_key);
  }
  JsonObject context;
  context["cluster"] = cluster_name;
  context["user"] = user_name;
  if (!config.namespace_.empty()) context["namespace"] = config.namespace_;

  JsonObject root;
  root["apiVersion"] = "v1";
  root["kind"] = "Config";
  root["clusters"] = JsonArray{JsonObject{{"name", cluster_name}, {"cluster", cluster}}};
  root["users"] = JsonArray{JsonObject{{"name", user_name}, {"user", user}}};
  root["contexts"] = JsonArray{JsonObject{{"name", cluster_name}, {"context", context}}};
  root["current-context"] = cluster_name;
  return wire::encode_yaml(root);
}

Result<ClientConfig> in_cluster_config(const Environment& environment, const ReadFile& read) {
  const std::optional<std::string> host = environment("KUBERNETES_SERVICE_HOST");
  const std::optional<std::string> port = environment("KUBERNETES_SERVICE_PORT");
  if (!host || host->empty() || !port || port->empty())
    return fail(
        Code::not_found,
        "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  const std::string folder(kServiceAccountFolder);
  ClientConfig config;
  const bool v6 = host->find(':') != std::string::npos;
  config.server = "https://" + (v6 ? "[" + *host + "]" : *host) + ":" + *port;
  config.token_file = folder + "/token";
  FL_TRY(const std::string token, read(config.token_file));
  Result<std::string> parsed = parse_single_token(token);
  if (!parsed) return fail(parsed.error().context(config.token_file));
  config.token = std::move(*parsed);
  FL_TRY(config.ca, read(folder + "/ca.crt"));
  if (Result<std::string> name = read(folder + "/namespace"); name && !name->empty())
    config.namespace_ = std::move(*name);
  FL_CHECKED(check_config(config));
  return config;
}

Result<> check_config(const ClientConfig& config) {
  std::string_view rest = config.server;
  const bool https = rest.starts_with("https://");
  if (!https && !rest.starts_with("http://"))
    return fail(Code::invalid, "server must be an http:// or https:// URL");
  rest.remove_prefix(https ? 8 : 7);
  const std::string_view authority = rest.substr(0, rest.find('/'));
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '@' && c != '?' && c != '#'; };
  if (authority.empty() || !std::ranges::all_of(rest, plain))
    return fail(Code::invalid, "server must be a URL with a host and nothing but a path after it");
  if (!config.ca.empty()) {
    if (Result<TrustStore> trust = TrustStore::parse_pem(config.ca); !trust)
      return fail(trust.error().context("certificate authority"));
  }
  if (config.client_certificate.empty()) return {};
  Result<Certificate> certificate = Certificate::parse_pem(config.client_certificate);
  if (!certificate) return fail(certificate.error().context("client certificate"));
  Result<PrivateKey> key = PrivateKey::parse_pem(config.client_key);
  if (!key) return fail(key.error().context("client key"));
  if (!key->matches(*certificate))
    return fail(Code::invalid, "client certificate and key do not belong together");
  return {};
}

}  // namespace fairlead::identity
