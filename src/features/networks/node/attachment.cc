#include "features/networks/node/attachment.h"

#include <charconv>

#include "api/resource/schema/describe.h"
#include "foundation/base/host_address.h"
#include "node/fabric/names.h"

namespace fairlead::networks {
namespace {

void add_address(const std::string& text, std::vector<Ip>& addresses) {
  if (const Result<Ip> ip = Ip::parse(text)) addresses.push_back(*ip);
}

}  // namespace

std::uint64_t parse_version(std::string_view text) {
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

std::optional<fabric::Station> Attachment::station() const {
  if (vni == 0 || !mac || addresses.empty() || (!local && (!host || out_of_reach)))
    return std::nullopt;
  fabric::Station station{.id = uid, .vni = vni, .mac = *mac, .addresses = addresses};
  if (local) {
    station.interface = fabric::guest_interface_name(uid);
  } else {
    station.host = *host;
  }
  return station;
}

Result<Attachment> parse_attachment(const Json& object, const std::string& own_node,
                                    const Ip& own_host) {
  FL_TRY(networks::NetworkAttachment full, resource::decode<networks::NetworkAttachment>(object));
  Attachment attachment;
  attachment.key = full.metadata.namespace_ + "/" + full.metadata.name;
  attachment.uid = full.metadata.uid;
  attachment.version = parse_version(full.metadata.resource_version);
  if (full.metadata.name.empty() || attachment.uid.empty() || attachment.version == 0)
    return fail(Code::corrupt, "attachment " + attachment.key + " has no uid or version");
  attachment.node = std::move(full.spec.node);
  networks::NetworkAttachmentStatus& status = full.status;
  attachment.vni = status.address_vni;
  if (const Result<Mac> mac = Mac::parse(status.mac_address)) attachment.mac = *mac;
  add_address(status.ipv4, attachment.addresses);
  add_address(status.ipv6, attachment.addresses);
  // What cannot be a host's address is none: what was known of the attachment before is dropped.
  if (const Result<Ip> host = Ip::parse(status.host_ip);
      host && host_address_problem(*host).empty())
    attachment.host = *host;
  attachment.out_of_reach = attachment.host && attachment.host->is_v4() != own_host.is_v4();
  attachment.asked = full.extended_metadata.written("spec");
  if (status.subnet_creation_time &&
      (!attachment.asked || status.subnet_creation_time->at > *attachment.asked)) {
    attachment.asked = status.subnet_creation_time->at;
    attachment.subnet_came_last = true;
  }
  attachment.implemented = full.extended_metadata.written("status.impl");
  if (attachment.node != own_node) return attachment;
  auto local = std::make_shared<Local>();
  local->post_create_exec = std::move(full.spec.post_create_exec);
  local->post_delete_exec = std::move(full.spec.post_delete_exec);
  local->status = {.interface = std::move(status.ifc_name),
                   .host = std::move(status.host_ip),
                   .errors = std::move(status.errors.host),
                   .report = nullptr};
  if (status.post_create_exec_report)
    local->status.report =
        std::make_shared<const ExecReport>(std::move(*status.post_create_exec_report));
  attachment.local = std::move(local);
  return attachment;
}

}  // namespace fairlead::networks
