// NodeAgent: what `fairlead agent` is: the NodeFeatures that are configured, and what they share:
// the connection to the API with its credentials and heartbeat where there is an API; metrics and
// pages; the admin socket; giving memory back. Only wiring; it decides nothing.
//
//   credentials ─→ RestClient ─→ Heartbeat ┐
//   Registry, Pages ───────────────────────┼─→ NodeContext ─→ NodeFeatures
//   --metrics-listen ←─ Pages ─→ admin socket ┘
//
// A load driver may run many in one process (tools/bench), simulation one on each machine. Without
// credentials it runs the features that need no API.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "foundation/base/metrics.h"
#include "foundation/http/server.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"
#include "node/agent/credentials.h"
#include "node/agent/heartbeat.h"
#include "node/agent/node_feature.h"
#include "node/agent/pages.h"

namespace fairlead::agent {

struct AgentOptions {
  std::string node;
  std::optional<Ip> host;  // the node's address, for the Node's status
  NodeInfo info;           // the same
  std::optional<ApiAccess> api;
  CredentialFiles credentials;  // where `api` was read from, to keep it current; may be empty
  client::RestOptions rest{.user_agent = "fairlead-agent"};
  std::optional<runtime::Endpoint> metrics_listen;
  std::optional<runtime::Endpoint> admin_socket;
  runtime::Processes* processes = nullptr;  // outlives the agent
  // Gives unused memory back to the system; called now and then.
  std::function<void()> give_back_memory = [] {};
};

// Those of the plans that can run, with or without an API. Fails with invalid if there are none.
Result<std::vector<const FeaturePlan*>> runnable(const std::vector<FeaturePlan>& plans,
                                                 bool has_api);

class NodeAgent {
 public:
  // Listens already, so that an address in use is an error here. A plan that needs an API is left
  // out, with a warning, where there is none; fails with invalid if nothing is left to run.
  static Result<std::unique_ptr<NodeAgent>> open(runtime::Runtime& runtime, AgentOptions options,
                                                 const std::vector<FeaturePlan>& plans);
  ~NodeAgent();

  // Until cancelled, which leaves what the features made as it is.
  Task<void> run();
  // Until a feature has ended by itself, against its contract: its name. The agent is not ready any
  // more. Fails with cancelled.
  Task<Result<std::string>> wait_ended();

  // The file has changed: those features follow it that can; the log says which cannot.
  void follow(const std::vector<FeaturePlan>& plans);

  // Ready when all features are.
  Readiness readiness() const;
  Task<Result<>> wait_ready();
  // Why the API refuses this node; empty: no refusal is known.
  std::string refusal() const;

  // Null: there is none of that name.
  NodeFeature* feature(std::string_view name) const;
  const std::vector<std::unique_ptr<NodeFeature>>& features() const { return features_; }
  metrics::Registry& metrics() { return metrics_; }
  // Where metrics are served; nothing if they are not.
  std::optional<runtime::Endpoint> metrics_address() const { return metrics_address_; }

 private:
  // What there is where there is an API.
  struct Api {
    std::unique_ptr<client::RestClient> client;
    std::unique_ptr<Heartbeat> heartbeat;
    std::optional<ApiSide> side;
  };
  // One listener and what it serves.
  struct Door {
    std::unique_ptr<http::Server> server;
    std::unique_ptr<runtime::Listener> listener;
  };

  NodeAgent(runtime::Runtime& runtime, AgentOptions options);
  Result<> connect();
  Result<> make_features(const std::vector<FeaturePlan>& plans);
  void add_pages();
  void add_metrics();
  Pages::Page status_page() const;
  Pages::Page why_page(std::string_view question) const;
  Result<Door> open_door(const runtime::Endpoint& at, Pages& pages);
  Task<void> stay_small();
  Task<void> run_feature(NodeFeature& feature);

  runtime::Runtime& runtime_;
  AgentOptions options_;
  metrics::Registry metrics_;
  Pages pages_;                 // for --metrics-listen
  Pages admin_pages_{&pages_};  // for the admin socket
  std::unique_ptr<Api> api_;
  runtime::Signal readiness_changed_;
  runtime::Signal work_ended_;
  std::string ended_;  // the feature that ended by itself
  runtime::Signal feature_ended_;
  std::vector<std::unique_ptr<NodeFeature>> features_;
  std::vector<Door> doors_;
  std::optional<runtime::Endpoint> metrics_address_;
};

}  // namespace fairlead::agent
