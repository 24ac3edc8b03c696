// VirtualIpInterlock: the admission of VirtualIPs.
//
//   create   no two have one address, and there are at most kMostVirtualIps: creates compare and
//            write one guard, so that two at once are decided one after the other, on any server
//   status   a node changes its own entry and, if it is or becomes the holder, what a holder says;
//            it makes nobody else the holder, and ends another's tenure only by its own or by
//            saying that there is no holder (the assigner does)
//   always   the conditions follow from the rest; entries of nodes that do not take part go; what
//            happened becomes Events once it is committed
#pragma once

#include <string_view>

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

inline constexpr std::size_t kMostVirtualIps = 1000;

class VirtualIpInterlock final : public apiserver::Admission {
 public:
  VirtualIpInterlock(runtime::Runtime& runtime, const resource::Catalog& catalog,
                     const watchcache::WatchCache& cache, control::EventRecorder& events);
  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  apiserver::Answer<> admit_new(const Proposal& proposal, store::Transaction& transaction) const;

  runtime::Runtime& runtime_;
  const resource::Kind* kind_;
  const watchcache::WatchCache& cache_;
  control::EventRecorder& events_;
};

// Why `node` may not change the status so; empty: it may. Pure.
std::string node_may_not(std::string_view node, const Json& live, const Json& desired);

}  // namespace fairlead::vip
