// Virtual IPs in the agent's configuration file, as they are written: the fields `election`,
// `virtualIPs` and `state`. Types and descriptions only; the rules are in vip_config.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/resource/schema/describe.h"

namespace fairlead::vip {

struct PeerSettings {
  std::string name;
  std::string address;

  template <class V>
  static void describe(V& v) {
    v.field("name", &PeerSettings::name)
        .required()
        .description("The node's name, as its own file or host name has it.");
    v.field("address", &PeerSettings::address)
        .required()
        .description("Its `election.listen`: ADDRESS:PORT. Names are not looked up.");
  }
};

struct TlsSettings {
  std::string ca;
  std::string certificate;
  std::string key;

  template <class V>
  static void describe(V& v) {
    v.field("ca", &TlsSettings::ca).description("File with the CA of the other side (PEM).");
    v.field("certificate", &TlsSettings::certificate)
        .description("File with this node's certificate, for client and server use (PEM).");
    v.field("key", &TlsSettings::key).description("File with the certificate's key (PEM).");
  }
};

struct EtcdSettings {
  std::vector<std::string> endpoints;
  TlsSettings tls;
  std::string prefix;

  template <class V>
  static void describe(V& v) {
    v.field("endpoints", &EtcdSettings::endpoints)
        .description("etcd's client URLs: `https://10.0.0.1:2379`.");
    v.field("tls", &EtcdSettings::tls).description("For https endpoints.");
    v.field("prefix", &EtcdSettings::prefix)
        .default_value("/fairlead-vip/")
        .description("Of all keys. Sites that share an etcd have one each.");
  }
};

struct KubernetesSettings {
  std::string kubeconfig;
  std::string lease_namespace;

  template <class V>
  static void describe(V& v) {
    v.field("kubeconfig", &KubernetesSettings::kubeconfig)
        .description("File with credentials for the API server whose Leases are used.");
    v.field("namespace", &KubernetesSettings::lease_namespace)
        .default_value("kube-system")
        .description("Namespace of the Leases.");
  }
};

struct ElectionSettings {
  std::string backend;
  std::string listen;
  std::vector<PeerSettings> peers;
  std::string lease;
  std::string renew;
  std::string margin;
  std::int64_t drift_ppm = 0;
  std::string secret_file;
  TlsSettings tls;
  std::string quorum_loss;
  std::string fence;
  bool witness = false;
  EtcdSettings etcd;
  KubernetesSettings kubernetes;

  template <class V>
  static void describe(V& v) {
    v.field("backend", &ElectionSettings::backend)
        .one_of({"raft", "etcd", "kubernetes"})
        .default_value("raft")
        .description(
            "What the nodes agree by: raft (among themselves), etcd, or kubernetes (Leases of an "
            "API server, which must not be reached by one of these virtual IPs).");
    v.field("listen", &ElectionSettings::listen)
        .description(
            "This node's own ADDRESS:PORT for its peers (raft, where it must be given). Not a "
            "virtual IP.");
    v.field("peers", &ElectionSettings::peers)
        .max_length(15)
        .description(
            "The other members (raft); this node may be among them, so that all nodes can have the "
            "same list. It counts at the first start: later what the members agreed on does.");
    describe_times(v);
    v.field("secretFile", &ElectionSettings::secret_file)
        .description(
            "File with a secret of at least 16 bytes that all members share (raft). Without it and "
            "without tls, whoever reaches the port can speak as any peer.");
    v.field("tls", &ElectionSettings::tls)
        .description(
            "Mutual TLS between the members (raft): all three files or none. Each certificate has "
            "the node's name among its DNS names. Needs TCP on the port of listen, too.");
    v.field("quorumLoss", &ElectionSettings::quorum_loss)
        .one_of({"release", "keep"})
        .default_value("release")
        .description(
            "What a holder does that reaches no majority: release gives its virtual IPs up; keep "
            "keeps them, and with that gives up the promise that no two nodes answer.");
    v.field("fence", &ElectionSettings::fence)
        .one_of({"required", "besteffort", "none"})
        .default_value("required")
        .description(
            "Whether virtual IPs are held only where the kernel can silence this host by itself "
            "(required), also where it cannot (besteffort), or without any fence (none), to see "
            "what it is for.");
    v.field("witness", &ElectionSettings::witness)
        .description(
            "This node only votes. A site with two machines needs a third that does. The same as "
            "to have no virtualIPs.");
    v.field("etcd", &ElectionSettings::etcd).description("Of the back end etcd.");
    v.field("kubernetes", &ElectionSettings::kubernetes).description("Of the back end kubernetes.");
  }

