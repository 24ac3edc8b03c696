// IPLock: the record that one address of one virtual network is taken.
//
// Its name is the address, so that an address cannot be taken twice: creating the lock is taking
// the address. It is owned by the NetworkAttachment that holds the address. Its spec never changes;
// its labels and annotations do while the address is idle or in quarantine
// (features/networks/ipam/network_index.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/resource/extended_metadata.h"
#include "api/resource/fairlead_group.h"
#include "api/resource/kind.h"
#include "api/resource/metadata.h"
#include "api/resource/schema/describe.h"
#include "features/networks/kinds/virtual_network.h"
#include "foundation/base/ip.h"

namespace fairlead::networks {

// "v1-7-10-0-0-5" for 10.0.0.5 in network 7; "v2-7-fd00-0-0-0-0-0-0-5" for fd00::5.
std::string ip_lock_name(std::uint32_t vni, const Ip& ip);

struct LockedAddress {
  std::uint32_t vni = 0;
  Ip ip;
  bool operator==(const LockedAddress&) const = default;
};
// The inverse; fails with invalid for anything ip_lock_name would not have made.
Result<LockedAddress> parse_ip_lock_name(std::string_view name);

struct IPLockSpec {
  std::string subnet_name;

  template <class V>
  static void describe(V& v) {
    v.field("subnetName", &IPLockSpec::subnet_name)
        .required()
        .immutable()
        .description("Name of the Subnet, in the same namespace, the address belongs to.");
  }
};

struct IPLock {
  resource::ObjectMeta metadata;
  resource::ExtendedMetadata extended_metadata;
  IPLockSpec spec;

  template <class V>
  static void describe(V& v) {
    v.type_meta(resource::kFairleadApiVersion, "IPLock");
    v.field("metadata", &IPLock::metadata)
        .description("Standard metadata; the name says which address is locked.");
    v.field("extendedMetadata", &IPLock::extended_metadata)
        .description("Times of the latest writes, kept by the server.");
    v.field("spec", &IPLock::spec).required().description("Where the address comes from.");
  }
};

resource::Kind ip_lock_kind();

}  // namespace fairlead::networks
