// EtcdModel: what an etcd cluster keeps and decides, as a plain value: keys with their history,
// transactions, compaction. It refuses what etcd refuses, in etcd's words. No clock, no network;
// sim/models/etcd_members.h puts it behind machines.
//
// Invariants
//   1. The log holds every event that ever happened, in order, several per revision.
//   2. revision() grows by one with every transaction that changes something, and only so.
//   3. The raft log grows with every proposal, whether it changes something or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/wire/etcd.h"
#include "foundation/wire/grpc.h"

namespace fairlead::sim {

class EtcdModel {
 public:
  struct Event {
    std::string key;
    bool erased = false;
    std::int64_t revision = 0;
    std::int64_t created = 0;
    std::int64_t version = 0;
    std::string value;
  };
  // An encoded response, or how the call fails.
  using Answer = std::expected<std::string, wire::GrpcStatus>;

  static constexpr std::size_t kMaxRequestBytes = 1536 * 1024;
  static constexpr std::size_t kMaxOperations = 128;

  Answer range(std::string_view request) const;
  Answer txn(std::string_view request);
  Answer compact(std::string_view request);
  Answer status(std::uint64_t member, std::uint64_t leader) const;

  // What `etcdctl snapshot restore` makes of a snapshot: the same keys at the same revisions, in a
  // cluster of the same name whose raft log begins anew.
  EtcdModel restored() const;

  std::int64_t revision() const { return revision_; }
  std::int64_t compacted() const { return compacted_; }
  const std::deque<Event>& log() const { return log_; }

 private:
  using Versions = std::vector<std::size_t>;  // places in log_, oldest first

  wire::etcd::ResponseHeader header() const;
  const Event* find(std::string_view key, std::int64_t at) const;
  std::expected<wire::etcd::RangeResponse, wire::GrpcStatus> read(
      const wire::etcd::RangeRequest& request) const;
  bool holds(const wire::etcd::Compare& compare) const;
  bool all_hold(const wire::etcd::TxnRequest& request) const;
  wire::etcd::TxnResponse carry_out(const wire::etcd::TxnRequest& request, bool succeeded,
                                    std::int64_t revision);
  Answer txn_group(const wire::etcd::TxnGroupRequest& request);
  wire::etcd::ResponseOp carry_out(const wire::etcd::RequestOp& op, std::int64_t revision);
  std::int64_t erase(std::string_view key, std::string_view end, std::int64_t revision);

  static constexpr std::uint64_t kFirstEntries = 3;  // of every log: members, version, an election
  std::uint64_t entries_ = kFirstEntries;            // of the raft log
  std::int64_t revision_ = 1;
  std::int64_t compacted_ = 0;
  std::deque<Event> log_;  // what was handed out stays where it is while it grows
  std::map<std::string, Versions, std::less<>> keys_;
};

}  // namespace fairlead::sim
