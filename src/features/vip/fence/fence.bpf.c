// The fence of virtual IPs (docs/design/021): whether this host may answer for a VIP, decided by
// the kernel for every packet by comparing boot time with the VIP's deadline, whatever became of
// the process that moves the deadline.
//
//   fl_fence_in    what an interface receives. Drops packets and questions to a closed VIP that
//   this
//                  host would take as its own; marks what enters with a VIP as its source.
//   fl_fence_out   what an interface sends. Drops what speaks for a closed VIP, unless it entered
//                  this host like that (the mark): then it is transit.
//   fl_bare_in, fl_bare_out   the same on interfaces without Ethernet headers (tunnels)
//
// What they see by the way is noted: claims of others to a VIP, and the first packet to an open
// one.
//
// Everything else passes untouched to the next program. Tags of VLANs in the frame are skipped;
// those beside the frame do not matter, because a VIP is fenced in every VLAN.
#include "fence_maps.h"

#include <linux/bpf.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, FL_FENCE_SLOTS);
  __type(key, struct fl_fence_address);
  __type(value, struct fl_fence_place);
} fl_addresses SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, FL_FENCE_SLOTS);
  __type(key, __u32);
  __type(value, __u64);
} fl_deadlines SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, FL_FENCE_SLOTS);
  __type(key, __u32);
  __type(value, struct fl_fence_sighting);
} fl_sightings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, FL_FENCE_GUARDED);
  __type(key, __u32);
  __type(value, __u32);
} fl_guarded SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, FL_FENCE_COUNTERS);
  __type(key, __u32);
  __type(value, __u64);
} fl_counters SEC(".maps");

#define ALWAYS_INLINE static __attribute__((always_inline)) inline

#define PASS TC_ACT_UNSPEC  // to the next program; TCX_NEXT on tcx
#define DROP TC_ACT_SHOT

#define PACKET_HOST 0  // linux/if_packet.h
#define PACKET_OTHERHOST 3
#define LOOPBACK_IFINDEX 1  // in every network namespace
#define FAMILY_IPV4 2       // AF_INET, AF_INET6
#define FAMILY_IPV6 10
#define NEIGHBOUR_SOLICITATION 135
#define NEIGHBOUR_ADVERTISEMENT 136
#define ARP_REQUEST 1
#define MOST_TAGS 8        // VLAN tags that are skipped
#define MOST_EXTENSIONS 8  // IPv6 extension headers that are skipped

// In tc_index: entered this host with a VIP as its source. No other part of the kernel writes
// tc_index, and it stays with a packet that is forwarded, cut to pieces or put together.
#define ENTERED 0xfa1d

struct arp_head {  // the addresses follow
  __u16 hardware, protocol;
  __u8 hardware_size, protocol_size;
  __u16 operation;
};

enum kind { OTHER, ARP, ND, PACKET };

// Who a packet speaks for, and whom it is for: both all zero in what is not looked at.
struct names {
  struct fl_fence_address source;
  struct fl_fence_address target;
  enum kind kind;  // of the source: what it is counted as
  __u8 question;   // the target is asked for, not sent to
};

ALWAYS_INLINE void count(__u32 what) {
  __u64* counter = bpf_map_lookup_elem(&fl_counters, &what);
  if (counter) ++*counter;
}

ALWAYS_INLINE int load(struct __sk_buff* skb, __u32 offset, void* into, __u32 size) {
  return bpf_skb_load_bytes(skb, offset, into, size) == 0;
}

ALWAYS_INLINE int load_ipv4(struct __sk_buff* skb, __u32 offset, struct fl_fence_address* into) {
  into->bytes[10] = into->bytes[11] = 0xff;
  return load(skb, offset, into->bytes + 12, 4);
}

// Hardware addresses of any length: what counts is where the IPv4 addresses are.
ALWAYS_INLINE void read_arp(struct __sk_buff* skb, __u32 offset, struct names* names) {
  struct arp_head head;
  if (!load(skb, offset, &head, sizeof(head)) || head.protocol_size != 4) return;
  const __u32 sender = offset + sizeof(head) + head.hardware_size;
  if (load_ipv4(skb, sender, &names->source)) names->kind = ARP;
  names->question = 1;
  if (head.operation == bpf_htons(ARP_REQUEST))
    load_ipv4(skb, sender + 4 + head.hardware_size, &names->target);
}

ALWAYS_INLINE void read_ipv4(struct __sk_buff* skb, __u32 offset, struct names* names) {
  if (load_ipv4(skb, offset + 12, &names->source)) names->kind = PACKET;
  load_ipv4(skb, offset + 16, &names->target);
}

