// EtcdFeed: the one watch that a store keeps on etcd, and the recent changes it brought. Every
// Watch of the store reads from its log.
#pragma once

#include <optional>

#include "api/store/change_log.h"
#include "api/store/etcd/tail.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {

class EtcdFeed {
 public:
  // Begins at once to follow what comes after that revision.
  EtcdFeed(EtcdClient& client, const EtcdKeys& keys, std::uint64_t life, Revision after);

  const ChangeLog& log() const { return log_; }
  // The revision of the last event that came, 0 before the first.
  Revision seen() const { return seen_; }
  // Why no more will come; a new feed is needed then.
  const std::optional<Error>& ended() const { return ended_; }
  runtime::Signal& changed() { return changed_; }

  // The stream seems stuck: goes on at another member.
  void move_on() { tail_.move_on(); }
  void end(Error why);

 private:
  Task<void> follow();
  void append(std::vector<RevisionChanges> revisions);

  EtcdClient& client_;
  EtcdTail tail_;
  ChangeLog log_;
  Revision seen_ = 0;
  std::optional<Error> ended_;
  runtime::Signal changed_;
  runtime::Scope scope_;  // last: its fiber uses all of the above
};

}  // namespace fairlead::store
