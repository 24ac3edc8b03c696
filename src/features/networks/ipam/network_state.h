// NetworkState: the NetworkRecords of every virtual network as the watch cache shows them. Follows
// the cache event by event, so that it always shows what the cache shows, and tells its listeners.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"
#include "features/networks/ipam/network_records.h"

namespace fairlead::ipam {

class NetworkState {
 public:
  // Follows `cache` from now on; both live equally long.
  NetworkState(const resource::Catalog& catalog, watchcache::WatchCache& cache);

  const resource::Kind& subnets() const { return *subnets_; }
  const resource::Kind& attachments() const { return *attachments_; }
  const resource::Kind& locks() const { return *locks_; }
  const resource::Kind& reports() const { return *reports_; }
  // The place of silentSince among the fields of a NodeReport.
  std::size_t silent_since_field() const { return silent_since_field_; }
  watchcache::WatchCache& cache() const { return cache_; }

  const NetworkRecords& records() const { return records_; }
  const NetworkIndex& index() const { return records_.index(); }
  const LockLedger& ledger() const { return records_.ledger(); }
  const AddressPool& pool() const { return records_.pool(); }
  // An agent has reported from there.
  bool is_known(std::string_view node) const;

  // See NetworkRecords.
  void reserve(Vni vni, const Ip& ip) { records_.reserve(vni, ip); }
  void give_back(Vni vni, const Ip& ip) { records_.give_back(vni, ip); }

  // Called after a change was taken in: what changed, before and after (null: was or is not there).
  struct Listener {
    std::function<void(const AttachmentFacts* before, const AttachmentFacts* after)> attachment;
    std::function<void(const SubnetFacts* before, const SubnetFacts* after)> subnet;
    std::function<void(const LockFacts* before, const LockFacts* after)> lock;
    std::function<void()> reset;
  };
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  void take_in_subnet(const std::string& key, const watchcache::ObjectRef& after);
  void take_in_attachment(const std::string& key, const watchcache::ObjectRef& after);
  void take_in_lock(const std::string& key, const watchcache::ObjectRef& after);
  void rebuild();

  const resource::Kind* subnets_;
  const resource::Kind* attachments_;
  const resource::Kind* locks_;
  const resource::Kind* reports_;
  std::size_t silent_since_field_;
  watchcache::WatchCache& cache_;
  NetworkRecords records_;
  std::vector<Listener> listeners_;
};

}  // namespace fairlead::ipam
