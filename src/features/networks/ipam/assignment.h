// Which addresses one attachment is to have: a decision on the NetworkIndex, without I/O.
//
// What it has and may keep, it keeps: an address never changes under its user unless its subnet
// does. A lock that was lost is made again. Locks that it owns and does not use are let go. Picked
// addresses are reserved in the index at once, so that the next decision sees them taken;
// unreserve() gives back what was not written in the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/networks/ipam/network_index.h"
#include "foundation/base/ids.h"

namespace fairlead::ipam {

// One family's part.
struct Assigned {
  Ip ip;
  std::string lock_uid;   // empty: the lock is still to be made
  bool reserved = false;  // by this decision
};

struct Assignment {
  std::string attachment;  // key
  std::string uid;
  std::string subnet;      // key
  AttachmentFacts before;  // what it was decided on
  std::optional<Assigned> ipv4;
  std::optional<Assigned> ipv6;
  Vni vni = 0;  // 0: no address
  Mac mac;
  std::vector<std::string> errors;        // for status.errors.ipam
  bool node_known = true;                 // an agent has reported from there
  std::vector<std::string> unused_locks;  // keys
  std::vector<std::string> idle_locks;    // keys, of those it uses again
  bool exhausted = false;                 // the subnet is full: wait for any address …
  std::vector<Ip> wanted;                 // … or for these, which others hold
  std::string subnet_written;             // for status.subnetCreationTime
  // For metrics, from the attachment as it was written to.
  std::string spec_written;
  bool contended = false;

  bool needs_locks() const {
    return (ipv4 && ipv4->lock_uid.empty()) || (ipv6 && ipv6->lock_uid.empty());
  }
};

Assignment decide(NetworkIndex& index, const AttachmentFacts& attachment, const RandomBits& random);

void unreserve(NetworkIndex& index, const Assignment& assignment);

}  // namespace fairlead::ipam
