#include "api/store/etcd/feed.h"

#include <utility>

namespace fairlead::store {

EtcdFeed::EtcdFeed(EtcdClient& client, const EtcdKeys& keys, std::uint64_t life, Revision after)
    : client_(client), tail_(client, keys, life, after), log_(after), scope_(client.runtime()) {
  scope_.spawn(follow());
}

Task<void> EtcdFeed::follow() {
  while (!ended_) {
    Result<std::vector<RevisionChanges>> revisions = co_await tail_.next();
    if (!revisions) {
      end(std::move(revisions).error());
    } else {
      append(std::move(*revisions));
      changed_.notify();
    }
  }
}

void EtcdFeed::append(std::vector<RevisionChanges> revisions) {
  for (RevisionChanges& one : revisions) log_.append(one.revision, std::move(one.changes));
  seen_ = log_.head();
  const EtcdOptions& options = client_.options();
  while (log_.size() > options.log_changes || log_.bytes() > options.log_bytes) {
    if (log_.oldest() == log_.head()) break;  // the newest revision stays, however large
    log_.forget_oldest();
  }
}

void EtcdFeed::end(Error why) {
  if (ended_) return;
  ended_ = std::move(why);
  changed_.notify();
  scope_.cancel();
}

}  // namespace fairlead::store
