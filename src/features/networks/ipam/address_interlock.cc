#include "features/networks/ipam/address_interlock.h"

#include <utility>

#include "api/resource/extended_metadata.h"
#include "api/store/transaction.h"
#include "features/networks/ipam/assignment_objects.h"
#include "features/networks/kinds/network_attachment.h"

namespace fairlead::ipam {

using apiserver::Answer;

namespace {

// Those of larger transactions get theirs afterwards: each may add two locks and their compares,
// and the compare of its subnet, and 128 are allowed.
constexpr std::size_t kMostTogether = 30;

// The value at a dotted path becomes `value`, or goes if that is null.
void put(Json& object, std::string_view path, const Json* value) {
  JsonObject* members = &object.get_object();
  for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos;
       path.remove_prefix(dot + 1))
    members = &wire::member_object(*members, path.substr(0, dot));
  if (value) {
    (*members)[path] = *value;
  } else {
    members->erase(path);
  }
}

AttachmentFacts facts_of(const apiserver::Admission::Proposal& proposal) {
  const auto text = [&](std::string_view path) {
    return std::string(wire::find_string(*proposal.desired, path));
  };
  return {.namespace_name = std::string(proposal.namespace_name),
          .name = std::string(proposal.name),
          .uid = text("metadata.uid"),
          .node = text("spec.node"),
          .subnet = text("spec.subnet"),
          .fixed_ipv4 = text("spec.fixedIPv4"),
          .fixed_ipv6 = text("spec.fixedIPv6"),
          .ipv4 = {},
          .ipv6 = {}};
}

}  // namespace

// The addresses are taken from when they are decided on until it is known what came of it; from
// then on their locks say so.
class AddressInterlock::Reservation final : public Hold {
 public:
  Reservation(AddressController& addresses, Assignment assignment)
      : addresses_(addresses), assignment_(std::move(assignment)) {}
  ~Reservation() override { addresses_.settle(assignment_, committed_); }
  void committed() override { committed_ = true; }

  Assignment& assignment() { return assignment_; }

 private:
  AddressController& addresses_;
  Assignment assignment_;
  bool committed_ = false;
};

Answer<> AddressInterlock::admit(const Proposal& proposal, store::Transaction& transaction) {
  if (&proposal.kind != &networks_.attachments() || !proposal.desired) return {};
  if (!proposal.live) {
    give(proposal, transaction);
  } else if (proposal.attributes) {
    keep_what_was_given(proposal);
  }
  return {};
}

void AddressInterlock::give(const Proposal& proposal, store::Transaction& transaction) {
  if (proposal.together > kMostTogether) return;
  const AttachmentFacts attachment = facts_of(proposal);
  if (addresses_.anybody_waits(attachment.subnet_key())) return;
  Assignment decided = addresses_.assign(attachment);
  if (decided.vni == 0) return;

  auto reservation = std::make_unique<Reservation>(addresses_, std::move(decided));
  Assignment& assignment = reservation->assignment();
  proposal.holds.push_back(std::move(reservation));
  compare_subnet(assignment, transaction);
  for (const bool v4 : {true, false})
    if (v4 ? assignment.ipv4 : assignment.ipv6) add_lock(assignment, v4, transaction);
  fill_status(*proposal.desired, assignment);
  proposal.kind.prepare(*proposal.desired, nullptr, resource::Write::update_status,
                        runtime_.wall_now());
  assignment.spec_written = write_time(*proposal.desired, "spec");
}

// Only while the subnet is the one that was decided on.
void AddressInterlock::compare_subnet(const Assignment& assignment,
                                      store::Transaction& transaction) const {
  const watchcache::ObjectRef subnet =
      networks_.cache().of(networks_.subnets()).find(assignment.subnet);
  std::string key =
      watchcache::store_key(networks_.subnets(), subnet->namespace_name, subnet->name);
  if (!store::compares(transaction, key))
    transaction.compares.push_back({std::move(key), subnet->place.revision});
}

void AddressInterlock::add_lock(Assignment& assignment, bool v4,
                                store::Transaction& transaction) const {
  const Json lock = new_lock(networks_, runtime_, assignment, v4);
  std::string key = watchcache::store_key(networks_.locks(), assignment.before.namespace_name,
                                          wire::find_string(lock, "metadata.name"));
  transaction.compares.push_back({key, 0});
  transaction.operations.push_back(
      {store::Operation::Kind::put, std::move(key), watchcache::encode_stored(lock)});
}

void AddressInterlock::keep_what_was_given(const Proposal& proposal) const {
  bool changed = false;
  for (const std::string& path : networks::attachment_address_fields()) {
    const Json* given = wire::find(*proposal.live, path);
    if (resource::same_content(given, wire::find(*proposal.desired, path))) continue;
    put(*proposal.desired, path, given);
    changed = true;
  }
  // The section's time is that of what counts.
  if (changed)
    proposal.kind.prepare(*proposal.desired, proposal.live, resource::Write::update_status,
                          runtime_.wall_now());
}

}  // namespace fairlead::ipam
