// NodeReport: tells on the node's own Node object up to which version of each virtual network the
// fabric has carried out what it was told:
//
//   {"status": {"fairlead": {"applied": {"<vni>": "<resourceVersion>"}}}}
//
// Whoever gives out addresses waits for it before a released one is used again. Written at most
// once a second, and only while there is something new to tell. A Node that does not exist is not
// made.
#pragma once

#include <string>
#include <vector>

#include "agent/agent_metrics.h"
#include "agent/applied_versions.h"
#include "client/rest_client.h"
#include "runtime/channel.h"
#include "runtime/runtime.h"

namespace fairlead::agent {

class NodeReport {
 public:
  NodeReport(runtime::Runtime& runtime, client::RestClient& client, AgentMetrics& metrics,
             std::string node, AppliedVersions& applied);

  // There may be something to tell.
  void notify() { changed_.notify(); }

  // The networks that an earlier process told of; none if the Node does not exist. Tries until it
  // is known.
  Task<Result<std::vector<fabric::Vni>>> told_before();

  // Until cancelled.
  Task<void> run();

 private:
  Task<Result<>> send(AppliedVersions::Report report);
  Task<Result<>> wait_for_news();

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  AgentMetrics& metrics_;
  std::string node_;
  AppliedVersions& applied_;
  runtime::Signal changed_;
  bool absence_told_ = false;
};

// The patch that a report is.
Json encode_report(const AppliedVersions::Report& report);

}  // namespace fairlead::agent
