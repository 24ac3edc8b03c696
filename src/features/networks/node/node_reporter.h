// NodeReporter: keeps the node's NodeReport object (features/networks/kinds/node_report.h) current,
// which says up to which version the fabric has applied the removals of each virtual network.
//
// The server gives out a released address again only after the nodes concerned have reported its
// removal, but it waits only for nodes that have a NodeReport: so the object must exist before the
// fabric carries anything. It is written only when it changes, at most once a second, and every
// eight seconds while changes go on, so that a thousand nodes do not overload a server. If it is
// deleted, it is created again.
#pragma once

#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "features/networks/node/applied_versions.h"
#include "features/networks/node/networks_metrics.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "node/agent/heartbeat.h"

namespace fairlead::networks {

class NodeReporter final : public agent::NodeRecord {
 public:
  NodeReporter(runtime::Runtime& runtime, client::RestClient& client, NetworksMetrics& metrics,
               std::string node, AppliedVersions& applied);

  // There may be something to report.
  void notify() { changed_.notify(); }

  // The object is missing: it is created again, with everything there is to report.
  void lost() {
    applied_.start_over();
    changed_.notify();
  }

  // Creates the object unless it exists, and retries until that is done. Returns the networks that
  // an earlier process reported.
  Task<Result<std::vector<fabric::Vni>>> establish();

  // Until cancelled.
  Task<void> run();

  // The heartbeat's: behind a host cluster the report is what is renewed; elsewhere it is looked
  // for, because the server waits only for nodes that have one. A missing one is lost().
  Task<Result<>> renew(std::string now) override;
  Task<Result<>> look() override;

 private:
  Task<Result<Json>> find_or_make();
  Task<Result<JsonArray>> owners();
  Task<Result<>> send(AppliedVersions::Report report);
  Task<Result<>> wait_for_news();

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  NetworksMetrics& metrics_;
  std::string node_;
  AppliedVersions& applied_;
  runtime::Signal changed_;
};

// A report as a patch of the NodeReport object.
Json encode_report(const AppliedVersions::Report& report);

}  // namespace fairlead::networks