 private:
  template <class V>
  static void describe_times(V& v) {
    v.field("lease", &ElectionSettings::lease)
        .format("duration")
        .description(
            "How long a holder may answer after a majority granted it: the longer, the later a "
            "dead host is replaced. Default: 300ms (raft), 3s (etcd), 6s (kubernetes).");
    v.field("renew", &ElectionSettings::renew)
        .format("duration")
        .description("How often a holder renews. Default: lease / 10 (raft), lease / 4 (others).");
    v.field("margin", &ElectionSettings::margin)
        .format("duration")
        .description(
            "How long packets of an old holder may wait in its queues. Default: lease / 15, at "
            "least 20ms.");
    v.field("driftPpm", &ElectionSettings::drift_ppm)
        .minimum(0)
        .maximum(100'000)
        .default_value(1000)
        .description("By how many millionths the clocks of two nodes may differ in pace.");
  }
};

struct HealthSettings {
  std::string tcp;
  std::string http;
  std::vector<std::string> command;
  std::string interval;
  std::string timeout;
  std::int32_t rise = 0;
  std::int32_t fall = 0;
  std::vector<std::int32_t> status;
  std::string host;
  std::string ca_file;
  bool insecure = false;

  template <class V>
  static void describe(V& v) {
    v.field("tcp", &HealthSettings::tcp)
        .description("HOST:PORT that must accept a connection. Exactly one of tcp, http, command.");
    v.field("http", &HealthSettings::http)
        .description("URL, http:// or https://, that must answer a GET.");
    v.field("command", &HealthSettings::command)
        .description(
            "Program, by absolute path, and its arguments; exit status 0 is well. It runs as the "
            "agent's user and is killed with all it started at the timeout.");
    v.field("interval", &HealthSettings::interval)
        .format("duration")
        .default_value("1s")
        .description("How often it is asked; 50ms to 1h.");
    v.field("timeout", &HealthSettings::timeout)
        .format("duration")
        .default_value("1s")
        .description("An answer that takes longer is a bad one; 10ms to 1h.");
    v.field("rise", &HealthSettings::rise)
        .minimum(1)
        .maximum(100)
        .default_value(2)
        .description(
            "So many good answers in a row make it well again. The first answer counts "
            "alone.");
    v.field("fall", &HealthSettings::fall)
        .minimum(1)
        .maximum(100)
        .default_value(3)
        .description("So many bad answers in a row make it sick.");
    v.field("status", &HealthSettings::status)
        .max_length(50)
        .description("HTTP statuses that are good (http). Default: 200 to 399.");
    v.field("host", &HealthSettings::host)
        .description(
            "Host header, and with https the name that the certificate must have (http). Default: "
            "the URL's.");
    v.field("caFile", &HealthSettings::ca_file)
        .description("File with the CA of the server (https). Default: those this host trusts.");
    v.field("insecure", &HealthSettings::insecure).description("Any certificate will do (https).");
  }
};

struct VirtualIpSettings {
  std::string address;
  std::string interface;
  std::string announce;
  bool anycast = false;
  std::int32_t priority = 0;
  std::string preferred_node;
  std::string group;
  std::string apart;
  std::optional<bool> preempt;
  std::string preempt_delay;
  std::vector<HealthSettings> health;
  std::vector<std::string> notify;
  std::string notify_timeout;

