#include "ipam/address_interlock.h"

#include "resource/network_attachment.h"

namespace fairlead::ipam {
namespace {

bool same(const Json* a, const Json* b) {
  const bool has_a = a && !a->is_null();
  const bool has_b = b && !b->is_null();
  return has_a == has_b && (!has_a || *a == *b);
}

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

}  // namespace

apiserver::Answer<> AddressInterlock::admit(const Proposal& proposal, store::Transaction&) {
  const bool foreign = proposal.attributes && proposal.live && proposal.desired;
  if (!foreign || &proposal.kind != &index_.attachments()) return {};
  bool changed = false;
  for (const std::string& path : resource::attachment_address_fields()) {
    const Json* given = wire::find(*proposal.live, path);
    if (same(given, wire::find(*proposal.desired, path))) continue;
    put(*proposal.desired, path, given);
    changed = true;
  }
  // The section's time is that of what counts.
  if (changed)
    proposal.kind.prepare(*proposal.desired, proposal.live, resource::Write::update_status,
                          runtime_.wall_now());
  return {};
}

}  // namespace fairlead::ipam
