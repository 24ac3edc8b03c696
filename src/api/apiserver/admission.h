// The admissions that every write passes: its namespace must exist and not be terminating, and a
// node may write only its own objects, at a limited rate. Decided on the cache, and made certain by
// compares in the transaction.
#pragma once

#include <memory>

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

// Limits for what a node writes: the size of an object, and bytes over time.
struct NodeLimits {
  std::size_t lease_bytes = 16 << 10;
  std::size_t attachment_bytes = 64 << 10;  // size of an attachment whose status it writes
  std::size_t object_bytes = 96 << 10;      // size of its Node or NodeReport

  // Token buckets in bytes, per node: burst, and refill per second. A node with a thousand
  // attachments writes the status of each a few times, 3 KB each; its NodeReport has up to 96 KiB,
  // written once a second at first and then every eight seconds while there is news.
  struct Pace {
    double burst;
    double per_second;
  };
  Pace attachments{32 << 20, 1 << 20};
  Pace others{4 << 20, 64 << 10};
};

// Applies identity::admit_write to the objects themselves, and NodeLimits.
class NodeRestriction final : public Admission {
 public:
  // `refused` counts writes over the rate.
  NodeRestriction(const runtime::Runtime& runtime, metrics::Counter& refused,
                  NodeLimits limits = {});
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  Answer<> admit_size(const Proposal& proposal, std::size_t bytes) override;

 private:
  // The token buckets of one node.
  struct Paces {
    Paces(const NodeLimits& limits, Instant now);
    http::TokenBucket attachments;
    http::TokenBucket others;
  };
  const std::shared_ptr<Paces>& paces_of(std::string_view node, Instant now);

  const runtime::Runtime& runtime_;
  metrics::Counter& refused_;
  const NodeLimits limits_;
  KeyMap<std::shared_ptr<Paces>> paces_;  // by node; of nodes that wrote lately
};

}  // namespace fairlead::apiserver
