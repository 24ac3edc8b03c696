#include "api/delegation/host_cluster.h"

#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::delegation {
namespace {

const client::ResourceName kConfigMaps{"", "v1", "configmaps", true};
const client::ResourceName kPods{"", "v1", "pods", true};
constexpr std::string_view kNamespace = "kube-system";
constexpr std::string_view kName = "extension-apiserver-authentication";
constexpr std::string_view kPlace = "ConfigMap kube-system/extension-apiserver-authentication";
constexpr std::string_view kHostAuthority = "requestheader-client-ca-file";

// A review that takes longer than this helps no request any more.
constexpr Duration kRequestTime = 10s;
constexpr int kRetries = 2;
constexpr Duration kLoadPause = 1s;
constexpr Duration kLoadTime = 30s;

// A host that starts together with this server answers like this for a while.
bool may_pass(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::timeout || error.code == Code::io ||
         error.code == Code::exhausted;
}

std::string advice(const Error& error) {
  if (error.code == Code::forbidden)
    return " (bind the role kube-system/extension-apiserver-authentication-reader to this user)";
  if (error.code == Code::not_found)
    return " (the host publishes it when it runs with --requestheader-client-ca-file or "
           "--client-ca-file)";
  return {};
}

PostReview poster(client::RestClient& client) {
  return [&client](std::string path, Json review) {
    return client.call("POST", std::move(path), std::move(review));
  };
}

}  // namespace

HostCluster::HostCluster(runtime::Runtime& runtime, std::unique_ptr<client::RestClient> client)
    : runtime_(runtime),
      client_(std::move(client)),
      request_headers_(
          std::make_shared<identity::RequestHeaderAuthenticator>(identity::RequestHeaderOptions())),
      certificates_(std::make_shared<identity::X509Authenticator>(identity::TrustStore())),
      tokens_(std::make_shared<DelegatedAuthenticator>(runtime, poster(*client_))),
      authorizer_(runtime, poster(*client_)),
      namespaces_(runtime, *client_),
      nodes_(runtime, *client_),
      events_(*client_) {}

Result<std::unique_ptr<HostCluster>> HostCluster::open(runtime::Runtime& runtime,
                                                       identity::ClientConfig config) {
  FL_TRY(std::unique_ptr<client::RestClient> client,
         client::RestClient::open(runtime, std::move(config),
                                  {.user_agent = "fairlead-server",
                                   .retries = kRetries,
                                   .request_time = kRequestTime,
                                   .endpoints = {}}));
  return std::unique_ptr<HostCluster>(new HostCluster(runtime, std::move(client)));
}

void HostCluster::accept_agents(AgentTokens rules) {
  tokens_->accept_agents(std::move(rules), [this](std::string namespace_name, std::string name) {
    return client_->get(kPods, std::move(namespace_name), std::move(name));
  });
}

Task<Result<>> HostCluster::load() {
  const Instant end = runtime_.now() + kLoadTime;
  for (;;) {
    Task<Result<Json>> reading =
        client_->get(kConfigMaps, std::string(kNamespace), std::string(kName));
    const Result<Json> config_map = co_await reading;
    if (config_map) co_return take(*config_map);
    const Error& error = config_map.error();
    if (!may_pass(error) || runtime_.now() >= end)
      co_return fail(error.code, std::string(kPlace) + ": " + error.message + advice(error));
    log::warning("host cluster does not answer yet", {{"error", error.to_string()}});
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, kLoadPause));
  }
}

Task<void> HostCluster::run() {
  client::Reflector config_map(runtime_, *client_,
                               {.resource = kConfigMaps,
                                .namespace_name = std::string(kNamespace),
                                .label_selector = {},
                                .field_selector = "metadata.name=" + std::string(kName)},
                               *this);
  runtime::Scope scope(runtime_);
  scope.spawn(config_map.run());
  scope.spawn(namespaces_.run());
  if (nodes_.serves()) scope.spawn(nodes_.run());
  co_await scope.join();
}

// Nothing changes unless all of it is good.
Result<> HostCluster::take(const Json& config_map) {
  static const Json kNone = JsonObject{};
  const Json* data = wire::find(config_map, "data");
  if (!data) data = &kNone;
  std::string text = wire::encode_json(*data);
  if (text == taken_) return {};
  Result<identity::AggregatorAuthentication> read =
      identity::decode_aggregator_authentication(*data);
  if (!read) return fail(std::move(read).error().context(kPlace));
  if (read->request_header.trust.empty())
    return fail(Code::invalid, std::string(kPlace) + ": " + std::string(kHostAuthority) +
                                   " is missing: the host must run with --" +
                                   std::string(kHostAuthority) + " to vouch for its users");
  identity::TrustStore clients;
  if (!read->client_ca.empty()) {
    Result<identity::TrustStore> parsed = identity::TrustStore::parse_pem(read->client_ca);
    if (!parsed) return fail(std::move(parsed).error().context("client-ca-file").context(kPlace));
    clients = std::move(*parsed);
  }
  certificates_->set_trust(std::move(clients));
  client_authorities_ =
      read->client_ca + "\n" + std::string(wire::find_string(*data, kHostAuthority)) + "\n";
  request_headers_->set_options(std::move(read->request_header));
  taken_ = std::move(text);
  if (on_change_) on_change_();
  return {};
}

void HostCluster::take_or_keep(const Json& config_map) {
  const std::string before = taken_;
  const Result<> taken = take(config_map);
  if (!taken) {
    log::error("the host cluster's authentication is not usable, the last one stays in force",
               {{"error", taken.error().to_string()}});
  } else if (taken_ != before) {
    log::info("the host cluster's authentication was read anew");
  }
}

void HostCluster::replace(std::vector<Json> objects, const std::string&) {
  if (objects.empty()) {
    log::warning("the host cluster's authentication is gone, the last one stays in force",
                 {{"place", kPlace}});
    return;
  }
  take_or_keep(objects.front());
}

void HostCluster::put(const Json& object) { take_or_keep(object); }

void HostCluster::erase(const Json&) { replace({}, {}); }

}  // namespace fairlead::delegation
