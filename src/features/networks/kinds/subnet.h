// Subnet: a block of addresses in a virtual network.
//
// A virtual network has no object of its own: it is the set of Subnets that share a VNI, and they
// all live in one namespace. Attachments take their addresses from a Subnet once it is validated:
// no other validated Subnet of the VNI overlaps it or sits in another namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/resource/extended_metadata.h"
#include "api/resource/fairlead_group.h"
#include "api/resource/kind.h"
#include "api/resource/metadata.h"
#include "api/resource/schema/describe.h"
#include "features/networks/kinds/virtual_network.h"

namespace fairlead::networks {

struct SubnetSpec {
  std::uint32_t vni = 0;
  std::string ipv4;
  std::string ipv6;

  template <class V>
  static void describe(V& v) {
    v.field("vni", &SubnetSpec::vni)
        .required()
        .immutable()
        .minimum(1)
        .maximum(kMaxVni)
        .description("Number of the virtual network this subnet belongs to.");
    v.field("ipv4", &SubnetSpec::ipv4)
        .immutable()
        .description(
            "IPv4 block in CIDR notation, such as 10.1.0.0/16. At least one of ipv4 and "
            "ipv6 is needed.");
    v.field("ipv6", &SubnetSpec::ipv6)
        .immutable()
        .description("IPv6 block in CIDR notation, such as fd00:1::/64.");
  }
};

struct SubnetStatus {
  bool validated = false;
  std::vector<std::string> errors;

  template <class V>
  static void describe(V& v) {
    v.field("validated", &SubnetStatus::validated)
        .description("True once no conflict with another subnet was found; it then stays true.");
    v.field("errors", &SubnetStatus::errors)
        .description("Why the subnet cannot be used, in words.");
  }
};

struct Subnet {
  resource::ObjectMeta metadata;
  resource::ExtendedMetadata extended_metadata;
  SubnetSpec spec;
  SubnetStatus status;

  template <class V>
  static void describe(V& v) {
    v.type_meta(resource::kFairleadApiVersion, "Subnet");
    v.field("metadata", &Subnet::metadata).description("Standard metadata of the object.");
    v.field("extendedMetadata", &Subnet::extended_metadata)
        .description("Times of the latest writes, kept by the server.");
    v.field("spec", &Subnet::spec).required().description("What the subnet is to be.");
    v.field("status", &Subnet::status).description("What the server found out about it.");
  }
};

resource::Kind subnet_kind();

}  // namespace fairlead::networks
