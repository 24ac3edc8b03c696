// The admissions every write passes: the namespace must exist and not be going away, and a node may
// write only what runs on it, and not much. Decided on the cache, and made certain by compares in
// the transaction.
#pragma once

#include "apiserver/object_writer.h"

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

// What nodes may store: everything a node writes is small.
struct NodeLimits {
  std::size_t lease_bytes = 16 << 10;
  std::size_t attachment_bytes = 64 << 10;  // of an attachment whose status it tells
  std::size_t object_bytes = 96 << 10;      // of anything else: there is one of each
};

// identity::admit_write on the objects themselves, and NodeLimits.
class NodeRestriction final : public Admission {
 public:
  explicit NodeRestriction(NodeLimits limits = {}) : limits_(limits) {}
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  Answer<> admit_size(const Proposal& proposal, std::size_t bytes) override;

 private:
  const NodeLimits limits_;
};

}  // namespace fairlead::apiserver
