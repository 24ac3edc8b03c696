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

// What nodes may store. Everything a node writes is small, and limited in bytes over time, per
// node; Events, of which it may make many, also by what there is of them, all nodes' together.
struct NodeLimits {
  std::size_t event_bytes = 16 << 10;       // of one Event, or Lease
  std::size_t attachment_bytes = 64 << 10;  // of an attachment whose status it tells
  std::size_t object_bytes = 96 << 10;      // of anything else: there is one of each
  std::size_t all_events_bytes = 48 << 20;  // of Events in the store; beyond, nodes add none

  // Bytes that one node may write at once, and from then on each second. A node with a thousand
  // attachments tells each a few times, in 3 KB; its report has up to 96 KiB, once a second while
  // there is news and then every eight seconds.
  struct Pace {
    double burst;
    double per_second;
  };
  Pace events{2 << 20, 8 << 10};
  Pace attachments{32 << 20, 1 << 20};
  Pace others{4 << 20, 64 << 10};
};

// identity::admit_write on the objects themselves, and NodeLimits.
class NodeRestriction final : public Admission {
 public:
  // What was refused for its pace, or for all that there is of it.
  struct Refused {
    metrics::Counter& events;
    metrics::Counter& writes;
  };
  NodeRestriction(const identity::NodeFacts& nodes, const runtime::Runtime& runtime,
                  const resource::Catalog& catalog, const watchcache::WatchCache& cache,
                  Refused refused, NodeLimits limits = {});
  Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  Answer<> admit_size(const Proposal& proposal, std::size_t bytes) override;

 private:
  // How much one node may write now.
  struct Paces {
    Paces(const NodeLimits& limits, Instant now);
    http::TokenBucket events;
    http::TokenBucket attachments;
    http::TokenBucket others;
  };
  Paces& paces_of(std::string_view node, Instant now);
  Answer<> admit_event(Paces& paces, std::size_t bytes, Instant now);

  const identity::NodeFacts& nodes_;
  const runtime::Runtime& runtime_;
  const resource::Kind* events_;
  const watchcache::WatchCache& cache_;
  const Refused refused_;
  const NodeLimits limits_;
  KeyMap<Paces> paces_;  // of nodes that wrote lately
};

}  // namespace fairlead::apiserver
