// Which addresses one attachment is to have: a decision on the NetworkRecords. Pure: the same
// records, attachment and random bits give the same assignment, and nothing is changed by it.
//
// What it has and may keep, it keeps: an address never changes under its user unless its subnet
// does. A lock that was lost is made again. Locks that it owns and does not use are let go.
// Addresses that are picked stay free until somebody reserves them (AddressController::assign).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/networks/ipam/network_records.h"
#include "foundation/base/ids.h"

namespace fairlead::ipam {

// One family's part.
struct Assigned {
  Ip ip;
  std::string lock_uid;  // empty: the lock is still to be made
  bool fresh = false;    // it is taken from the free ones
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

// `node_known`: an agent has reported from the node of the attachment.
Assignment decide(const NetworkRecords& networks, const AttachmentFacts& attachment,
                  bool node_known, const RandomBits& random);

}  // namespace fairlead::ipam
