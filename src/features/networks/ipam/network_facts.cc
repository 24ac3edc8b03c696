#include "features/networks/ipam/network_facts.h"

#include <algorithm>
#include <charconv>

#include "features/networks/kinds/ip_lock.h"
#include "foundation/base/check.h"

namespace fairlead::ipam {
namespace {

using watchcache::Object;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<Cidr> block(std::string_view text) {
  const Result<Cidr> parsed = Cidr::parse(text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

// The value of a selectable field, which the cache has at hand.
std::string_view field(const resource::Kind& kind, const Object& object, std::string_view path) {
  return object.fields[place_of_field(kind, path)];
}

}  // namespace

std::size_t place_of_field(const resource::Kind& kind, std::string_view path) {
  for (std::size_t i = 0; i < kind.selectable.size(); ++i)
    if (kind.selectable[i] == path) return i;
  CHECK(false && "a field that is not selectable");
  return 0;
}

std::string write_time(const Json& object, std::string_view section) {
  const Json* writes = wire::find(object, "extendedMetadata.writes");
  if (!writes || !writes->is_array()) return {};
  for (const Json& write : writes->get_array())
    if (wire::find_string(write, "section") == section)
      return std::string(wire::find_string(write, "serverTime"));
  return {};
}

SubnetFacts subnet_facts(const resource::Kind& kind, const Object& object) {
  const Json json = object.decode();
  SubnetFacts facts{.namespace_name = object.namespace_name,
                    .name = object.name,
                    .uid = object.uid,
                    .vni = number(field(kind, object, "spec.vni")),
                    .ipv4 = block(field(kind, object, "spec.ipv4")),
                    .ipv6 = block(field(kind, object, "spec.ipv6")),
                    .created_at = object.created_at,
                    .validated = false,
                    .errors = {}};
  const Json* validated = wire::find(json, "status.validated");
  facts.validated = validated && validated->is_bool() && validated->get_bool();
  facts.spec_written = write_time(json, "spec");
  const Json* errors = wire::find(json, "status.errors");
  if (errors && errors->is_array())
    for (const Json& error : errors->get_array())
      if (error.is_string()) facts.errors.emplace_back(error.get_string());
  return facts;
}

AttachmentFacts attachment_facts(const resource::Kind& kind, const Object& object) {
  const auto text = [&](std::string_view path) { return std::string(field(kind, object, path)); };
  return {.namespace_name = object.namespace_name,
          .name = object.name,
          .uid = object.uid,
          .node = text("spec.node"),
          .subnet = text("spec.subnet"),
          .fixed_ipv4 = text("spec.fixedIPv4"),
          .fixed_ipv6 = text("spec.fixedIPv6"),
          .ipv4 = text("status.ipv4"),
          .ipv6 = text("status.ipv6"),
          .vni = number(field(kind, object, "status.addressVNI"))};
}

std::optional<LockFacts> lock_facts(const Object& object) {
  const auto address = networks::parse_ip_lock_name(object.name);
  if (!address) return std::nullopt;
  LockFacts facts{.namespace_name = object.namespace_name,
                  .name = object.name,
                  .uid = object.uid,
                  .owner = object.owners.empty() ? std::string() : object.owners.front().uid,
                  .owner_name = object.owners.empty() ? std::string() : object.owners.front().name,
                  .vni = address->vni,
                  .ip = address->ip,
                  .place = object.place,
                  .deleting = object.deleting,
                  .idle = object.has_label(kIdleLabel),
                  .regained = object.has_label(kRegainedLabel),
                  .awaits = {}};
  if (!object.deleting) return facts;
  JsonArena memory(2 * object.json.size());
  const Json json = object.decode(&memory);
  const Json* annotations = wire::find(json, "metadata.annotations");
  const JsonObject* members = annotations ? annotations->if_object() : nullptr;
  const auto text = [members](std::string_view name) {
    const Json* value = members ? members->if_contains(name) : nullptr;
    return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
  };
  facts.awaits = split(text(kAwaitsAnnotation));
  facts.node = text(kNodeAnnotation);
  const std::string_view decided = text(kDecidedAnnotation);
  std::from_chars(decided.data(), decided.data() + decided.size(), facts.decided);
  facts.released = object.place.revision;
  if (const std::string_view released = text(kReleasedAnnotation); !released.empty())
    std::from_chars(released.data(), released.data() + released.size(), facts.released);
  facts.released_at = {facts.released, 0};
  return facts;
}

std::optional<Mac> mac_in(const Object& attachment) {
  const Json json = attachment.decode();
  const Result<Mac> mac = Mac::parse(wire::find_string(json, "status.macAddress"));
  return mac ? std::optional(*mac) : std::nullopt;
}

}  // namespace fairlead::ipam
