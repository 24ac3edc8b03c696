// Attachment: what the agent keeps of a NetworkAttachment, taken from its JSON.
//
// Of the thousands on other nodes only addresses and places are kept; of this node's own also what
// their hooks and their status need (Local).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/resource/networks/network_attachment.h"
#include "foundation/base/ip.h"
#include "foundation/base/time_text.h"
#include "foundation/wire/json.h"
#include "node/fabric/fabric.h"

namespace fairlead::agent {

// A virtual network, in the one namespace that its attachments are in.
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
  std::shared_ptr<const resource::ExecReport> report;  // most have none, and there are many
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
  // The host is of another address family than this one: no tunnel leads there.
  bool out_of_reach = false;
  // The later of the client's two writes that it depends on (its own and the subnet's), and when
  // its node had made it: what latencies are measured from.
  std::optional<CivilTime> asked;
  bool subnet_came_last = false;
  std::optional<CivilTime> implemented;
  std::shared_ptr<const Local> local;  // of this node's own

  std::string_view namespace_name() const { return std::string_view(key).substr(0, key.find('/')); }
  std::string_view name() const { return std::string_view(key).substr(key.find('/') + 1); }
  Network network() const { return {vni, std::string(namespace_name())}; }

  // The fabric's view: nothing while addresses, MAC or, of remote ones, the host are missing,
  // or the host is out of reach.
  std::optional<fabric::Station> station() const;
};

// Fails with corrupt if the object is none of that kind, or has no name, uid or version.
Result<Attachment> parse_attachment(const Json& object, const std::string& own_node,
                                    const Ip& own_host);

// A resourceVersion as the number that it is; 0 when it is none.
std::uint64_t parse_version(std::string_view text);

}  // namespace fairlead::agent
