// Hooks: the programs that an attachment asks its node to run after its interface was made and
// after it was removed.
//
// Attachments are written by API users, so what may run is decided here: only programs that the
// node's owner allowed, by exact path, in bounded time, with bounded output, a bounded number at
// once; nothing that one starts outlives it. Those of one attachment run one after the other, in
// the order in which they were asked for.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/client/work_queue.h"
#include "api/resource/networks/network_attachment.h"
#include "features/networks/agent/agent_metrics.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"
#include "node/fabric/fabric.h"

namespace fairlead::agent {

struct HookLimits {
  std::set<std::string> allowed_programs;
  Duration time = 30s;
  std::size_t output = 4096;
  int at_once = 4;
};

// ${ifname}, ${ipv4}, ${ipv6} and ${mac} in all arguments but the first; what the station does not
// have becomes empty. What a value contains is not expanded again.
std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const fabric::Station& station);

// Text for JSON: what is not UTF-8 becomes U+FFFD. Not longer than `limit` bytes.
std::string printable(std::string_view bytes, std::size_t limit);

class Hooks {
 public:
  enum class Kind { post_create, post_delete };
  using Done = std::function<void(const std::string& uid, resource::ExecReport report)>;

  // `created` is told the outcome of each post_create.
  Hooks(runtime::Runtime& runtime, runtime::Processes& processes, AgentMetrics& metrics,
        HookLimits limits, Done created);

  bool allowed(const std::vector<std::string>& command) const {
    return command.empty() || limits_.allowed_programs.contains(command.front());
  }

  // Empty commands and those not allowed are not run.
  void start(Kind kind, const std::string& uid, const std::vector<std::string>& command,
             const fabric::Station& station);

  // Until cancelled, which kills what runs.
  Task<void> run();

 private:
  struct Job {
    Kind kind;
    std::vector<std::string> command;
  };
  Task<Result<>> run_jobs(std::string uid);
  Task<resource::ExecReport> run_one(Job job);

  runtime::Runtime& runtime_;
  runtime::Processes& processes_;
  AgentMetrics& metrics_;
  HookLimits limits_;
  Done created_;
  std::map<std::string, std::deque<Job>> jobs_;
  client::WorkQueue<std::string> queue_;
};

}  // namespace fairlead::agent
