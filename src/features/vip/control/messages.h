// What the agent and the engine tell each other over the engine's unix socket, as JSON.
//
//   Order   agent → engine: all that the engine is to know; each replaces the one before.
//   Report  engine → agent: how things stand, with the last passages (who took or lost a VIP).
//   Wish    agent → engine: something to be done once, by hand.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/resource/schema/describe.h"
#include "features/vip/election/tuning.h"
#include "features/vip/engine/engine.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

inline constexpr std::size_t kMostControlBytes = 4 << 20;

struct MemberOrder {
  std::string name;
  std::string address;

  bool operator==(const MemberOrder&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("name", &MemberOrder::name);
    v.field("address", &MemberOrder::address);
  }
};

// What this node shares with another one.
struct KeyOrder {
  std::string peer;
  std::string key;  // base64

  bool operator==(const KeyOrder&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("peer", &KeyOrder::peer);
    v.field("key", &KeyOrder::key);
  }
};

struct VipOrder {
  std::string address;
  std::string interface;
  std::int32_t priority = 0;
  std::string group, apart, preferred;
  bool preempt = false;
  std::int64_t preempt_delay = 0;  // ns
  bool healthy = false;
  bool routed = false;  // routers lead to it

  bool operator==(const VipOrder&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("address", &VipOrder::address);
    v.field("interface", &VipOrder::interface);
    v.field("priority", &VipOrder::priority);
    v.field("group", &VipOrder::group);
    v.field("apart", &VipOrder::apart);
    v.field("preferred", &VipOrder::preferred);
    v.field("preempt", &VipOrder::preempt);
    v.field("preemptDelay", &VipOrder::preempt_delay);
    v.field("healthy", &VipOrder::healthy);
    v.field("routed", &VipOrder::routed);
  }
};

struct Order {
  std::string node;
  std::string backend = "raft";  // or etcd, kubernetes
  std::string listen;
  std::string secret;  // of the whole election
  bool keyed = false;  // each pair of nodes has a key; without both, peers are not authenticated
  std::vector<KeyOrder> keys;
  std::vector<MemberOrder> members;
  std::int64_t lease = 0, renew = 0, margin = 0;  // ns
  std::int64_t drift_ppm = 0;
  bool keep_without_quorum = false;
  bool allow_weaker_fence = false;
  bool without_fence = false;
  std::vector<std::string> etcd_endpoints;
  std::string etcd_ca, etcd_certificate, etcd_key;  // files
  std::string etcd_prefix;
  std::string kubeconfig, lease_namespace;
  std::vector<VipOrder> vips;

  bool operator==(const Order&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("node", &Order::node);
    v.field("backend", &Order::backend);
    v.field("listen", &Order::listen);
    v.field("secret", &Order::secret);
    v.field("keyed", &Order::keyed);
    v.field("keys", &Order::keys);
    v.field("members", &Order::members);
    v.field("lease", &Order::lease);
    v.field("renew", &Order::renew);
    v.field("margin", &Order::margin);
    v.field("driftPpm", &Order::drift_ppm);
    v.field("keepWithoutQuorum", &Order::keep_without_quorum);
    v.field("allowWeakerFence", &Order::allow_weaker_fence);
    v.field("withoutFence", &Order::without_fence);
    v.field("etcdEndpoints", &Order::etcd_endpoints);
    v.field("etcdCa", &Order::etcd_ca);
    v.field("etcdCertificate", &Order::etcd_certificate);
    v.field("etcdKey", &Order::etcd_key);
    v.field("etcdPrefix", &Order::etcd_prefix);
    v.field("kubeconfig", &Order::kubeconfig);
    v.field("leaseNamespace", &Order::lease_namespace);
    v.field("vips", &Order::vips);
  }
};

// The engine's side of an order. `state` is its folder. Fails with invalid, naming the member.
Result<EngineOptions> engine_options(const Order& order, const std::string& state);
// How the election of an order reaches the others. Fails naming the field, file or address.
Result<std::unique_ptr<Electorate>> open_electorate(runtime::Runtime& runtime, const Order& order,
                                                    const std::string& state);
Result<std::vector<VipConfig>> vip_configs(const Order& order);
// By peer.
Result<std::map<std::string, std::string>> peer_keys(const Order& order);
// Whether an engine that runs by `before` can go on by `after`; else it must be started anew.
bool only_vips_differ(const Order& before, const Order& after);

// What another node told of a VIP, as far as this one knows.
struct OfferReport {
  std::string node;
  bool healthy = false;
  std::int32_t priority = 0;

  bool operator==(const OfferReport&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("node", &OfferReport::node);
    v.field("healthy", &OfferReport::healthy);
    v.field("priority", &OfferReport::priority);
  }
};

struct VipReport {
  std::string address;
  std::string interface;  // here; empty: this node does not offer it
  std::string holder;     // empty: nobody, as far as this node knows
  std::int64_t epoch = 0;
  bool here = false;     // this node answers for it now
  std::string since;     // RFC 3339: when the holder became it, as this node saw it
  bool healthy = false;  // here
  std::string problem;   // why this node cannot hold it
  // While it is held here: how often somebody removed its address, claims of others to it, and the
  // MAC of the last of them.
  std::int64_t put_back = 0;
  std::int64_t conflicts = 0;
  std::string rival;
  std::vector<OfferReport> others;  // who else could hold it; only if the report knows_others

