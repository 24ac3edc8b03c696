// What the kernel programs (datapath.bpf.c) and the agent share: the maps' keys and values, and
// what is counted. Plain C, included by both. Every byte is significant, the zero ones too: the
// kernel compares keys as bytes, the agent compares values as bytes.
//
// A change here changes the maps' shape or meaning: raise FL_GENERATION, so that what an agent of
// another generation made is replaced and not misread.
#pragma once

#include <linux/types.h>

#define FL_GENERATION 1

// How the other hosts are reached. One entry, at 0.
struct fl_tunnel {
  __u32 generation;
  __u32 ifindex;   // of the VXLAN device
  __u32 family;    // of the underlay: 4 or 6
  __u8 local[16];  // this host's tunnel end; IPv4 in the first four bytes, here and below
};

// By the ifindex of a host end: who sits behind it, and so what it may send as. It has no address
// of a family that is all zero.
struct fl_port {
  __u64 owner;
  __u32 vni;
  __u8 mac[6];
  __u8 zero[2];
  __u8 v4[4];
  __u8 v6[16];
  __u8 zero_too[8];
};

// Where the frames to a MAC go.
struct fl_place_key {
  __u32 vni;
  __u8 mac[6];
  __u8 zero[2];
};
struct fl_place {
  __u64 owner;    // which station put this here: a hash of its id
  __u32 ifindex;  // of the host end; 0: on another host
  __u8 host[16];
  __u32 zero;
};

// Whose MAC is the answer when somebody asks for an address.
struct fl_answer_key {
  __u32 vni;
  __u32 family;  // 4 or 6
  __u8 ip[16];
};
struct fl_answer {
  __u64 owner;
  __u8 mac[6];
  __u8 zero[2];
};

enum fl_counter {
  FL_TO_LOCAL,   // handed to a station on this host
  FL_TO_REMOTE,  // sent to another host
  FL_ARP_ANSWERED,
  FL_ND_ANSWERED,
  FL_DROP_PORT,  // an interface that carries no station
  FL_DROP_MALFORMED,
  FL_DROP_SOURCE_MAC,
  FL_DROP_SOURCE_IP,
  FL_DROP_SOURCE_ARP,
  FL_DROP_ND,        // neighbour discovery other than solicitations that can be answered
  FL_DROP_GROUP,     // broadcast and multicast
  FL_DROP_PROTOCOL,  // neither ARP, IPv4 nor IPv6; VLAN tags
  FL_DROP_NOBODY,    // no station has the destination
  FL_DROP_PEER,      // from a tunnel end that the sender is not behind
  FL_DROP_KERNEL,    // a helper refused
  FL_COUNTERS,
};