// Where the payload of an IPv6 packet is, behind its extension headers, and whether it is ICMPv6
// from its beginning.
ALWAYS_INLINE int find_icmpv6(struct __sk_buff* skb, __u32* offset, __u8 next) {
  for (int i = 0; i < MOST_EXTENSIONS; ++i) {
    __u8 head[4];
    if (next == IPPROTO_ICMPV6) return 1;
    if (!load(skb, *offset, head, sizeof(head))) return 0;
    if (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS) {
      *offset += ((__u32)head[1] + 1) * 8;
    } else if (next == IPPROTO_AH) {
      *offset += ((__u32)head[1] + 2) * 4;
    } else if (next == IPPROTO_FRAGMENT) {
      if (head[2] != 0 || (head[3] & 0xf8) != 0) return 0;  // not the first piece
      *offset += 8;
    } else {
      return 0;
    }
    next = head[0];
  }
  return 0;
}

// The address that a neighbour message is about. An advertisement speaks for it even from another
// source, a solicitation asks for it.
ALWAYS_INLINE void read_ipv6(struct __sk_buff* skb, __u32 offset, struct fl_fence_address* about,
                             __u8* type, struct names* names) {
  __u8 next = 0;
  __u32 payload = offset + sizeof(struct ipv6hdr);
  *type = 0;
  if (!load(skb, offset + 6, &next, 1)) return;
  if (load(skb, offset + 8, names->source.bytes, 16)) names->kind = PACKET;
  load(skb, offset + 24, names->target.bytes, 16);
  if (!find_icmpv6(skb, &payload, next)) return;
  if (!load(skb, payload, type, 1)) *type = 0;
  if (*type != NEIGHBOUR_SOLICITATION && *type != NEIGHBOUR_ADVERTISEMENT) return;
  if (!load(skb, payload + 8, about->bytes, 16)) *type = 0;
}

// Where the ethertype's protocol begins; 0: the frame is too short, or has more tags than any.
ALWAYS_INLINE __u32 skip_tags(struct __sk_buff* skb, __u16* ethertype) {
  __u32 offset = ETH_HLEN;
  for (int i = 0; i <= MOST_TAGS; ++i) {
    if (!load(skb, offset - 2, ethertype, 2)) return 0;
    if (*ethertype != bpf_htons(ETH_P_8021Q) && *ethertype != bpf_htons(ETH_P_8021AD) &&
        *ethertype != bpf_htons(ETH_P_QINQ1))
      return offset;
    offset += 4;
  }
  return 0;
}

ALWAYS_INLINE int is_slot_closed(__u32 slot) {
  const volatile __u64* deadline = bpf_map_lookup_elem(&fl_deadlines, &slot);
  return !deadline || bpf_ktime_get_boot_ns() >= *deadline;
}

// A VIP that this host may not answer for now.
ALWAYS_INLINE int is_closed(const struct fl_fence_address* address) {
  const struct fl_fence_place* place = bpf_map_lookup_elem(&fl_addresses, address);
  return place && is_slot_closed(place->slot);
}

// Whether the source is a VIP. Somebody's claim to it is noted.
ALWAYS_INLINE int is_from_vip(struct __sk_buff* skb, const struct names* names) {
  const struct fl_fence_place* place = bpf_map_lookup_elem(&fl_addresses, &names->source);
  if (!place) return 0;
  if (names->kind == PACKET || skb->ifindex == LOOPBACK_IFINDEX) return 1;
  const __u32 slot = place->slot;
  struct fl_fence_sighting* seen = bpf_map_lookup_elem(&fl_sightings, &slot);
  if (!seen) return 1;
  bpf_skb_load_bytes(skb, ETH_ALEN, seen->claimant, sizeof(seen->claimant));
  __sync_fetch_and_add(&seen->claims, 1);
  return 1;
}

// A packet to an open VIP from elsewhere: whoever sent it knows where the VIP is.
ALWAYS_INLINE void note_arrival(struct __sk_buff* skb, __u32 slot) {
  if (skb->pkt_type != PACKET_HOST || skb->ifindex == LOOPBACK_IFINDEX) return;
  struct fl_fence_sighting* seen = bpf_map_lookup_elem(&fl_sightings, &slot);
  if (seen && seen->first_packet == 0) seen->first_packet = bpf_ktime_get_boot_ns();
}

ALWAYS_INLINE int same(const struct fl_fence_address* a, const struct fl_fence_address* b) {
  return __builtin_memcmp(a, b, sizeof(*a)) == 0;
}

ALWAYS_INLINE int is_ipv4(const struct fl_fence_address* address) {
  const __u32* words = (const __u32*)address->bytes;
  return words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff);
}

