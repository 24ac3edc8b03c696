// The admissions that every write passes: its namespace must exist and not be terminating, and a
// node may write only its own objects, at a limited rate. Decided on the cache, and made certain by
// compares in the transaction.
#pragma once

#include <memory>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "foundation/base/key_map.h"
#include "foundation/base/metrics.h"
#include "foundation/http/token_bucket.h"
#include "foundation/runtime/runtime.h"

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

// What a node writes of the kinds that have no pace of their own (resource::NodeAccess), in bytes:
// its reports have up to 96 KiB and are written once a second at first, then every eight seconds
// while there is news.
inline constexpr resource::NodeAccess::Pace kCommonNodePace{4 << 20, 64 << 10};

// Applies identity::admit_write to the objects themselves, and limits their size and how fast a
// node writes them, as each kind says (resource::NodeAccess).
class NodeRestriction final : public Admission {
 public:
  // `refused` counts writes over the rate.
  NodeRestriction(const runtime::Runtime& runtime, metrics::Counter& refused);
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  Answer<> admit_size(const Proposal& proposal, std::size_t bytes) override;

 private:
  // A token bucket of one node.
  struct Pace {
    const resource::Kind* kind;  // null: of all kinds that have no pace of their own
    std::shared_ptr<http::TokenBucket> bucket;
  };
  const std::shared_ptr<http::TokenBucket>& pace_of(std::string_view node,
                                                    const resource::Kind& kind, Instant now);

  const runtime::Runtime& runtime_;
  metrics::Counter& refused_;
  KeyMap<std::vector<Pace>> paces_;  // by node; of nodes that wrote lately
};

}  // namespace fairlead::apiserver
