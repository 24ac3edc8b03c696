// EtcdCommits: lets transactions that arrive while others are under way to etcd share the next
// call.
//
// A call costs etcd and us much more than a transaction in it. With few callers each transaction
// goes at once and alone; under load they gather by themselves, because only kUnderWay calls are
// made at a time, and a call takes along everything that waits (EtcdGroup says what may travel
// together).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "api/store/etcd/client.h"
#include "api/store/etcd/group.h"
#include "api/store/store.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {

class EtcdCommits {
 public:
  EtcdCommits(EtcdClient& client, const EtcdKeys& keys);
  ~EtcdCommits();

  // Revisions are those of etcd in that life of it; should it be restored before the transaction
  // is sent, it fails with conflict. REQUIRES: the transaction is valid. Cancelling takes it back
  // while it waits; after that its fate is not known to the one who cancelled.
  Task<Result<Committed>> commit(Transaction transaction, std::uint64_t life);

  static constexpr std::size_t kUnderWay = 2;
  static constexpr std::size_t kQueueBytes = 64 << 20;  // of what waits; more is refused
  // A conflict makes a group go twice: that many after it go in the form that lets one fail alone.
  static constexpr std::size_t kCautious = 16;

 private:
  struct Pending;
  using Group = std::vector<std::shared_ptr<Pending>>;

  void send();
  void refuse_overdue();
  void refuse_outlived();
  Group take_group(EtcdGroup& group);
  Task<Result<EtcdGroup::Outcomes>> ask(const EtcdGroup& group, std::uint64_t life);
  Task<void> carry_out();
  void take_back(const std::shared_ptr<Pending>& pending);

  EtcdClient& client_;
  const EtcdKeys& keys_;
  std::deque<std::shared_ptr<Pending>> queue_;
  std::size_t queue_bytes_ = 0;
  std::size_t under_way_ = 0;
  std::size_t cautious_ = 0;  // groups still to go in that form
  runtime::Scope scope_;      // last: its fibers use all of the above
};

}  // namespace fairlead::store