  template <class V>
  static void describe(V& v) {
    v.field("address", &VirtualIpSettings::address)
        .required()
        .description("IPv4 or IPv6 address, without a prefix length. Nobody's own address.");
    v.field("interface", &VirtualIpSettings::interface)
        .description(
            "Where this node has the address. l2: the Ethernet interface in the address' network, "
            "which must be given. bgp, route: default lo.");
    v.field("announce", &VirtualIpSettings::announce)
        .one_of({"l2", "bgp", "route", "external"})
        .default_value("l2")
        .description(
            "How others find the holder: l2, by ARP and neighbour discovery in its network; bgp, "
            "by a host route that the agent announces to the neighbors of `bgp`; route, the "
            "address alone, for a routing daemon of your own to announce; external, a load "
            "balancer of your own has the address, and this node only asks its health gates.");
    v.field("anycast", &VirtualIpSettings::anycast)
        .description(
            "Every healthy node has the address and announces it (bgp, route): there is no "
            "election, and no promise that only one answers.");
    v.field("priority", &VirtualIpSettings::priority)
        .minimum(1)
        .maximum(1000)
        .default_value(100)
        .description("Of this node for this address: the highest holds it.");
    v.field("preferredNode", &VirtualIpSettings::preferred_node)
        .description("The node that should hold it whenever it can; before priority.");
    v.field("group", &VirtualIpSettings::group)
        .max_length(63)
        .description("Addresses of one group are held by one node and move together.");
    v.field("apart", &VirtualIpSettings::apart)
        .max_length(63)
        .description(
            "Addresses of one name here are held by different nodes while there are "
            "enough.");
    v.field("preempt", &VirtualIpSettings::preempt)
        .default_value(true)
        .description("Whether a better node takes it over while the holder is well.");
    v.field("preemptDelay", &VirtualIpSettings::preempt_delay)
        .format("duration")
        .default_value("10s")
        .description("For how long the better node must have been well before that; at most 1h.");
    v.field("health", &VirtualIpSettings::health)
        .max_length(16)
        .description(
            "All must be well, or this node gives the address up and does not take it; if no node "
            "is well, one keeps it.");
    v.field("notify", &VirtualIpSettings::notify)
        .description(
            "Program, by absolute path, and its arguments, run when this node has taken the "
            "address or given it up, with FAIRLEAD_VIP, FAIRLEAD_STATE (held or released), "
            "FAIRLEAD_EPOCH, FAIRLEAD_NODE and FAIRLEAD_INTERFACE in its environment.");
    v.field("notifyTimeout", &VirtualIpSettings::notify_timeout)
        .format("duration")
        .default_value("10s")
        .description("Then it is killed, with all it started; at most 1h.");
  }
};

struct BgpNeighborSettings {
  std::string address;
  std::int64_t as = 0;
  std::string password_file;
  std::string source_address;
  std::int32_t multihop = 0;
  std::optional<bool> bfd;

  template <class V>
  static void describe(V& v) {
    v.field("address", &BgpNeighborSettings::address)
        .required()
        .description(
            "The router's address. One of IPv4 is told the virtual IPs of IPv4, one of IPv6 those "
            "of IPv6.");
    v.field("as", &BgpNeighborSettings::as)
        .required()
        .minimum(1)
        .maximum(4'294'967'294)
        .description("Its AS number.");
    v.field("passwordFile", &BgpNeighborSettings::password_file)
        .description("File with the session's password (TCP MD5), at most 80 characters.");
    v.field("sourceAddress", &BgpNeighborSettings::source_address)
        .description("This node's own address in the session. Default: as routes have it.");
    v.field("multihop", &BgpNeighborSettings::multihop)
        .minimum(0)
        .maximum(255)
        .default_value(0)
        .description("The most hops to a router that is not on-link; 0: it is on-link.");
    v.field("bfd", &BgpNeighborSettings::bfd)
        .default_value(true)
        .description("Whether the session is watched by BFD, which the router must have, too.");
  }
};

struct BgpSettings {
  std::int64_t as = 0;
  std::string router_id;
  std::vector<BgpNeighborSettings> neighbors;
  std::string hold_time;
  std::string keepalive_time;
  std::string connect_retry_time;
  std::string bfd_interval;
  std::int32_t bfd_multiplier = 0;
  std::string bird;

