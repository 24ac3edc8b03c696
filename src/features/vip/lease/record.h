// The records of virtual IPs in a shared store (docs/design/022), and their form there: JSON that
// people can read. Pure.
//
// Reads what others wrote: what is too long, out of range or broken is refused as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/election/claim.h"
#include "features/vip/election/message.h"
#include "features/vip/election/timing.h"
#include "foundation/base/result.h"

namespace fairlead::vip {

// A node: its heartbeat, and everything that others must know of it.
struct NodeRecord {
  std::uint64_t instance = 0;     // of its disk; 0: nobody's, made to bar a node without a record
  std::uint64_t incarnation = 0;  // of its engine
  std::uint64_t sequence = 0;     // grows with every write of the node itself
  std::uint64_t table = 0;        // id of the table that claims, releases and bar are of
  Duration lease{};               // of its claims
  Epoch barred = 0;               // it claims only higher epochs
  bool gone = false;              // its engine ended in order
  std::vector<Claim> claims;      // in order
  std::vector<Claim> released;    // in order; never claimed again
  std::vector<Offer> offers;      // in the order of VIPs; version and withdrawn are not kept

  // The renewal that this record shows: differs from all others of the node.
  auto renewal() const { return std::tuple(instance, incarnation, sequence); }
  auto operator<=>(const NodeRecord&) const = default;
};

struct TableRow {
  std::string node;
  Epoch epoch = 0;
  bool leaving = false;  // the node is to release it
  auto operator<=>(const TableRow&) const = default;
};

// Who is to hold what.
struct TableRecord {
  std::uint64_t id = 0;        // drawn when the table was made
  std::uint64_t sequence = 0;  // grows with every write
  std::uint32_t term = 0;      // of the assigner
  std::uint32_t counter = 0;   // of epochs in this term
  std::string assigner;
  std::uint64_t incarnation = 0;  // of the assigner's engine
  Timing timing;
  std::map<Ip, TableRow> rows;
  std::map<Ip, std::string> by_hand;

  Epoch newest() const { return make_epoch(term, counter); }
  auto operator<=>(const TableRecord&) const = default;
};

std::string encode(const NodeRecord& record);
std::string encode(const TableRecord& table);
// Fail with invalid, saying what is wrong.
Result<NodeRecord> decode_node_record(std::string_view text);
Result<TableRecord> decode_table_record(std::string_view text);

}  // namespace fairlead::vip
