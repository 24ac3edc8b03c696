// Attachment: what the agent keeps of a NetworkAttachment, taken from its JSON.
//
// Of the thousands on other nodes only addresses and hosts are kept; of this node's own also the
// hooks and the status (Local).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/networks/kinds/network_attachment.h"
#include "foundation/base/ip.h"
#include "foundation/base/time_text.h"
#include "foundation/wire/json.h"
#include "node/fabric/fabric.h"

namespace fairlead::networks {

// A virtual network: its VNI and the namespace of its attachments.
struct Network {
  fabric::Vni vni = 0;
  std::string namespace_name;
  auto operator<=>(const Network&) const = default;
};

// The part of status that this node's agent writes.
struct HostStatus {
  std::string interface;
  std::string host;
  std::vector<std::string> errors;
  std::shared_ptr<const ExecReport> report;  // most have none, and there are many
};

struct Local {
  std::vector<std::string> post_create_exec;
  std::vector<std::string> post_delete_exec;
  HostStatus status;
};

struct Attachment {
  std::string key;  // "namespace/name"
  std::string uid;
  std::uint64_t version = 0;
  std::string node;
  fabric::Vni vni = 0;
  std::optional<Mac> mac;
  std::vector<Ip> addresses;  // IPv4 first
  std::optional<Ip> host;
  // The host's address is of another family than this host's: no tunnel leads there.
  bool out_of_reach = false;
  // For latencies: the later of the two client writes it depends on (its own and the subnet's), and
  // when its node had made the interface.
  std::optional<CivilTime> asked;
  bool subnet_came_last = false;
  std::optional<CivilTime> implemented;
  std::shared_ptr<const Local> local;  // null: it is on another node

  std::string_view namespace_name() const { return std::string_view(key).substr(0, key.find('/')); }
  std::string_view name() const { return std::string_view(key).substr(key.find('/') + 1); }
  Network network() const { return {vni, std::string(namespace_name())}; }

  // The station that the fabric is to carry; nullopt while its address, its MAC or, on another
  // node, its host is missing or out of reach.
  std::optional<fabric::Station> station() const;
};

// Fails with corrupt if the object is not a NetworkAttachment or lacks name, uid or version.
Result<Attachment> parse_attachment(const Json& object, const std::string& own_node,
                                    const Ip& own_host);

// A resourceVersion as a number; 0 if it is not one.
std::uint64_t parse_version(std::string_view text);

}  // namespace fairlead::networks