// Whether a packet from here to there is not for this host but for another one, to which it would
// be forwarded. A host that forwards nothing has no transit.
ALWAYS_INLINE int is_forwarded(struct __sk_buff* skb, const struct names* names) {
  struct bpf_fib_lookup lookup = {.ifindex = skb->ifindex};
  if (is_ipv4(&names->target)) {
    lookup.family = FAMILY_IPV4;
    __builtin_memcpy(&lookup.ipv4_src, names->source.bytes + 12, 4);
    __builtin_memcpy(&lookup.ipv4_dst, names->target.bytes + 12, 4);
  } else {
    lookup.family = FAMILY_IPV6;
    __builtin_memcpy(lookup.ipv6_src, names->source.bytes, 16);
    __builtin_memcpy(lookup.ipv6_dst, names->target.bytes, 16);
  }
  switch (bpf_fib_lookup(skb, &lookup, sizeof(lookup), 0)) {
    case BPF_FIB_LKUP_RET_SUCCESS:
    case BPF_FIB_LKUP_RET_NO_NEIGH:
    case BPF_FIB_LKUP_RET_FRAG_NEEDED:
    case BPF_FIB_LKUP_RET_UNSUPP_LWT:
      return 1;
    default:
      return 0;
  }
}

ALWAYS_INLINE int judge_arrival(struct __sk_buff* skb, const struct names* names) {
  if (skb->pkt_type == PACKET_OTHERHOST) return PASS;  // for a neighbour's MAC: never taken as own
  // The holder's announcement is no question: the neighbour tables follow it.
  if (names->question && same(&names->source, &names->target)) return PASS;
  const struct fl_fence_place* place = bpf_map_lookup_elem(&fl_addresses, &names->target);
  if (!place) return PASS;
  const __u32 slot = place->slot;
  if (!is_slot_closed(slot)) {
    if (!names->question) note_arrival(skb, slot);
    return PASS;
  }
  if (is_forwarded(skb, names)) return PASS;
  count(names->question ? FL_FENCE_QUESTION : FL_FENCE_DELIVERY);
  return DROP;
}

// `bare`: the interface has no Ethernet header; the packet begins with IP.
ALWAYS_INLINE int read_names(struct __sk_buff* skb, struct names* names, int out, int bare) {
  struct fl_fence_address about = {};
  __u16 ethertype = bare ? (__u16)skb->protocol : 0;
  __u8 type = 0;
  const __u32 offset = bare ? 0 : skip_tags(skb, &ethertype);
  if (!offset && !bare) return 0;
  if (ethertype == bpf_htons(ETH_P_IP)) {
    read_ipv4(skb, offset, names);
  } else if (ethertype == bpf_htons(ETH_P_ARP)) {
    read_arp(skb, offset, names);
  } else if (ethertype == bpf_htons(ETH_P_IPV6)) {
    read_ipv6(skb, offset, &about, &type, names);
    if (type == NEIGHBOUR_ADVERTISEMENT && (!out || !is_closed(&names->source))) {
      names->source = about;
      names->kind = ND;
    } else if (type == NEIGHBOUR_SOLICITATION && !out) {
      names->target = about;
      names->question = 1;
    }
  } else {
    return 0;
  }
  return 1;
}

ALWAYS_INLINE int judge_in(struct __sk_buff* skb, int bare) {
  struct names names = {};
  if (!read_names(skb, &names, 0, bare)) return PASS;
  // Also takes away a mark that somebody else made.
  if (is_from_vip(skb, &names))
    skb->tc_index = ENTERED;
  else if (skb->tc_index == ENTERED)
    skb->tc_index = 0;
  return judge_arrival(skb, &names);
}

ALWAYS_INLINE int is_transit(struct __sk_buff* skb) {
  __u32 ifindex = skb->ingress_ifindex;
  return ifindex != 0 && skb->tc_index == ENTERED && bpf_map_lookup_elem(&fl_guarded, &ifindex);
}

ALWAYS_INLINE int judge_out(struct __sk_buff* skb, int bare) {
  struct names names = {};
  if (!read_names(skb, &names, 1, bare) || !is_closed(&names.source)) return PASS;
  if (is_transit(skb)) {
    count(FL_FENCE_TRANSIT);
    return PASS;
  }
  count(names.kind == ARP ? FL_FENCE_ARP : names.kind == ND ? FL_FENCE_ND : FL_FENCE_SOURCE);
  return DROP;
}

SEC("tc")
int fl_fence_in(struct __sk_buff* skb) { return judge_in(skb, 0); }

SEC("tc")
int fl_fence_out(struct __sk_buff* skb) { return judge_out(skb, 0); }

SEC("tc")
int fl_bare_in(struct __sk_buff* skb) { return judge_in(skb, 1); }

SEC("tc")
int fl_bare_out(struct __sk_buff* skb) { return judge_out(skb, 1); }

// The kernel lends bpf_fib_lookup only to programs under the GPL: this file may be used under it
// too, besides the licence of the project.
char fl_license[] SEC("license") = "Dual BSD/GPL";
