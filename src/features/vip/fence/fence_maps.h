// What the kernel programs (fence.bpf.c) and the processes around them share: the maps' keys and
// values, and what is counted. Plain C, included by both.
//
//   addresses   VIP → its slot. A VIP that is not here is not fenced.
//   deadlines   slot → until when this host may answer, boot time in nanoseconds; 0: closed. An
//               array that processes map into their memory: moving a deadline is one store of
//               eight bytes, which the programs see whole.
//   sightings   slot → what was seen of the VIP by whoever passed; mapped like the deadlines
//   guarded     the interfaces that the programs are attached to, by index
//   counters    what the programs dropped, per processor
//
// The key of `addresses` is the address in all versions: a version that changes anything else
// takes the VIPs over closed, so that none is ever without a fence.
#pragma once

#include <linux/types.h>

#define FL_FENCE_SLOTS 1024
#define FL_FENCE_GUARDED 4096

struct fl_fence_address {
  __u8 bytes[16];  // IPv4 as ::ffff:a.b.c.d
};

struct fl_fence_place {
  __u32 slot;
  __u32 ifindex;  // of the VIP's interface, for people; the programs do not care
};

struct fl_fence_sighting {
  __u64 first_packet;  // boot time of the first packet to the VIP while it was open; 0: none yet.
                       // Processes set it to 0.
  __u64 claims;        // how often others said that the VIP is theirs (ARP, advertisements)
  __u8 claimant[6];    // the MAC that the last of them came from
  __u8 room[2];
};

enum fl_fence_counter {
  FL_FENCE_ARP,       // own ARP with a closed VIP as sender
  FL_FENCE_ND,        // own neighbour advertisement for a closed VIP
  FL_FENCE_SOURCE,    // own packet with a closed VIP as source
  FL_FENCE_QUESTION,  // ARP request or neighbour solicitation for a closed VIP of this host
  FL_FENCE_DELIVERY,  // packet to a closed VIP of this host
  FL_FENCE_TRANSIT,   // not dropped: forwarded for others from a closed VIP
  FL_FENCE_COUNTERS,
};
