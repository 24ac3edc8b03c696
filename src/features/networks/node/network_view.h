// NetworkView: the attachments that the agent knows, and what this host has to carry for them.
//
// Pure. Its input is what informers see: one for the node's own attachments (kLocal) and one for
// each relevant virtual network. It answers
//
//   relevant()  which networks need an informer: those with an attachment of this node
//   desired()   the stations that the fabric should carry
//   problems()  why an attachment of this node is not among them
//
// Each informer is in order by itself, but informers are not in step with one another, so several
// may show the same attachment, or two objects of the same name. The highest version counts.
// However their events interleave, the answers depend only on what each informer showed last.
//
// Invariants
//   1. Within a VNI no address and no MAC is desired twice; of several claimants none is desired.
//   2. Only stations of relevant networks are desired; informers of other networks are ignored.
//   3. A VNI that this node's attachments use in two namespaces is carried for neither.
//   4. Whenever desired() changes for an id, take_changed() returns that id.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "features/networks/node/attachment.h"
#include "foundation/base/string_map.h"

namespace fairlead::networks {

// Which informer it is: that of a network, or (kLocal) that of the node's own attachments.
using Source = std::optional<Network>;
inline constexpr std::nullopt_t kLocal = std::nullopt;

class NetworkView {
 public:
  // Attachments of this node are taken from kLocal only; from the others they are ignored.
  void put(const Source& source, Attachment attachment);
  void erase(const Source& source, std::string_view key);
  // The informer's whole list.
  void replace(const Source& source, std::vector<Attachment> attachments);
  // The informer has shown everything up to that version.
  void reached(const Source& source, std::uint64_t version);

  std::vector<Network> relevant() const;
  // Changes whenever relevant() does.
  std::uint64_t relevance() const { return relevance_; }
  bool is_relevant(const Network& network) const { return local_counts_.contains(network); }
  const fabric::Desired& desired() const { return desired_; }

  // Ids for which desired() or problems() may have changed since the last call.
  std::vector<std::string> take_changed();

  // Why this attachment is not desired though it has addresses; empty if nothing is wrong.
  std::vector<std::string> problems(std::string_view uid) const;

  // The attachment as it was seen last; null if it is not known, or not the newest of its name.
  const Attachment* find(std::string_view uid) const;

  // Those whose host cannot be reached from here, by key.
  std::vector<const Attachment*> out_of_reach() const;

  // The version as of which desired() is right about `uid`: the one that the informer which shows
  // it has reached, whatever other informers have seen.
  std::uint64_t known_up_to(std::string_view uid) const;

  std::size_t local_count() const { return local_total_; }

 private:
  struct Sighting {
    Source source;
    Attachment attachment;
  };
  // An address or a MAC of a VNI. An attachment is carried only if it alone claims it.
  struct Claim {
    fabric::Vni vni;
    std::variant<Ip, Mac> what;
    auto operator<=>(const Claim&) const = default;
  };
  struct Entry;
  using Claims = std::map<Claim, std::vector<Entry*>>;
  // What is known under one key. Its address is stable as long as some informer shows it.
  struct Entry {
    std::vector<Sighting> sightings{};  // at most one per source; nearly always one
    std::optional<fabric::Station> candidate{};
    std::vector<const Claims::value_type*> claims{};  // those of the candidate
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  static std::vector<Claim> claims_of(const fabric::Station& station);
  static const Sighting* newest(const Entry& entry);
  const Sighting* newest(std::string_view uid) const;
  static Sighting* sighting(Entry& entry, const Source& source);
  void remove(Entries::iterator at, const Source& source);
  void count_local(const Attachment& attachment, int by);
  void count_network(const Network& network, int by);
  void forget_network(const Network& network);
  void resolve(Entry& entry);
  void withdraw_claims(Entry& entry, std::vector<Entry*>& touched);
  void make_claims(Entry& entry, std::vector<Entry*>& touched);
  void release(const Entry& entry, const std::string& uid);
  void decide(const Entry& entry);
  void decide_all(fabric::Vni vni);
  void set_desired(const std::string& uid, const fabric::Station* station);
  bool contested(fabric::Vni vni) const;

  Entries entries_;  // by key
  Claims claims_;
  std::map<Source, std::uint64_t> reached_;
  std::map<Network, std::size_t> local_counts_;
  std::size_t local_total_ = 0;
  std::uint64_t relevance_ = 0;
  StringMap<Entry*> by_uid_;  // every uid that some informer shows
  fabric::Desired desired_;
  std::vector<std::string> changed_;
};

}  // namespace fairlead::networks
