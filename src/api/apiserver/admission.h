// The admissions every write passes: the namespace must exist and not be going away, and a node may
// write only what runs on it, and not much. Decided on the cache, and made certain by compares in
// the transaction.
#pragma once

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

// What nodes may store: everything a node writes is small, and limited in bytes over time, per
// node.
struct NodeLimits {
  std::size_t lease_bytes = 16 << 10;
  std::size_t attachment_bytes = 64 << 10;  // of an attachment whose status it tells
  std::size_t object_bytes = 96 << 10;      // of anything else: there is one of each

  // Bytes that one node may write at once, and from then on each second. A node with a thousand
  // attachments tells each a few times, in 3 KB; its report has up to 96 KiB, once a second while
  // there is news and then every eight seconds.
  struct Pace {
    double burst;
    double per_second;
  };
  Pace attachments{32 << 20, 1 << 20};
  Pace others{4 << 20, 64 << 10};
};

// identity::admit_write on the objects themselves, and NodeLimits.
class NodeRestriction final : public Admission {
 public:
  // `refused` counts what came too fast.
  NodeRestriction(const runtime::Runtime& runtime, metrics::Counter& refused,
                  NodeLimits limits = {});
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  Answer<> admit_size(const Proposal& proposal, std::size_t bytes) override;

 private:
  // How much one node may write now.
  struct Paces {
    Paces(const NodeLimits& limits, Instant now);
    http::TokenBucket attachments;
    http::TokenBucket others;
  };
  Paces& paces_of(std::string_view node, Instant now);

  const runtime::Runtime& runtime_;
  metrics::Counter& refused_;
  const NodeLimits limits_;
  KeyMap<Paces> paces_;  // of nodes that wrote lately
};

}  // namespace fairlead::apiserver
