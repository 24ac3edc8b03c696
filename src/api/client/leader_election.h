// Leader election on a coordination.k8s.io/v1 Lease, with client-go's record and rules, and what it
// lacks: fencing by a local deadline.
//
// ElectionMachine is pure: its inputs are the Lease as read, the outcome of its own writes and the
// local time; its output is the record to write. Remote clocks are never compared with the local
// one: a record has expired when *this* process has seen it unchanged for its whole duration. A
// leader may act only until deadline(), which counts from *before* the renewal was sent, so it
// stops before another candidate may begin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/client/rest_client.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/time.h"

namespace fairlead::client {

struct ElectionTimes {
  Duration lease = 15s;           // other candidates wait this long for a silent leader
  Duration renew_deadline = 10s;  // a leader that cannot renew gives up after this
  Duration retry = 2s;
};

// lease > renew_deadline > 1.2 × retry, whole seconds for the lease.
Result<> check_election_times(const ElectionTimes& times);

struct LeaseRecord {
  std::string holder;
  std::int64_t duration_seconds = 0;
  std::string acquire_time;
  std::string renew_time;
  std::int64_t transitions = 0;
  bool operator==(const LeaseRecord&) const = default;
};

class ElectionMachine {
 public:
  ElectionMachine(std::string identity, ElectionTimes times)
      : identity_(std::move(identity)), times_(times) {}

  // The Lease as it was read at `now`; nullopt: it does not exist.
  void observe(std::optional<LeaseRecord> record, Instant now);

  // The record to write now; nullopt while another candidate holds the Lease. `wall` is for the
  // timestamps that people read.
  std::optional<LeaseRecord> plan(Instant now, WallTime wall) const;

  // Our write of `record`, begun at `began`, was accepted.
  void written(const LeaseRecord& record, Instant began);

  bool leads(Instant now) const { return deadline_ && now < *deadline_; }
  // Until when this process may act as leader; nullopt: it does not lead.
  std::optional<Instant> deadline() const { return deadline_; }
  void resign() { deadline_.reset(); }
  const std::string& holder() const;

 private:
  std::string identity_;
  ElectionTimes times_;
  std::optional<LeaseRecord> seen_;
  Instant seen_at_{};  // when it last changed, by our clock
  std::optional<Instant> deadline_;
};

// Runs an election: `lead` is started when elected and cancelled when leadership is lost or its
// deadline passes. Cancelling run() ends the term; await release() afterwards, so that the next
// leader need not wait for the Lease to expire.
class LeaderElector {
 public:
  LeaderElector(runtime::Runtime& runtime, RestClient& client, std::string namespace_name,
                std::string name, std::string identity, ElectionTimes times = {});

  Task<void> run(std::function<Task<void>()> lead);
  // Releases the Lease if this process holds it.
  Task<void> release();
  bool leads() const { return machine_.leads(runtime_.now()); }

 private:
  Task<Result<>> try_once();
  Json lease_object(const LeaseRecord& record) const;

  runtime::Runtime& runtime_;
  RestClient& client_;
  std::string namespace_name_;
  std::string name_;
  ElectionTimes times_;
  ElectionMachine machine_;
  std::string version_;  // resourceVersion of the Lease as last read or written; empty: none
};

}  // namespace fairlead::client
