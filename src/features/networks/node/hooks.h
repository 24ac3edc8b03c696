// Hooks: runs the programs that an attachment asks for after its interface was made
// (postCreateExec) and after it was removed (postDeleteExec).
//
// Attachments are written by API users, so the node decides what may run: only programs that its
// owner allowed, by exact path, in bounded time, with bounded output, a bounded number at once;
// nothing that a hook starts outlives it. The hooks of one attachment run one after the other, in
// order.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/control/work_queue.h"
#include "features/networks/kinds/network_attachment.h"
#include "features/networks/node/networks_metrics.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

struct HookLimits {
  std::set<std::string> allowed_programs;
  Duration time = 30s;
  std::size_t output = 4096;
  int at_once = 4;
};

// Expands ${ifname}, ${ipv4}, ${ipv6} and ${mac} in all arguments but the first; an address that
// the station does not have becomes empty. Values are not expanded again.
std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const fabric::Station& station);

// Text for JSON: bytes that are not UTF-8 become U+FFFD. At most `limit` bytes.
std::string printable(std::string_view bytes, std::size_t limit);

class Hooks {
 public:
  enum class Kind { post_create, post_delete };
  using Done = std::function<void(const std::string& uid, ExecReport report)>;

  // `created` is called with the outcome of each postCreateExec.
  Hooks(runtime::Runtime& runtime, runtime::Processes& processes, NetworksMetrics& metrics,
        HookLimits limits, Done created);

  bool allowed(const std::vector<std::string>& command) const {
    return command.empty() || limits_.allowed_programs.contains(command.front());
  }

  // Empty commands and programs that are not allowed are not run.
  void start(Kind kind, const std::string& uid, const std::vector<std::string>& command,
             const fabric::Station& station);

  // Until cancelled, which kills running hooks.
  Task<void> run();

 private:
  struct Job {
    Kind kind;
    std::vector<std::string> command;
  };
  Task<Result<>> run_jobs(std::string uid);
  Task<ExecReport> run_one(Job job);

  runtime::Runtime& runtime_;
  runtime::Processes& processes_;
  NetworksMetrics& metrics_;
  HookLimits limits_;
  Done created_;
  std::map<std::string, std::deque<Job>> jobs_;
  control::WorkQueue<std::string> queue_;
};

}  // namespace fairlead::networks
