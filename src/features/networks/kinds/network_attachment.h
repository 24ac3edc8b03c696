// NetworkAttachment: one network interface of a virtual network on one node.
//
// A user asks for it by node and subnet; either may be created later. Its status is filled in by
//
//   addresses, MAC, VNI    the server: in the creating transaction if there is a free address
//   (status.address)       (address_interlock.h), otherwise the address controller later
//   ifcName, hostIP        the node's agent, once it has made the interface
//   (status.impl)
//   postCreateExecReport   the node's agent, once the hook has ended
//   errors.host            the node's agent
//   conditions: Ready      the server, in each of these writes (readiness_interlock.h), and when
//                          the Node is deleted or its agent falls silent (readiness_keeper.h)
//
// Every other node with an attachment in the same VNI learns from it where the address lives.
#pragma once

#include <cstdint>
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
#include "features/networks/kinds/virtual_network.h"

namespace fairlead::networks {

// Reasons of the condition Ready that are about the node.
inline constexpr std::string_view kAgentSilent = "AgentSilent";
inline constexpr std::string_view kNodeUnknown = "NodeUnknown";

struct NetworkAttachmentSpec {
  std::string node;
  std::string subnet;
  std::string fixed_ipv4;
  std::string fixed_ipv6;
  std::vector<std::string> post_create_exec;
  std::vector<std::string> post_delete_exec;

  template <class V>
  static void describe(V& v) {
    using Spec = NetworkAttachmentSpec;
    v.field("node", &Spec::node)
        .required()
        .immutable()
        .description("Name of the node the interface is wanted on.");
    v.field("subnet", &Spec::subnet)
        .required()
        .immutable()
        .description("Name of the Subnet, in the same namespace, the addresses come from.");
    v.field("fixedIPv4", &Spec::fixed_ipv4)
        .immutable()
        .format("ipv4")
        .description("The IPv4 address wanted; empty takes any free one of the subnet.");
    v.field("fixedIPv6", &Spec::fixed_ipv6)
        .immutable()
        .format("ipv6")
        .description("The IPv6 address wanted; empty takes any free one of the subnet.");
    v.field("postCreateExec", &Spec::post_create_exec)
        .immutable()
        .description(
            "Command the node's agent runs once the interface exists. ${ifname}, ${ipv4}, "
            "${ipv6} and ${mac} are expanded in the arguments; the program must be on the "
            "agent's list of allowed ones.");
    v.field("postDeleteExec", &Spec::post_delete_exec)
        .description("Command the node's agent runs once the interface is gone. May be changed.");
  }
};

struct ExecReport {
  std::vector<std::string> command;
  std::optional<std::int32_t> exit_status;
  std::optional<resource::Time> start_time;
  std::optional<resource::Time> stop_time;
  std::string std_out;
  std::string std_err;

  template <class V>
  static void describe(V& v) {
    v.field("command", &ExecReport::command).description("The command as it was run.");
    v.field("exitStatus", &ExecReport::exit_status)
        .description("Its exit status; negative when it could not be run or did not exit.");
    v.field("startTime", &ExecReport::start_time).description("When it was started.");
    v.field("stopTime", &ExecReport::stop_time).description("When it ended.");
    v.field("stdOut", &ExecReport::std_out).description("What it wrote to standard output.");
    v.field("stdErr", &ExecReport::std_err).description("What it wrote to standard error.");
  }
};

// exitStatus of a hook that has none of its own.
inline constexpr int kHookNotStarted = -1;
inline constexpr int kHookEndedBySignal = -2;
inline constexpr int kHookTimedOut = -3;

// Why the hook failed, in a sentence; nullopt if it did not.
std::optional<std::string> describe_failure(const ExecReport& report);

// The line of status.errors.host about a hook ("postCreateExec") whose program the node does not
// allow, and whether a line is such a one.
std::string hook_not_allowed(std::string_view hook, std::string_view program);
bool is_hook_not_allowed(std::string_view error);

struct NetworkAttachmentErrors {
  std::vector<std::string> ipam;
  std::vector<std::string> host;

  template <class V>
  static void describe(V& v) {
    v.field("ipam", &NetworkAttachmentErrors::ipam)
        .description("Why no address could be assigned.");
    v.field("host", &NetworkAttachmentErrors::host)
        .description("Why the node could not make the interface.");
  }
};

struct NetworkAttachmentStatus {
  std::vector<resource::Condition> conditions;
  NetworkAttachmentErrors errors;
  std::optional<resource::MicroTime> subnet_creation_time;
  bool address_contention = false;
  std::string lock_uid;
  std::string ipv6_lock_uid;
  std::uint32_t address_vni = 0;
  std::string ipv4;
  std::string ipv6;
  std::string mac_address;
  std::string ifc_name;
  std::string host_ip;
  std::optional<ExecReport> post_create_exec_report;

  template <class V>
  static void describe(V& v) {
    using Status = NetworkAttachmentStatus;
    v.field("conditions", &Status::conditions)
        .keyed_by({"type"})
        .patch_merge("type")
        .description(
            "Ready, kept by the server: True once the interface exists and postCreateExec, if "
            "any, has ended well; otherwise its reason and message say what is missing.");
    v.field("errors", &Status::errors).description("What is wrong, by who found it.");
    v.field("subnetCreationTime", &Status::subnet_creation_time)
        .description("When the subnet's spec was written, for measuring latency.");
    v.field("addressContention", &Status::address_contention)
        .description("True once the address had to be waited for because the subnet was full.");
    v.field("lockUID", &Status::lock_uid).description("UID of the IPLock of the IPv4 address.");
    v.field("ipv6LockUID", &Status::ipv6_lock_uid)
        .description("UID of the IPLock of the IPv6 address.");
    v.field("addressVNI", &Status::address_vni)
        .maximum(kMaxVni)
        .description("Virtual network the addresses belong to.");
    v.field("ipv4", &Status::ipv4).format("ipv4").description("The IPv4 address assigned.");
    v.field("ipv6", &Status::ipv6).format("ipv6").description("The IPv6 address assigned.");
    v.field("macAddress", &Status::mac_address)
        .format("mac")
        .description("MAC address of the interface, unique in its virtual network.");
    v.field("ifcName", &Status::ifc_name).description("Name of the interface on its node.");
    v.field("hostIP", &Status::host_ip)
        .format("ip")
        .description("Address of the node, to which others send the tunnelled packets.");
    v.field("postCreateExecReport", &Status::post_create_exec_report)
        .description("What came of postCreateExec.");
  }
};

struct NetworkAttachment {
  resource::ObjectMeta metadata;
  resource::ExtendedMetadata extended_metadata;
  NetworkAttachmentSpec spec;
  NetworkAttachmentStatus status;

  template <class V>
  static void describe(V& v) {
    v.type_meta(resource::kFairleadApiVersion, "NetworkAttachment");
    v.field("metadata", &NetworkAttachment::metadata)
        .description("Standard metadata of the object.");
    v.field("extendedMetadata", &NetworkAttachment::extended_metadata)
        .description("Times of the latest writes, kept by the server.");
    v.field("spec", &NetworkAttachment::spec)
        .required()
        .description("Where an interface is wanted, and in which subnet.");
    v.field("status", &NetworkAttachment::status)
        .description("The addresses assigned and the interface made.");
  }
};

// The section status.address, as dotted paths: decided by the server alone (address assignment).
const std::vector<std::string>& attachment_address_fields();

resource::Kind network_attachment_kind();

}  // namespace fairlead::networks
