// The path of every frame of a virtual network, run by the kernel whether an agent lives or not.
//
//   fl_from_guest    on the host end of each station's veth pair, frames that the guest sends
//   fl_from_tunnel   on the one VXLAN device, frames that come from other hosts
//
// Both decide alone, from the maps that the agent fills: deliver here, send to the host that has
// the destination, answer (ARP, neighbour solicitation), or drop and count. No frame is ever handed
// to this host's own network stack, none is copied, nothing is learned from traffic.
#include "datapath.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// Sizes are the least that work; the agent sets those of its options before loading.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fl_tunnel);
} fl_tunnel SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, struct fl_port);
} fl_ports SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, struct fl_place_key);
  __type(value, struct fl_place);
} fl_places SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1024);
  __type(key, struct fl_answer_key);
  __type(value, struct fl_answer);
} fl_answers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, FL_COUNTERS);
  __type(key, __u32);
  __type(value, __u64);
} fl_counters SEC(".maps");

#define ALWAYS_INLINE static __attribute__((always_inline)) inline

#define ARP_REQUEST 1
#define ARP_REPLY 2
#define NEIGHBOUR_SOLICITATION 135
#define NEIGHBOUR_ADVERTISEMENT 136

struct arp_message {
  __u16 hardware, protocol;
  __u8 hardware_size, protocol_size;
  __u16 operation;
  __u8 sender_mac[ETH_ALEN];
  __u8 sender_ip[4];
  __u8 target_mac[ETH_ALEN];
  __u8 target_ip[4];
} __attribute__((packed));

struct neighbour_message {  // solicitation and advertisement alike, with one link-layer option
  __u8 type, code;
  __u16 checksum;
  __u32 flags;
  __u8 target[16];
  __u8 option_type, option_length;
  __u8 option_mac[ETH_ALEN];
};

struct ipv6_pseudo_header {
  __u8 source[16], destination[16];
  __u32 length;
  __u32 next_header;
};

ALWAYS_INLINE void count(__u32 what) {
  __u64* counter = bpf_map_lookup_elem(&fl_counters, &what);
  if (counter) ++*counter;
}

ALWAYS_INLINE int drop(__u32 why) {
  count(why);
  return TC_ACT_SHOT;
}

ALWAYS_INLINE int same(const void* a, const void* b, int size) {
  return __builtin_memcmp(a, b, size) == 0;
}

// The first `size` bytes of the frame, or null: to be asked again after anything that moves it.
ALWAYS_INLINE void* frame_start(struct __sk_buff* skb, __u32 size) {
  if ((void*)(long)skb->data + size > (void*)(long)skb->data_end && bpf_skb_pull_data(skb, size))
    return 0;
  if ((void*)(long)skb->data + size > (void*)(long)skb->data_end) return 0;
  return (void*)(long)skb->data;
}

ALWAYS_INLINE const struct fl_place* find_place(__u32 vni, const __u8* mac) {
  struct fl_place_key key = {.vni = vni};
  __builtin_memcpy(key.mac, mac, ETH_ALEN);
  return bpf_map_lookup_elem(&fl_places, &key);
}

ALWAYS_INLINE int send_to_local(__u32 ifindex) {
  count(FL_TO_LOCAL);
  return bpf_redirect(ifindex, 0);
}

ALWAYS_INLINE int send_to_remote(struct __sk_buff* skb, __u32 vni, const struct fl_place* place) {
  const __u32 zero = 0;
  const struct fl_tunnel* tunnel = bpf_map_lookup_elem(&fl_tunnel, &zero);
  if (!tunnel) return drop(FL_DROP_KERNEL);
  struct bpf_tunnel_key key = {.tunnel_id = vni, .tunnel_ttl = 64};
  __u64 flags;
  if (tunnel->family == 4) {  // addresses in host order, unlike IPv6 ones
    __be32 address;
    __builtin_memcpy(&address, place->host, 4);
    key.remote_ipv4 = bpf_ntohl(address);
    __builtin_memcpy(&address, tunnel->local, 4);
    key.local_ipv4 = bpf_ntohl(address);
    flags = BPF_F_ZERO_CSUM_TX;  // the frame carries its own; IPv6 demands one
  } else {
    __builtin_memcpy(key.remote_ipv6, place->host, 16);
    __builtin_memcpy(key.local_ipv6, tunnel->local, 16);
    flags = BPF_F_TUNINFO_IPV6;
  }
  if (bpf_skb_set_tunnel_key(skb, &key, sizeof(key), flags)) return drop(FL_DROP_KERNEL);
  count(FL_TO_REMOTE);
  return bpf_redirect(tunnel->ifindex, 0);
}

