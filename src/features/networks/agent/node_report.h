// NodeReport: keeps the node's NodeReport object (api/resource/networks/node_report.h), which tells
// up to which version of each virtual network the fabric has carried out what it was told.
//
// Whoever gives out addresses waits for it before a released one is used again, but only for nodes
// that have one: so it must exist before the fabric carries anything. Written only while there is
// something new to tell, at most once a second; while news keep coming, every eight seconds: a
// thousand nodes together must not keep a server busy. One that was deleted is made again.
#pragma once

#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "features/networks/agent/agent_metrics.h"
#include "features/networks/agent/applied_versions.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::agent {

class NodeReport {
 public:
  NodeReport(runtime::Runtime& runtime, client::RestClient& client, AgentMetrics& metrics,
             std::string node, AppliedVersions& applied);

  // There may be something to tell.
  void notify() { changed_.notify(); }

  // It was found missing: it is made again, and says all that there is to say.
  void lost() {
    applied_.start_over();
    changed_.notify();
  }

  // Makes the object unless it exists. Returns the networks that an earlier process told of. Tries
  // until it is done.
  Task<Result<std::vector<fabric::Vni>>> establish();

  // Until cancelled.
  Task<void> run();

 private:
  Task<Result<Json>> find_or_make();
  Task<Result<JsonArray>> owners();
  Task<Result<>> send(AppliedVersions::Report report);
  Task<Result<>> wait_for_news();

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  AgentMetrics& metrics_;
  std::string node_;
  AppliedVersions& applied_;
  runtime::Signal changed_;
};

// The patch that a report is, of the NodeReport object.
Json encode_report(const AppliedVersions::Report& report);

}  // namespace fairlead::agent
