// NodeReport: what a node's agent has carried out of the virtual networks, told by itself. A
// released address is used again once every node concerned has reported its removal.
//
// Its name is the node's. As long as it exists the node counts: an agent makes it before it carries
// anything, and whoever deletes it says that the node is gone for good. It belongs to the node's
// Node where there is one, and goes with it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/resource/extended_metadata.h"
#include "api/resource/fairlead_group.h"
#include "api/resource/kind.h"
#include "api/resource/metadata.h"
#include "api/resource/schema/describe.h"

namespace fairlead::networks {

struct NodeReport {
  resource::ObjectMeta metadata;
  resource::ExtendedMetadata extended_metadata;
  std::string applied_own;
  std::map<std::string, std::string> applied;  // VNI → resourceVersion
  std::string applied_elsewhere;
  std::optional<resource::MicroTime> renew_time;
  std::optional<resource::Time> silent_since;

  template <class V>
  static void describe(V& v) {
    v.type_meta(resource::kFairleadApiVersion, "NodeReport");
    v.field("metadata", &NodeReport::metadata)
        .description("Standard metadata; the name is that of the node.");
    v.field("extendedMetadata", &NodeReport::extended_metadata)
        .description("Times of the latest writes, kept by the server.");
    v.field("appliedOwn", &NodeReport::applied_own)
        .description(
            "The resourceVersion up to which the node has carried out what became of its own "
            "attachments; networks that it left with the last of them are dropped.");
    v.field("applied", &NodeReport::applied)
        .description(
            "By virtual network (its VNI): the resourceVersion up to which the node has carried "
            "out what became of the attachments of other nodes there.");
    v.field("appliedElsewhere", &NodeReport::applied_elsewhere)
        .description(
            "The same for every virtual network that is not named in applied: the node carries "
            "nothing there that was removed up to this resourceVersion.");
    v.field("renewTime", &NodeReport::renew_time)
        .description(
            "When the agent last said that it lives; where the API has Leases it says so in one of "
            "kube-node-lease instead.");
    v.field("silentSince", &NodeReport::silent_since)
        .description(
            "Set by the server while the agent is silent: when it was last heard. The node's "
            "networks stay as they were told last.");
  }
};

resource::Kind node_report_kind();

}  // namespace fairlead::networks