// Turns the request into its answer and sends it back.
ALWAYS_INLINE int answer_arp(struct __sk_buff* skb, const struct fl_port* port) {
  struct ethhdr* eth = frame_start(skb, ETH_HLEN + sizeof(struct arp_message));
  if (!eth) return drop(FL_DROP_MALFORMED);
  struct arp_message* arp = (void*)(eth + 1);
  const __u8 nothing[4] = {};

  if (arp->hardware != bpf_htons(1) || arp->protocol != bpf_htons(ETH_P_IP) ||
      arp->hardware_size != ETH_ALEN || arp->protocol_size != 4)
    return drop(FL_DROP_MALFORMED);
  const int probe = same(arp->sender_ip, nothing, 4);  // "has anybody this address?"
  if (!same(arp->sender_mac, port->mac, ETH_ALEN) || (!probe && !same(arp->sender_ip, port->v4, 4)))
    return drop(FL_DROP_SOURCE_ARP);
  if (arp->operation != bpf_htons(ARP_REQUEST)) return drop(FL_DROP_GROUP);
  if (same(arp->target_ip, port->v4, 4)) return drop(FL_DROP_GROUP);  // announces itself

  struct fl_answer_key key = {.vni = port->vni, .family = 4};
  __builtin_memcpy(key.ip, arp->target_ip, 4);
  const struct fl_answer* answer = bpf_map_lookup_elem(&fl_answers, &key);
  if (!answer) return drop(FL_DROP_NOBODY);

  __builtin_memcpy(eth->h_dest, port->mac, ETH_ALEN);
  __builtin_memcpy(eth->h_source, answer->mac, ETH_ALEN);
  arp->operation = bpf_htons(ARP_REPLY);
  __builtin_memcpy(arp->target_mac, port->mac, ETH_ALEN);
  __builtin_memcpy(arp->target_ip, arp->sender_ip, 4);
  __builtin_memcpy(arp->sender_mac, answer->mac, ETH_ALEN);
  __builtin_memcpy(arp->sender_ip, key.ip, 4);
  count(FL_ARP_ANSWERED);
  return bpf_redirect(skb->ifindex, 0);
}

ALWAYS_INLINE __u16 fold(__s64 sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return ~sum;
}

// A solicitation comes from the station's address, from a link-local one (Linux uses that to see
// whether a neighbour is still there) or from none (the address is about to be taken). The answer
// goes to the asker alone, so what it calls itself harms nobody.
ALWAYS_INLINE int answer_solicitation(struct __sk_buff* skb, const struct fl_port* port) {
  const __u32 answer_size = ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct neighbour_message);
  struct ethhdr* eth = frame_start(skb, answer_size - 8);  // the option may be missing
  if (!eth) return drop(FL_DROP_MALFORMED);
  struct ipv6hdr* ip = (void*)(eth + 1);
  struct neighbour_message* message = (void*)(ip + 1);
  if (message->type != NEIGHBOUR_SOLICITATION || message->code != 0 || ip->hop_limit != 255)
    return drop(FL_DROP_ND);

  const __u8 nothing[16] = {};
  const int probe = same(&ip->saddr, nothing, 16);
  const __u8* source = (const __u8*)&ip->saddr;
  const int link_local = source[0] == 0xfe && (source[1] & 0xc0) == 0x80;
  if (!probe && !link_local && !same(source, port->v6, 16)) return drop(FL_DROP_SOURCE_IP);
  if (same(message->target, port->v6, 16)) return drop(FL_DROP_ND);  // asks for itself

  struct fl_answer_key key = {.vni = port->vni, .family = 6};
  __builtin_memcpy(key.ip, message->target, 16);
  const struct fl_answer* answer = bpf_map_lookup_elem(&fl_answers, &key);
  if (!answer) return drop(FL_DROP_NOBODY);

  struct ipv6_pseudo_header pseudo = {.length = bpf_htonl(sizeof(struct neighbour_message)),
                                      .next_header = bpf_htonl(IPPROTO_ICMPV6)};
  __builtin_memcpy(pseudo.source, key.ip, 16);
  __builtin_memcpy(pseudo.destination, source, 16);
  if (probe) {  // there is nobody yet to answer to: all nodes, which is the asker
    __builtin_memset(pseudo.destination, 0, 16);
    pseudo.destination[0] = 0xff, pseudo.destination[1] = 0x02, pseudo.destination[15] = 1;
  }
  struct neighbour_message advertisement = {
      .type = NEIGHBOUR_ADVERTISEMENT,
      .flags = bpf_htonl(probe ? 0x20000000 : 0x60000000),  // override; solicited unless a probe
      .option_type = 2,                                     // the target's link-layer address
      .option_length = 1};
  __builtin_memcpy(advertisement.target, key.ip, 16);
  __builtin_memcpy(advertisement.option_mac, answer->mac, ETH_ALEN);
  __s64 sum = bpf_csum_diff(0, 0, (__be32*)&pseudo, sizeof(pseudo), 0);
  sum = bpf_csum_diff(0, 0, (__be32*)&advertisement, sizeof(advertisement), sum);
  advertisement.checksum = fold(sum);

  if (bpf_skb_change_tail(skb, answer_size, 0)) return drop(FL_DROP_KERNEL);
  eth = frame_start(skb, answer_size);
  if (!eth) return drop(FL_DROP_KERNEL);
  ip = (void*)(eth + 1);
  __builtin_memcpy(eth->h_dest, port->mac, ETH_ALEN);
  __builtin_memcpy(eth->h_source, answer->mac, ETH_ALEN);
  ip->payload_len = bpf_htons(sizeof(struct neighbour_message));
  __builtin_memcpy(&ip->saddr, pseudo.source, 16);
  __builtin_memcpy(&ip->daddr, pseudo.destination, 16);
  __builtin_memcpy(ip + 1, &advertisement, sizeof(advertisement));
  count(FL_ND_ANSWERED);
  return bpf_redirect(skb->ifindex, 0);
}