  template <class V>
  static void describe(V& v) {
    v.field("as", &BgpSettings::as)
        .required()
        .minimum(1)
        .maximum(4'294'967'294)
        .description("This node's AS number.");
    v.field("routerId", &BgpSettings::router_id)
        .description(
            "An IPv4 address that no other router has. Default: that of election.listen, if it is "
            "one.");
    v.field("neighbors", &BgpSettings::neighbors)
        .required()
        .max_length(64)
        .description("The routers that are told the virtual IPs.");
    v.field("holdTime", &BgpSettings::hold_time)
        .format("duration")
        .default_value("9s")
        .description("A session without a word for so long is over; 3s to 1h, whole seconds.");
    v.field("keepaliveTime", &BgpSettings::keepalive_time)
        .format("duration")
        .default_value("3s")
        .description("How often a word is sent; 1s to a third of holdTime, whole seconds.");
    v.field("connectRetryTime", &BgpSettings::connect_retry_time)
        .format("duration")
        .default_value("5s")
        .description("After how long a session is tried again; 1s to 1h, whole seconds.");
    v.field("bfdInterval", &BgpSettings::bfd_interval)
        .format("duration")
        .default_value("100ms")
        .description("Between packets of BFD, whole milliseconds; 10ms to 10s.");
    v.field("bfdMultiplier", &BgpSettings::bfd_multiplier)
        .minimum(2)
        .maximum(255)
        .default_value(3)
        .description("So many packets of BFD that did not come end a session.");
    v.field("bird", &BgpSettings::bird)
        .default_value("/usr/sbin/bird")
        .description(
            "The program BIRD 2 (Debian's package bird2), with birdc beside it. The agent runs one "
            "of its own; a service of that name is not needed.");
  }
};

struct FromApiSettings {
  std::vector<std::string> addresses;
  std::vector<std::string> allowed_programs;
  std::int32_t limit = 0;

  template <class V>
  static void describe(V& v) {
    v.field("addresses", &FromApiSettings::addresses)
        .max_length(100)
        .description(
            "Blocks in CIDR notation that the addresses of such objects must be in, such as "
            "10.0.0.64/26. Default: any address.");
    v.field("allowedPrograms", &FromApiSettings::allowed_programs)
        .max_length(100)
        .description(
            "Programs, by absolute path, that such objects may have run here as health gates and "
            "notify commands. Default: none.");
    v.field("limit", &FromApiSettings::limit)
        .minimum(1)
        .maximum(1000)
        .default_value(100)
        .description("How many of them this node follows at most; the oldest count.");
  }
};

struct VipSettings {
  std::optional<ElectionSettings> election;
  std::vector<VirtualIpSettings> virtual_ips;
  std::optional<BgpSettings> bgp;
  std::optional<FromApiSettings> from_api;
  std::string state;

  template <class V>
  static void describe(V& v) {
    v.field("election", &VipSettings::election)
        .description("How the nodes agree on who holds a virtual IP. No API is needed for it.");
    v.field("virtualIPs", &VipSettings::virtual_ips)
        .max_length(1000)
        .description(
            "The virtual IPs that this node can hold. preferredNode, group, apart and preempt are "
            "of the address: give them alike on all nodes (those of the first by name count).");
    v.field("bgp", &VipSettings::bgp)
        .description("Sessions with routers, for virtual IPs with `announce: bgp`.");
    v.field("virtualIPsFromAPI", &VipSettings::from_api)
        .description(
            "Set, with nothing in it or more: this node also holds what VirtualIP objects of its "
            "API say, beside virtualIPs, which count where both have an address. Without the API "
            "it keeps what it saw last. Members and times of the election stay in this file.");
    v.field("state", &VipSettings::state)
        .description(
            "Folder for what the election must not forget: term, vote and members. Default: "
            "/var/lib/fairlead-vip.");
  }
};

}  // namespace fairlead::vip
