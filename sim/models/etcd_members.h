// EtcdMembers: an etcd cluster in the virtual world: one EtcdModel behind any number of machines,
// spoken to in etcd's own protocol (gRPC on the product's HTTP server).
//
//   EtcdMembers& etcd = world.own<EtcdMembers>(world, EtcdMembersSettings{});
//   std::vector<std::string> machines = etcd.start(world, 3);
//
// The members agree by construction; what goes wrong is what their clients can see of a real
// cluster: machines that crash, freeze or are cut off (the world's own faults), a leader that stops
// for a while or is lost, watches that lag, and writes whose answer is lost, carried out or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "foundation/http/server.h"
#include "foundation/runtime/channel.h"
#include "sim/models/etcd_model.h"
#include "sim/world/machine.h"
#include "sim/world/random.h"
#include "sim/world/world.h"

namespace fairlead::sim {

struct EtcdMembersSettings {
  std::uint16_t port = 2379;
  Delay before_commit{.least = 200us, .spread = 2ms, .spike_per_million = 5'000, .spike = 200ms};
  Delay after_commit{.least = 200us, .spread = 2ms};
  Delay watch_lag{.least = 0ms, .spread = 3ms, .spike_per_million = 10'000, .spike = 300ms};
  // etcd gives up on a proposal after this and says so, whatever becomes of it.
  Duration request_time = 7s;
  std::uint32_t lost_answers_per_million = 2'000;  // of writes: "request timed out", done or not
};

class EtcdMembers {
 public:
  explicit EtcdMembers(World& world, EtcdMembersSettings settings = {});

  // That many members, on machines of their own (etcd0, etcd1, …), whose names it returns.
  std::vector<std::string> start(World& world, std::size_t members);
  // Where the members are, for a client that turns to the `first` one first.
  std::vector<runtime::Endpoint> endpoints(std::size_t first) const;
  // A member on that machine, for as long as the machine runs.
  Task<void> serve(Machine& machine);

  const EtcdModel& model() const { return model_; }
  // What an operator does: stops every member and starts all of them again, at that time, as a
  // cluster that `etcdctl snapshot restore` made of the snapshot.
  void restore(World& world, const EtcdModel& snapshot);

  // A paused leader answers nobody; writes that gave up meanwhile are carried out later or never.
  void pause_leader() { leader_paused_ = true; }
  void resume_leader();
  // Without a leader members turn requests away and end their watches.
  void lose_leader();
  void elect_leader();
  // A leader that freezes, and one that is lost, each for a while, now and then between those
  // times.
  void trouble_the_leader(World& world, Duration begin, Duration end);

 private:
  class Member;
  struct Proposal {
    std::string path;
    std::string message;
  };
  struct Following {
    wire::etcd::WatchCreateRequest create;
    std::int64_t next = 0;              // the revision to be sent next
    std::int64_t compacted_before = 0;  // what was compacted when it began
  };

  Task<EtcdModel::Answer> answer(Machine& machine, std::string path, std::string message);
  Task<Result<>> leader_answers();
  EtcdModel::Answer apply(const Proposal& proposal);
  Task<void> watch(Machine& machine, http::Exchange& exchange, std::string message);
  Task<Result<>> send_until(http::Exchange& exchange, Following& following, std::int64_t last);

  EtcdMembersSettings settings_;
  Random random_;
  std::vector<std::string> machines_;
  EtcdModel model_;
  bool has_leader_ = true;
  bool leader_paused_ = false;
  std::vector<Proposal> orphans_;  // given up by the member, fate not yet drawn
  runtime::Signal changed_;        // the model or the leader
};

}  // namespace fairlead::sim
