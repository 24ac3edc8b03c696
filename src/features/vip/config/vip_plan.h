// VipPlan: what a node's configuration asks of virtual IPs, checked: who takes part in the election
// and how, which addresses this node can hold, and what decides whether it is well enough to hold
// them. Made from the agent's file by check_vip() (vip_config.h); carried out by the engine and by
// what runs beside it in the agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/election/settings.h"
#include "features/vip/engine/engine.h"
#include "foundation/runtime/stream.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

inline constexpr const char* kDefaultStateDir = "/var/lib/fairlead-vip";

enum class Backend { raft, etcd, kubernetes };

// Paths of PEM files; all empty: no TLS.
struct TlsFiles {
  std::string ca, certificate, key;
  bool empty() const { return ca.empty() && certificate.empty() && key.empty(); }
  auto operator<=>(const TlsFiles&) const = default;
};

struct ElectionConfig {
  Backend backend = Backend::raft;
  runtime::Endpoint listen;  // raft
  // The members of raft, with this node once it has its name (name_node), and the times.
  Settings settings;
  // This node's address as the others reach it, if `listen` is every address or the peers list
  // this node too; else that of `listen`.
  std::string own_address;
  std::string secret_file;  // empty: none
  TlsFiles tls;             // between the peers
  bool keep_without_quorum = false;
  bool allow_weaker_fence = false;          // hold also where the kernel cannot fence
  bool without_fence = false;               // nothing is fenced: to see what the fence is for
  bool witness = false;                     // a member that holds nothing
  std::vector<std::string> etcd_endpoints;  // URLs
  TlsFiles etcd_tls;
  std::string etcd_prefix;
  std::string kubeconfig;
  std::string lease_namespace;
};

// A question whose answer decides whether this node is well enough to hold a VIP.
struct GateConfig {
  enum class Kind { tcp, http, command };
  std::string name;  // "tcp 127.0.0.1:6443", "http https://127.0.0.1/livez", "command /bin/check"
  Kind kind = Kind::tcp;
  std::string target;          // as written: endpoint, URL, or the command with its arguments
  runtime::Endpoint endpoint;  // tcp, http: where to connect
  bool tls = false;            // http: https
  std::string path;            // http: path and query
  std::string host;            // http: Host header, and the name that the certificate must have
  std::vector<int> status;     // http: what counts as well; empty: 200 to 399
  std::string ca_file;         // https; empty: the CAs that this host trusts
  bool insecure = false;       // https: any certificate will do
  std::vector<std::string> command;
  Duration interval = 1s;
  Duration timeout = 1s;
  int rise = 2;  // so many good answers in a row make it well again …
  int fall = 3;  // … and so many bad ones in a row sick

  bool operator==(const GateConfig&) const = default;
};

// How others find the holder of a VIP.
enum class Announce {
  l2,        // ARP and neighbour discovery
  bgp,       // a route to it, by a BIRD that the agent runs
  route,     // the same address on the host, for a routing daemon of the operator's own
  external,  // the operator's load balancer has the address: nothing is announced
};

struct BgpNeighbor {
  Ip address;
  std::uint32_t as = 0;
  std::string password_file;  // TCP MD5; empty: none
  std::optional<Ip> source;   // of the session on this host; nothing: as the route there has it
  int multihop = 0;           // routers in between, and this one; 0: it is on-link
  bool bfd = true;
  bool operator==(const BgpNeighbor&) const = default;
};

struct BgpConfig {
  std::uint32_t as = 0;
  Ip router_id;  // of IPv4
  std::vector<BgpNeighbor> neighbors;
  Duration hold = 9s;
  Duration keepalive = 3s;
  Duration connect_retry = 5s;
  Duration bfd_interval = 100ms;
  int bfd_multiplier = 3;
  std::string bird;  // the program; birdc is beside it
  bool operator==(const BgpConfig&) const = default;
};

struct VipEntry {
  VipConfig vip;
  Announce announce = Announce::l2;
  bool anycast = false;  // every healthy node announces it: no election
  // One node holds it at a time. Others are not of the engine's concern.
  bool elected() const { return !anycast && announce != Announce::external; }
  std::vector<GateConfig> gates;    // all of them must be well
  std::vector<std::string> notify;  // command and arguments; empty: none
  Duration notify_timeout = 10s;
};

// What this node accepts of the VirtualIP objects of its API.
struct FromApi {
  std::vector<Cidr> addresses;        // that theirs must be in; empty: any
  std::vector<std::string> programs;  // that they may have run
  std::size_t limit = 100;
};

// A load balancer of kube-vip's file.
struct KubeVipLoadBalancer {
  enum class Type { tcp, udp, http };
  struct Backend {
    std::string address;  // of tcp and udp; of http the host of its URL
    std::uint16_t port = 0;
    bool tls = false;  // http
    std::string path;  // http
    bool operator==(const Backend&) const = default;
  };
  std::string name;
  Type type = Type::tcp;
  std::uint16_t port = 0;
  bool bind_to_vip = false;
  std::vector<Backend> backends;
};

struct VipPlan {
  std::string node;  // as the file says; empty: name_node() says it
  ElectionConfig election;
  std::string state_dir = kDefaultStateDir;
  std::vector<VipEntry> vips;
  std::optional<BgpConfig> bgp;
  std::optional<FromApi> from_api;                  // nothing: only the file counts
  std::vector<KubeVipLoadBalancer> load_balancers;  // not served yet
  std::vector<std::string> notes;  // what is weak, or means something else here: for log and status
};

}  // namespace fairlead::vip
