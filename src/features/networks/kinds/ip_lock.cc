#include "features/networks/kinds/ip_lock.h"

#include <array>
#include <charconv>

#include "api/resource/columns.h"
#include "api/resource/fairlead_kind.h"

namespace fairlead::networks {

using namespace resource;

namespace {

template <class T>
bool take_number(std::string_view& text, T& number, int base) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (status != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_dash(std::string_view& text) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  return true;
}

Result<Ip> parse_groups(std::string_view text, bool v4) {
  std::array<std::uint8_t, 16> bytes{};
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < (v4 ? 4u : 8u); ++i) {
    std::uint16_t group = 0;
    if (!take_dash(text) || !take_number(text, group, v4 ? 10 : 16) || (v4 && group > 255)) {
      return fail(Code::invalid, "not an address");
    }
    if (v4) {
      bits = bits << 8 | group;
    } else {
      bytes[2 * i] = static_cast<std::uint8_t>(group >> 8);
      bytes[2 * i + 1] = static_cast<std::uint8_t>(group);
    }
  }
  if (!text.empty()) return fail(Code::invalid, "not an address");
  return v4 ? Ip::v4(bits) : Ip::v6(bytes);
}

const JsonObject* controller_of(const Json& object) {
  for (const Json& owner : items_at(object, "metadata.ownerReferences")) {
    const Json* flag = wire::find(owner, "controller");
    if (flag && flag->is_bool() && flag->get_bool()) return owner.if_object();
  }
  return nullptr;
}

std::string_view text_of(const JsonObject* owner, std::string_view name) {
  const Json* value = owner ? owner->if_contains(name) : nullptr;
  const boost::json::string* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

FieldErrors validate(const Json& object, const Json* old, Write) {
  FieldErrors errors;
  const JsonObject* owner = controller_of(object);
  if (!old) {
    const std::string_view name = wire::find_string(object, "metadata.name");
    if (const auto parsed = parse_ip_lock_name(name); !parsed) {
      errors.push_back(invalid("metadata.name", Json(name), parsed.error().message));
    }
    if (text_of(owner, "kind") != "NetworkAttachment" ||
        !text_of(owner, "apiVersion").starts_with("fairlead.dev/")) {
      errors.push_back(
          required("metadata.ownerReferences",
                   "the NetworkAttachment that holds the address, with controller set"));
    }
    return errors;
  }
  // The holder may let go, but an address does not pass from one holder to another.
  const JsonObject* before = controller_of(*old);
  if (owner && before && text_of(owner, "uid") != text_of(before, "uid")) {
    errors.push_back(forbidden("metadata.ownerReferences", "field is immutable"));
  }
  return errors;
}

}  // namespace

std::string ip_lock_name(std::uint32_t vni, const Ip& ip) {
  std::string name = (ip.is_v4() ? "v1-" : "v2-") + std::to_string(vni);
  const auto& bytes = ip.bytes();
  if (ip.is_v4()) {
    for (std::size_t i = 12; i < 16; ++i) name += "-" + std::to_string(bytes[i]);
    return name;
  }
  for (std::size_t i = 0; i < 16; i += 2) {
    char digits[4];
    const unsigned group = static_cast<unsigned>(bytes[i]) << 8 | bytes[i + 1];
    name += '-';
    name.append(digits, std::to_chars(digits, digits + 4, group, 16).ptr);
  }
  return name;
}

Result<LockedAddress> parse_ip_lock_name(std::string_view name) {
  constexpr std::string_view kForm =
      "must be v1-<VNI>-<a>-<b>-<c>-<d> or v2-<VNI>- and eight groups of hexadecimal digits";
  std::string_view rest = name;
  const bool v4 = rest.starts_with("v1-");
  if (!v4 && !rest.starts_with("v2-")) return fail(Code::invalid, std::string(kForm));
  rest.remove_prefix(3);
  LockedAddress locked;
  if (!take_number(rest, locked.vni, 10) || locked.vni < 1 || locked.vni > kMaxVni) {
    return fail(Code::invalid, std::string(kForm));
  }
  const auto ip = parse_groups(rest, v4);
  if (!ip) return fail(Code::invalid, std::string(kForm));
  locked.ip = *ip;
  // Leading zeros and upper case would give one address two names.
  if (ip_lock_name(locked.vni, locked.ip) != name) return fail(Code::invalid, std::string(kForm));
  return locked;
}

Kind ip_lock_kind() {
  Schema schema = schema_of<IPLock>();
  schema.description =
      "An IPLock records that an address of a virtual network is taken. Its name is the address; "
      "it "
      "belongs to the NetworkAttachment that holds it.";
  Kind kind =
      fairlead_kind("IPLock", "iplocks", "iplock", "ipl", std::move(schema), {{"spec", {"spec"}}});
  // Not in `all`: locks come and go with attachments, and nobody but the server deletes them.
  kind.categories = {"fairlead"};
  kind.selectable = {"spec.subnetName"};
  const auto cell = [](auto read) {
    return [read](const Json& object, Moment) {
      const auto locked = parse_ip_lock_name(wire::find_string(object, "metadata.name"));
      return locked ? read(*locked) : Json();
    };
  };
  kind.columns = {
      name_column(),
      column("VNI", "integer", "Number of the virtual network.",
             cell([](const LockedAddress& locked) { return Json(std::int64_t{locked.vni}); })),
      column("Address", "string", "The address that is taken.",
             cell([](const LockedAddress& locked) { return Json(locked.ip.to_string()); })),
      column("Subnet", "string", "Subnet of the address.", text_at("spec.subnetName")),
      column(
          "Attachment", "string", "NetworkAttachment that holds the address.",
          [](const Json& object, Moment) { return Json(text_of(controller_of(object), "name")); }),
      age_column("date"),
  };
  kind.validate = validate;
  kind.node.rights = {{.every = kRead}};
  return kind;
}

}  // namespace fairlead::networks
