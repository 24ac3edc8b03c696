// Notifier: runs the notify commands of virtual IPs after this node has taken one or given one up.
//
// The commands of one VIP run one after the other, those of several VIPs side by side, a few at a
// time. While one is slow only the last state is kept: what comes between is skipped, so a command
// must look at FAIRLEAD_STATE and not count its calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/control/work_queue.h"
#include "features/vip/config/vip_plan.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

struct VipNews {
  Ip vip;
  bool held = false;
  Epoch epoch = 0;
  auto operator<=>(const VipNews&) const = default;
};

class Notifier {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    runtime::Processes* processes = nullptr;  // null: nothing is run
    metrics::Registry& metrics;
  };
  // REQUIRES: one for each registry of metrics.
  Notifier(Parts parts, std::string node);

  // The commands of these VIPs from now on.
  void follow(const std::vector<VipEntry>& vips);
  void tell(const VipNews& news);

  // Until cancelled, which kills running commands.
  Task<void> run();

  // After run(), when this node holds nothing any more: tells `released` of what was told as held,
  // in kLastTime at most.
  static constexpr Duration kLastTime = 10s;
  Task<void> tell_the_end();

 private:
  struct Recipient {
    std::vector<std::string> command;
    Duration timeout = 10s;
    std::string interface;
    std::optional<VipNews> pending;
    std::optional<VipNews> told;
  };
  Task<Result<>> notify(Ip vip);
  Task<void> tell_some(std::vector<VipNews>& rest, Instant deadline);
  runtime::Command command_for(const Recipient& recipient, const VipNews& news) const;
  void ended(const VipNews& news, const Result<runtime::ProcessEnd>& end);

  Parts parts_;
  std::string node_;
  metrics::Family<metrics::Counter>& runs_;
  std::map<Ip, Recipient> recipients_;
  control::WorkQueue<Ip> queue_;
};

}  // namespace fairlead::vip
