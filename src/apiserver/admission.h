// The admissions every write passes: the namespace must exist and not be going away, and a node may
// write only what runs on it. Decided on the cache, and made certain by compares in the
// transaction.
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

// identity::admit_write on the objects themselves.
class NodeRestriction final : public Admission {
 public:
  explicit NodeRestriction(const identity::NodeFacts& nodes) : nodes_(nodes) {}
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;

 private:
  const identity::NodeFacts& nodes_;
};

}  // namespace fairlead::apiserver
