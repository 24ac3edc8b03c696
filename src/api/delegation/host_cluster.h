// HostCluster: what a server behind a Kubernetes API aggregator takes from the cluster in front.
//
//   who vouches for users     ConfigMap kube-system/extension-apiserver-authentication, followed:
//                             the aggregator's certificate authority and headers, and the authority
//                             of the cluster's client certificates
//   whom a token stands for   TokenReview
//   what a user may do        SubjectAccessReview
//   which namespaces exist    HostNamespaces
//   which nodes are gone      HostNodes
//
// One connection below. The program makes it, hands its authenticators and its authorizer to the
// server, calls load() before anything is served, and keeps run() going.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/client/remote_events.h"
#include "api/client/rest_client.h"
#include "api/delegation/delegated_authenticator.h"
#include "api/delegation/delegated_authorizer.h"
#include "api/delegation/host_namespaces.h"
#include "api/delegation/host_nodes.h"
#include "api/identity/authenticator.h"
#include "api/identity/kubeconfig.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::delegation {

class HostCluster final : private client::ObjectSink {
 public:
  static Result<std::unique_ptr<HostCluster>> open(runtime::Runtime& runtime,
                                                   identity::ClientConfig config);

  // Reads the ConfigMap. A host that does not answer yet is asked again for a while; everything
  // else that is wrong fails at once, saying what to grant or to set up.
  Task<Result<>> load();
  // Follows the ConfigMap, the namespaces and the nodes, until cancelled.
  Task<void> run();

  // Agents may prove their node by the token of their pod (agent_tokens.h).
  void accept_agents(AgentTokens rules);

  // For the places of the same kinds in a UnionAuthenticator.
  std::shared_ptr<identity::Authenticator> request_headers() { return request_headers_; }
  std::shared_ptr<identity::Authenticator> certificates() { return certificates_; }
  std::shared_ptr<DelegatedAuthenticator> tokens() { return tokens_; }
  DelegatedAuthorizer& authorizer() { return authorizer_; }
  HostNamespaces& namespaces() { return namespaces_; }
  HostNodes& nodes() { return nodes_; }
  control::EventSink& events() { return events_; }

  // PEM of every authority whose client certificates concern the host: the TLS layer asks for them.
  // The callback is called whenever it changed.
  const std::string& client_authorities() const { return client_authorities_; }
  void on_change(std::function<void()> callback) { on_change_ = std::move(callback); }

 private:
  HostCluster(runtime::Runtime& runtime, std::unique_ptr<client::RestClient> client);
  Result<> take(const Json& config_map);
  void take_or_keep(const Json& config_map);
  void replace(std::vector<Json> objects, const std::string& version) override;
  void put(const Json& object) override;
  void erase(const Json& last_state) override;

  runtime::Runtime& runtime_;
  std::unique_ptr<client::RestClient> client_;
  std::shared_ptr<identity::RequestHeaderAuthenticator> request_headers_;
  std::shared_ptr<identity::X509Authenticator> certificates_;
  std::shared_ptr<DelegatedAuthenticator> tokens_;
  DelegatedAuthorizer authorizer_;
  HostNamespaces namespaces_;
  HostNodes nodes_;
  client::RemoteEvents events_;
  std::string taken_;  // the ConfigMap's data that is in force, as text
  std::string client_authorities_;
  std::function<void()> on_change_;
};

}  // namespace fairlead::delegation