  bool operator==(const VipReport&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("address", &VipReport::address);
    v.field("interface", &VipReport::interface);
    v.field("holder", &VipReport::holder);
    v.field("epoch", &VipReport::epoch);
    v.field("here", &VipReport::here);
    v.field("since", &VipReport::since);
    v.field("healthy", &VipReport::healthy);
    v.field("problem", &VipReport::problem);
    v.field("putBack", &VipReport::put_back);
    v.field("conflicts", &VipReport::conflicts);
    v.field("rival", &VipReport::rival);
    v.field("others", &VipReport::others);
  }
};

struct PeerReport {
  std::string name;
  std::string address;
  bool alive = false;  // heard within its lease
  std::string problem;

  bool operator==(const PeerReport&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("name", &PeerReport::name);
    v.field("address", &PeerReport::address);
    v.field("alive", &PeerReport::alive);
    v.field("problem", &PeerReport::problem);
  }
};

// A VIP was taken or given up here.
struct Passage {
  std::int64_t number = 0;  // counts from 1 in one run of the engine
  std::string vip;
  // held, released, lost; reached: the first packet of a neighbour came after it was held
  std::string what;
  std::int64_t epoch = 0;
  std::string at;    // RFC 3339
  std::string from;  // who held it before, as far as known
  std::string why;
  // How long each phase took, in microseconds; 0: not known. Of `held`; the last of `reached`.
  std::int64_t elect = 0;     // from the assignment's arrival to the majority's grant
  std::int64_t fence = 0;     // to the fence being open
  std::int64_t announce = 0;  // to the first announcement sent
  std::int64_t reach = 0;     // from then to the first packet

  bool operator==(const Passage&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("number", &Passage::number);
    v.field("vip", &Passage::vip);
    v.field("what", &Passage::what);
    v.field("epoch", &Passage::epoch);
    v.field("at", &Passage::at);
    v.field("from", &Passage::from);
    v.field("why", &Passage::why);
    v.field("electMicroseconds", &Passage::elect);
    v.field("fenceMicroseconds", &Passage::fence);
    v.field("announceMicroseconds", &Passage::announce);
    v.field("reachMicroseconds", &Passage::reach);
  }
};

struct Report {
  std::int64_t version = 0;      // changes with everything else, except times
  std::int64_t incarnation = 0;  // of the engine; 0: it waits for its first order
  std::string node;
  std::string leader;  // the assigner; empty: none is known
  std::int64_t term = 0;
  std::vector<MemberOrder> members;  // that count, whatever the file says
  std::int64_t lease = 0;            // ns, the same
  std::vector<PeerReport> peers;
  bool authenticated = false;
  bool knows_others = false;  // what other nodes offer: the assigner does, and everybody in a store
  std::string fence;
  std::string problem;       // why the engine does not run
  std::string not_believed;  // why the others do not listen to it
  std::vector<VipReport> vips;
  std::vector<Passage> passages;  // the last ones

  bool operator==(const Report&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("version", &Report::version);
    v.field("incarnation", &Report::incarnation);
    v.field("node", &Report::node);
    v.field("leader", &Report::leader);
    v.field("term", &Report::term);
    v.field("members", &Report::members);
    v.field("lease", &Report::lease);
    v.field("peers", &Report::peers);
    v.field("authenticated", &Report::authenticated);
    v.field("knowsOthers", &Report::knows_others);
    v.field("fence", &Report::fence);
    v.field("problem", &Report::problem);
    v.field("notBelieved", &Report::not_believed);
    v.field("vips", &Report::vips);
    v.field("passages", &Report::passages);
  }
};

// The engine's fence silences this host by itself; "none: why" says that there is none.
inline bool is_fenced(const Report& report) {
  return !report.fence.empty() && !report.fence.starts_with("none");
}

// What was measured in a while (election/soundings.h); times in nanoseconds.
struct PeerMeasure {
  std::string peer;
  std::int64_t sent = 0, answered = 0;
  std::int64_t total = 0, longest = 0;  // round trips

  bool operator==(const PeerMeasure&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("peer", &PeerMeasure::peer);
    v.field("sent", &PeerMeasure::sent);
    v.field("answered", &PeerMeasure::answered);
    v.field("totalNanoseconds", &PeerMeasure::total);
    v.field("longestNanoseconds", &PeerMeasure::longest);
  }
};

struct Measure {
  std::vector<PeerMeasure> peers;
  std::int64_t pause = 0;  // the longest
  std::int64_t write = 0;  // the longest, of a small file that is synced
  std::int64_t lease = 0, renew = 0, margin = 0, drift_ppm = 0;  // in force

  bool operator==(const Measure&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("peers", &Measure::peers);
    v.field("longestPauseNanoseconds", &Measure::pause);
    v.field("longestWriteNanoseconds", &Measure::write);
    v.field("leaseNanoseconds", &Measure::lease);
    v.field("renewNanoseconds", &Measure::renew);
    v.field("marginNanoseconds", &Measure::margin);
    v.field("driftPpm", &Measure::drift_ppm);
  }
};
// Two measures, one after the other, as one.
Measure together(const Measure& one, const Measure& other);
// For propose_timing() (election/tuning.h).
Measured measured_of(const Measure& measure);

// By hand (election/wish.h).
struct WishOrder {
  std::string kind;  // move, addMember, removeMember
  std::string vip, node, address;

  bool operator==(const WishOrder&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("kind", &WishOrder::kind);
    v.field("vip", &WishOrder::vip);
    v.field("node", &WishOrder::node);
    v.field("address", &WishOrder::address);
  }
};
Result<Wish> parse_wish(const WishOrder& order);

// JSON of one of the types above; fails with invalid, saying what does not fit.
template <class T>
Result<T> parse_control(std::string_view text) {
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text, {.max_bytes = kMostControlBytes}));
  return resource::decode<T>(parsed.value);
}

}  // namespace fairlead::vip