#define PLAIN_DISCOVERY 1
#define HIDDEN_DISCOVERY 2

ALWAYS_INLINE int is_extension(__u8 header) {
  return header == IPPROTO_HOPOPTS || header == IPPROTO_ROUTING || header == IPPROTO_DSTOPTS ||
         header == IPPROTO_AH;
}

// Whether a packet is neighbour discovery (RFC 4861), also behind extension headers, where no
// honest sender puts it and where it would pass for something else. In a fragment it may be cut up
// beyond recognition, so that every fragment with a hop limit of 255 counts as discovery: with any
// other limit no receiver accepts it, and hardly anything else is sent with that one in fragments.
ALWAYS_INLINE int neighbour_discovery(struct __sk_buff* skb, __u8 next_header, __u8 hop_limit) {
  __u32 offset = ETH_HLEN + sizeof(struct ipv6hdr);
  __u8 bytes[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (!is_extension(next_header)) break;
    if (bpf_skb_load_bytes(skb, offset, bytes, 2)) return HIDDEN_DISCOVERY;
    offset += next_header == IPPROTO_AH ? 8 + 4 * bytes[1] : 8 + 8 * bytes[1];
    next_header = bytes[0];
  }
  if (is_extension(next_header)) return HIDDEN_DISCOVERY;
  if (next_header == IPPROTO_FRAGMENT) return hop_limit == 255 ? HIDDEN_DISCOVERY : 0;
  if (next_header != IPPROTO_ICMPV6) return 0;
  if (bpf_skb_load_bytes(skb, offset, bytes, 1)) return HIDDEN_DISCOVERY;
  if (bytes[0] < 133 || bytes[0] > 137) return 0;
  return offset == ETH_HLEN + sizeof(struct ipv6hdr) ? PLAIN_DISCOVERY : HIDDEN_DISCOVERY;
}

