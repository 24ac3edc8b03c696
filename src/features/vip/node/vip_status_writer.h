// VipStatusWriter: writes what this node has to tell into the statuses of VirtualIPs. However often
// something changes, each is written at most once a second; while the API fails, ever less often.
#pragma once

#include <functional>
#include <string>

#include "features/vip/node/api_vip_list.h"
#include "features/vip/node/vip_status.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/back_off.h"

namespace fairlead::vip {

class VipStatusWriter {
 public:
  using Facts = std::function<StatusFacts(const ApiVip& vip)>;
  // `facts` is asked at the moment of writing. REQUIRES: one for each registry of metrics.
  VipStatusWriter(runtime::Runtime& runtime, client::RestClient& client, ApiVipList& vips,
                  metrics::Registry& metrics, Facts facts);

  // Something may have changed.
  void look();

  // Until cancelled.
  Task<void> run();

 private:
  Task<Result<>> write_all();
  Task<Result<>> write(std::string name);

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  ApiVipList& vips_;
  Facts facts_;
  metrics::Family<metrics::Counter>& writes_;
  bool asked_ = true;
  runtime::Signal asked_signal_;
};

}  // namespace fairlead::vip
