// VirtualIP: a virtual IP that agents take from the API, beside those of their files. Its spec is
// what one entry of `virtualIPs` in an agent's file says (config/vip_settings.h), with the nodes
// that take part and their priorities; who takes part in the election stays in the files.
//
// The status is told by the agents: each keeps its own entry in `nodes`, and the one that answers
// for the address keeps holder, epoch, since, health and fenced. The conditions follow from these;
// the server keeps them (server/virtual_ip_interlock.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/condition.h"
#include "api/resource/extended_metadata.h"
#include "api/resource/fairlead_group.h"
#include "api/resource/kind.h"
#include "api/resource/metadata.h"
#include "api/resource/schema/describe.h"
#include "features/vip/config/vip_settings.h"

namespace fairlead::vip {

inline constexpr std::string_view kVirtualIpKind = "VirtualIP";
inline constexpr std::string_view kVirtualIps = "virtualips";

// What a node says of a VirtualIP.
inline constexpr std::string_view kHolding = "Holding";      // it answers for the address
inline constexpr std::string_view kStandby = "Standby";      // it could
inline constexpr std::string_view kUnhealthy = "Unhealthy";  // it could, if all others were sick
inline constexpr std::string_view kUnable = "Unable";        // it cannot: no interface, no engine …
inline constexpr std::string_view kRefused = "Refused";      // by its file

struct VirtualIpNodeStatus {
  std::string state;
  std::string message;
  std::string rival;
  std::int64_t observed_generation = 0;

  bool operator==(const VirtualIpNodeStatus&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("state", &VirtualIpNodeStatus::state)
        .one_of({"Holding", "Standby", "Unhealthy", "Unable", "Refused"})
        .description("Holding, Standby, Unhealthy, Unable or Refused.");
    v.field("message", &VirtualIpNodeStatus::message)
        .max_length(1024)
        .description("Why it is not Standby or Holding, in words.");
    v.field("rival", &VirtualIpNodeStatus::rival)
        .max_length(64)
        .description("MAC of another machine that claims the address while this node holds it.");
    v.field("observedGeneration", &VirtualIpNodeStatus::observed_generation)
        .description("The metadata.generation that the node goes by.");
  }
};

struct VirtualIpStatus {
  std::string holder;
  std::int64_t epoch = 0;
  std::string since;
  std::string health;
  std::optional<bool> fenced;
  std::int64_t observed_generation = 0;
  std::map<std::string, VirtualIpNodeStatus> nodes;
  std::vector<resource::Condition> conditions;

  template <class V>
  static void describe(V& v) {
    v.field("holder", &VirtualIpStatus::holder)
        .description("The node that answers for the address, as it said itself.");
    v.field("epoch", &VirtualIpStatus::epoch)
        .description("Number of the holder's tenure: a later holder has a higher one.");
    v.field("since", &VirtualIpStatus::since)
        .max_length(64)
        .description("When the holder became it.");
    v.field("health", &VirtualIpStatus::health)
        .one_of({"Healthy", "Unhealthy"})
        .description("What the holder's health gates say: Healthy or Unhealthy.");
    v.field("fenced", &VirtualIpStatus::fenced)
        .description("Whether the holder's kernel silences it by itself when its time is over.");
    v.field("observedGeneration", &VirtualIpStatus::observed_generation)
        .description("The metadata.generation that the holder goes by.");
    v.field("nodes", &VirtualIpStatus::nodes)
        .description("What each node that takes part says, by its name.");
    v.field("conditions", &VirtualIpStatus::conditions)
        .keyed_by({"type"})
        .description("Ready, Fenced and Accepted; kept by the server.");
  }
};

// The members of the spec that an entry of an agent's file does not have.
struct VirtualIpNodes {
  std::vector<std::string> nodes;
  std::map<std::string, std::int32_t> priorities;

  template <class V>
  static void describe(V& v) {
    v.field("nodes", &VirtualIpNodes::nodes)
        .set_of_scalars()
        .max_length(100)
        .description(
            "Names of the nodes that can hold it. Default: every node whose agent takes virtual "
            "IPs from the API.");
    v.field("priorities", &VirtualIpNodes::priorities)
        .description("By name of node, 1 to 1000: the highest holds it. Default: 100.");
  }
};

struct VirtualIp {
  resource::ObjectMeta metadata;
  resource::ExtendedMetadata extended_metadata;
  Json spec;  // as virtual_ip_spec_schema() has it
  VirtualIpStatus status;

  template <class V>
  static void describe(V& v) {
    v.type_meta(resource::kFairleadApiVersion, "VirtualIP");
    v.field("metadata", &VirtualIp::metadata).description("Standard metadata of the object.");
    v.field("extendedMetadata", &VirtualIp::extended_metadata)
        .description("Times of the latest writes, kept by the server.");
    v.field("spec", &VirtualIp::spec).required().description("What the virtual IP is to be.");
    v.field("status", &VirtualIp::status).description("Who holds it, as the nodes say.");
  }
};

resource::Schema virtual_ip_spec_schema();
resource::Kind virtual_ip_kind();
std::vector<resource::Kind> kinds();

// Whether `node` is one of those that the spec names, or it names none.
bool takes_part(const Json& spec, std::string_view node);
// What the spec says for `node`, as an entry of its file would.
Result<VirtualIpSettings> settings_for(const Json& spec, const std::string& node);

}  // namespace fairlead::vip