SEC("tc")
int fl_from_guest(struct __sk_buff* skb) {
  const __u32 ifindex = skb->ifindex;
  const struct fl_port* port = bpf_map_lookup_elem(&fl_ports, &ifindex);
  if (!port) return drop(FL_DROP_PORT);
  struct ethhdr* eth = frame_start(skb, ETH_HLEN + sizeof(struct iphdr));
  if (!eth) return drop(FL_DROP_MALFORMED);
  if (!same(eth->h_source, port->mac, ETH_ALEN)) return drop(FL_DROP_SOURCE_MAC);
  if (skb->vlan_present) return drop(FL_DROP_PROTOCOL);

  const __u8 nothing[16] = {};
  if (eth->h_proto == bpf_htons(ETH_P_IP)) {
    const struct iphdr* ip = (void*)(eth + 1);
    if (same(port->v4, nothing, 4) || !same(&ip->saddr, port->v4, 4))
      return drop(FL_DROP_SOURCE_IP);
  } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
    eth = frame_start(skb, ETH_HLEN + sizeof(struct ipv6hdr));
    if (!eth) return drop(FL_DROP_MALFORMED);
    const struct ipv6hdr* ip = (void*)(eth + 1);
    if (same(port->v6, nothing, 16)) return drop(FL_DROP_SOURCE_IP);
    const int discovery = neighbour_discovery(skb, ip->nexthdr, ip->hop_limit);
    if (discovery == PLAIN_DISCOVERY) return answer_solicitation(skb, port);
    if (discovery) return drop(FL_DROP_ND);
    if (!same(&ip->saddr, port->v6, 16)) return drop(FL_DROP_SOURCE_IP);
  } else if (eth->h_proto == bpf_htons(ETH_P_ARP)) {
    return answer_arp(skb, port);
  } else {
    return drop(FL_DROP_PROTOCOL);
  }

  if (eth->h_dest[0] & 1) return drop(FL_DROP_GROUP);
  const struct fl_place* place = find_place(port->vni, eth->h_dest);
  if (!place) return drop(FL_DROP_NOBODY);
  if (place->ifindex) return send_to_local(place->ifindex);
  return send_to_remote(skb, port->vni, place);
}

// Whether the sender is a station of that network behind the very host that the packet came from.
ALWAYS_INLINE int is_behind(__u32 vni, const __u8* mac, const __u8* host) {
  const struct fl_place* sender = find_place(vni, mac);
  return sender && !sender->ifindex && same(sender->host, host, 16);
}

// Whether an address is that of the station with this MAC: then it is what others are answered.
ALWAYS_INLINE int has_address(const struct fl_answer_key* key, const __u8* mac) {
  const struct fl_answer* answer = bpf_map_lookup_elem(&fl_answers, key);
  return answer && same(answer->mac, mac, ETH_ALEN);
}

// A host is believed about its own stations and nothing else: not their neighbours' addresses, and
// not who a neighbour is, which every host answers itself.
SEC("tc")
int fl_from_tunnel(struct __sk_buff* skb) {
  struct bpf_tunnel_key key = {};
  __u8 host[16] = {};
  if (bpf_skb_get_tunnel_key(skb, &key, sizeof(key), 0) == 0) {
    const __be32 address = bpf_htonl(key.remote_ipv4);
    __builtin_memcpy(host, &address, 4);
  } else if (bpf_skb_get_tunnel_key(skb, &key, sizeof(key), BPF_F_TUNINFO_IPV6) == 0) {
    __builtin_memcpy(host, key.remote_ipv6, 16);
  } else {
    return drop(FL_DROP_PEER);
  }
  struct ethhdr* eth = frame_start(skb, ETH_HLEN + sizeof(struct iphdr));
  if (!eth) return drop(FL_DROP_MALFORMED);
  if (skb->vlan_present) return drop(FL_DROP_PROTOCOL);
  if (!is_behind(key.tunnel_id, eth->h_source, host)) return drop(FL_DROP_PEER);

  struct fl_answer_key source = {.vni = key.tunnel_id};
  if (eth->h_proto == bpf_htons(ETH_P_IP)) {
    const struct iphdr* ip = (void*)(eth + 1);
    source.family = 4;
    __builtin_memcpy(source.ip, &ip->saddr, 4);
  } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
    eth = frame_start(skb, ETH_HLEN + sizeof(struct ipv6hdr));
    if (!eth) return drop(FL_DROP_MALFORMED);
    const struct ipv6hdr* ip = (void*)(eth + 1);
    if (neighbour_discovery(skb, ip->nexthdr, ip->hop_limit)) return drop(FL_DROP_ND);
    source.family = 6;
    __builtin_memcpy(source.ip, &ip->saddr, 16);
  } else {
    return drop(FL_DROP_PROTOCOL);
  }
  if (!has_address(&source, eth->h_source)) return drop(FL_DROP_SOURCE_IP);

  if (eth->h_dest[0] & 1) return drop(FL_DROP_GROUP);
  const struct fl_place* place = find_place(key.tunnel_id, eth->h_dest);
  if (!place || !place->ifindex) return drop(FL_DROP_NOBODY);
  return send_to_local(place->ifindex);
}

char fl_license[] SEC("license") = "Apache-2.0";
