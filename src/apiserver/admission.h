// The admissions every write passes: the namespace must exist and not be going away, and a node may
// write only what runs on it, and not much. Decided on the cache, and made certain by compares in
// the transaction.
#pragma once

#include <string>

#include "apiserver/object_writer.h"
#include "base/key_map.h"
#include "base/metrics.h"
#include "http/token_bucket.h"
#include "runtime/runtime.h"

namespace fairlead::apiserver {

// Creates only in namespaces that exist and are not terminating. The namespace's revision is
// compared in the same transaction, so that nothing can slip into one whose deletion has begun.
class NamespaceLifecycle final : public Admission {
 public:
  NamespaceLifecycle(const resource::Catalog& catalog, const watchcache::WatchCache& cache);
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  const resource::Kind* namespaces_;
  const watchcache::WatchCache& cache_;
};

// What nodes may store. Everything a node writes is small; Events, of which it may make many, are
// also limited in bytes over time, per node, and all nodes' together by what there is of them.
struct NodeLimits {
  std::size_t event_bytes = 16 << 10;       // of one Event, or Lease
  std::size_t attachment_bytes = 64 << 10;  // of an attachment whose status it tells
  std::size_t object_bytes = 96 << 10;      // of anything else: there is one of each
  double events_burst = 2 << 20;            // bytes of Events that one node may write at once …
  double events_per_second = 8 << 10;       // … and from then on
  std::size_t all_events_bytes = 48 << 20;  // of Events in the store; beyond, nodes add none
};

// identity::admit_write on the objects themselves, and NodeLimits.
class NodeRestriction final : public Admission {
 public:
  NodeRestriction(const identity::NodeFacts& nodes, const runtime::Runtime& runtime,
                  const resource::Catalog& catalog, const watchcache::WatchCache& cache,
                  metrics::Counter& refused, NodeLimits limits = {});
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  Answer<> admit_size(const Proposal& proposal, std::size_t bytes) override;

 private:
  Answer<> admit_event(std::string_view node, std::size_t bytes);

  const identity::NodeFacts& nodes_;
  const runtime::Runtime& runtime_;
  const resource::Kind* events_;
  const watchcache::WatchCache& cache_;
  metrics::Counter& refused_;
  const NodeLimits limits_;
  KeyMap<http::TokenBucket> paces_;  // of nodes that wrote Events lately
};

}  // namespace fairlead::apiserver
