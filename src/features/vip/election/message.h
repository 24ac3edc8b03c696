// What the engines of two nodes tell each other. One datagram carries one Message; message_codec.h
// is its form on the wire, and the datagram is sealed (peers/seal.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/election/claim.h"
#include "features/vip/election/placement.h"
#include "features/vip/election/raft.h"
#include "features/vip/election/tenure.h"
#include "features/vip/election/wish.h"

namespace fairlead::vip {

// A peer's verdicts on one page of a heartbeat.
struct BeatAnswer {
  std::uint64_t sequence = 0;
  std::vector<Verdict> verdicts;
  auto operator<=>(const BeatAnswer&) const = default;
};

// The assigner's word: this VIP is to be held by this node (empty: by nobody).
struct Assignment {
  Ip vip;
  std::string node;
  Epoch epoch = 0;
  auto operator<=>(const Assignment&) const = default;
};

// A node's word to the assigner: it could hold this VIP.
struct Offer {
  Ip vip;
  std::uint32_t version = 0;  // counts this node's offers of this VIP
  bool withdrawn = false;
  bool healthy = true;
  std::int32_t priority = 100;
  VipOptions options;
  auto operator<=>(const Offer&) const = default;
};

// Which offer has arrived.
struct OfferSeen {
  Ip vip;
  std::uint32_t version = 0;
  auto operator<=>(const OfferSeen&) const = default;
};

struct Message {
  std::uint64_t incarnation = 0;  // of the sender's engine
  std::optional<RaftMessage> raft;
  std::optional<Beat> beat;
  std::optional<BeatAnswer> answer;
  std::vector<Claim> released;
  bool released_all = false;
  bool claim_again = false;             // what stood in the way of a claim was released
  std::vector<Assignment> assignments;  // from the assigner, whose term is in `term`
  std::vector<Claim> assignments_seen;  // VIP and epoch
  std::vector<Offer> offers;
  std::vector<OfferSeen> offers_seen;
  std::uint64_t term = 0;
  std::vector<NumberedWish> wishes;  // to the assigner
  std::vector<WishAnswer> wish_answers;
  std::uint64_t instance = 0;  // of the sender's disk; 0: not told
  auto operator<=>(const Message&) const = default;
};

}  // namespace fairlead::vip
