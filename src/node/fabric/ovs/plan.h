// What to change on the switch: pure functions from what is desired and what was observed.
//
// A port's number is asked for, so that flows can name it before the port is there. The switch may
// give another all the same, and is the one who says: so a plan has two halves, the ports and the
// flows of new stations side by side, then the flows of all others and of whom it gave another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/wire/openflow.h"
#include "node/fabric/fabric.h"

namespace fairlead::fabric::ovs {

// A port of ours, as the database and the switch have it.
struct ObservedPort {
  std::string name;                // of the Linux interface: the host's end
  std::optional<Station> station;  // what its record says; nullopt: unreadable
  std::int64_t number = 0;         // 0: none yet; negative: the switch cannot use the interface
  std::string error;
  std::int64_t interface = 0;  // the kernel's number of it, as the switch sees it; 0: gone
  std::string row;             // of the interface in the database
};

// Of any interface of the switch, ours or not. 0: none.
struct PortNumbers {
  std::int64_t given = 0;
  std::int64_t asked = 0;
};

struct Observed {
  std::map<std::string, ObservedPort, std::less<>> ports;  // by attachment
  std::set<std::string, std::less<>> links;                // host ends that exist
  std::set<std::string, std::less<>> misfits;              // those with another MTU than ours
  std::map<std::uint64_t, std::uint64_t> flows;            // cookie → fingerprint of its flows
  std::map<std::string, PortNumbers> numbers;              // by row in the database
  std::set<std::int64_t> named;                            // numbers in flows, as last looked at
  // By attachment: the number that its flows may name while its port has none.
  std::map<std::string, std::int64_t, std::less<>> asked;
  std::int64_t last_asked = 0;  // of all so far
};

// The record of a station beside its port, and back.
std::map<std::string, std::string> encode_record(const Station& station, std::string_view bridge);
std::optional<Station> decode_record(const std::map<std::string, std::string>& record);
constexpr std::string_view kRecordId = "fairlead-id";
constexpr std::string_view kRecordBridge = "fairlead-bridge";

// The alias of the host's end.
constexpr std::string_view kAliasPrefix = "fairlead ovs ";
std::string alias_of(std::string_view id);

struct PortPlan {
  std::vector<std::string> replace;  // ids whose interface must go before it is made anew
  std::vector<std::string> links;    // ids whose pair of interfaces is to be made
  std::vector<std::string> ports;    // ids whose port is to be made
  std::vector<std::string> records;  // ids whose port stays but whose record changes
  std::vector<std::string> resize;   // ids whose port stays but whose MTU changes
  std::vector<std::string> remove;   // ids whose port and interfaces go, after the flows
  bool operator==(const PortPlan&) const = default;
};
PortPlan plan_ports(const Desired& desired, std::span<const std::string> ids,
                    const Observed& observed);

// The port number to request for each port without a request so far: one that no port has and no
// flow refers to. Numbers come from the half that the switch does not use for its own choices; when
// they are used up, the switch chooses.
struct NumberPlan {
  std::map<std::string, std::int64_t, std::less<>> asked;
  std::int64_t last_asked = 0;
};
NumberPlan plan_numbers(std::span<const std::string> ids, const Observed& observed);

// Replaces all flows of one cookie by these, atomically.
struct FlowChange {
  std::string id;  // empty: nobody's
  std::uint64_t cookie = 0;
  bool remove = false;
  std::vector<wire::openflow::Flow> add;
  bool operator==(const FlowChange&) const = default;
};
// Local stations whose port has no number yet, and for which none was requested, are left out.
std::vector<FlowChange> plan_flows(const Desired& desired, std::span<const std::string> ids,
                                   const Observed& observed, std::uint32_t tunnel);
// Of these only the stations of which the switch has no flow at all: theirs take nobody's place.
std::vector<FlowChange> plan_new_flows(const Desired& desired, std::span<const std::string> ids,
                                       const Observed& observed, std::uint32_t tunnel);
// The same, in at most `most` parts that may be carried out side by side: in whatever order they
// are, the end is the same. Stations that keep their place but change stay together, so that
// packets see them change at once. A switch takes a few messages from each connection, then goes
// through all of its ports before it takes more: with a thousand ports that, and not the flows, is
// what many of them cost.
std::vector<std::vector<FlowChange>> share_flows(std::vector<FlowChange> changes, std::size_t most);
// What every bridge has, whatever it carries.
std::optional<FlowChange> plan_base_flows(const Observed& observed, std::uint32_t tunnel);
// Flows that belong to nothing desired.
std::vector<FlowChange> plan_stray_flows(const Desired& desired, const Observed& observed);

// Everything about the station with this id is as desired.
bool is_complete(const Station& station, const Observed& observed, std::uint32_t tunnel);

}  // namespace fairlead::fabric::ovs
