// EtcdTail: every change below the root after a revision, in order and without gaps, across lost
// connections, dead members and lost leaders. One watch stream at a time.
//
// EtcdFeed has one for all watches; a watch that stands further back than the feed's memory has one
// of its own until it has caught up.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "api/store/etcd/assembler.h"
#include "api/store/etcd/client.h"
#include "api/store/etcd/keys.h"
#include "foundation/base/result.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

class EtcdTail {
 public:
  // `after` is a revision of etcd, in that life of it.
  EtcdTail(EtcdClient& client, const EtcdKeys& keys, std::uint64_t life, Revision after);
  ~EtcdTail();

  // The next whole revisions, at least one. Fails with gone when they were compacted or
  // etcd was restored, with cancelled, and with what no other member could do better (forbidden,
  // corrupt …). A cancelled call loses nothing; the next one goes on. One call at a time.
  Task<Result<std::vector<RevisionChanges>>> next();

  Revision position() const { return position_; }
  std::uint64_t life() const { return life_; }

  // Gives up the stream, which seems stuck, and goes on at another member.
  void move_on();

 private:
  using Revisions = std::vector<RevisionChanges>;
  using Reading = runtime::Nested<Result<Revisions>>;

  Task<Result<Revisions>> read_or_be_moved();
  Task<Result<Revisions>> read_once();
  Task<Result<>> connect();
  Result<Revisions> take(std::string_view message);
  void disconnect();

  EtcdClient& client_;
  const EtcdKeys& keys_;
  const std::uint64_t life_;
  Revision position_;
  std::size_t member_;
  bool failing_ = false;
  runtime::BackOff back_off_;
  std::unique_ptr<EtcdStream> stream_;
  std::optional<EtcdAssembler> assembler_;
  Reading* reading_ = nullptr;
  bool moving_on_ = false;
};

}  // namespace fairlead::store
