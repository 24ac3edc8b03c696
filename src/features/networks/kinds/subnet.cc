#include "features/networks/kinds/subnet.h"

#include "api/resource/columns.h"
#include "api/resource/fairlead_kind.h"
#include "foundation/base/ip.h"

namespace fairlead::networks {

using namespace resource;

namespace {

// "" if `text` is a block of addresses that hosts can have, in canonical form.
std::string block_problem(std::string_view text, bool v4) {
  const auto block = Cidr::parse(text);
  if (!block || block->base().is_v4() != v4) {
    return v4 ? "must be an IPv4 block in CIDR notation without host bits, (e.g. 10.9.8.0/24)"
              : "must be an IPv6 block in CIDR notation without host bits, (e.g. fd00:9:8::/64)";
  }
  if (block->to_string() != text) {
    return "must be in canonical form (\"" + block->to_string() + "\")";
  }
  static const std::vector<Cidr> kNotUnicast = [] {
    std::vector<Cidr> blocks;
    for (const std::string_view one : {"0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3", "::/127",
                                       "::ffff:0:0/96", "fe80::/10", "ff00::/8"}) {
      blocks.push_back(*Cidr::parse(one));
    }
    return blocks;
  }();
  for (const Cidr& other : kNotUnicast) {
    if (other.overlaps(*block)) {
      return "must be a unicast block; it overlaps " + other.to_string();
    }
  }
  return "";
}

FieldErrors validate(const Json& object, const Json*, Write write) {
  FieldErrors errors;
  if (write != Write::create) return errors;  // the spec cannot change
  bool any = false;
  for (const std::string_view family : {"ipv4", "ipv6"}) {
    const std::string field = "spec." + std::string(family);
    const std::string_view text = wire::find_string(object, field);
    if (text.empty()) continue;
    any = true;
    if (std::string problem = block_problem(text, family == "ipv4"); !problem.empty()) {
      errors.push_back(invalid(field, Json(text), std::move(problem)));
    }
  }
  if (!any) errors.push_back(required("spec.ipv4", "at least one of ipv4 and ipv6 must be given"));
  return errors;
}

}  // namespace

Kind subnet_kind() {
  Schema schema = schema_of<Subnet>();
  schema.description =
      "A Subnet is a block of addresses in a virtual network. Subnets with the same VNI form one "
      "virtual network; they must not overlap and must share a namespace.";
  Kind kind = fairlead_kind("Subnet", "subnets", "subnet", "sn", std::move(schema),
                            {{"spec", {"spec"}}, {"status", {"status"}}});
  kind.selectable = {"spec.vni", "spec.ipv4", "spec.ipv6"};
  kind.columns = {
      name_column(),
      column("VNI", "integer", "Number of the virtual network.",
             [](const Json& object, Moment) {
               const Json* vni = wire::find(object, "spec.vni");
               return vni ? *vni : Json();
             }),
      column("IPv4", "string", "IPv4 block.", text_at("spec.ipv4")),
      column("IPv6", "string", "IPv6 block.", text_at("spec.ipv6")),
      column("Validated", "boolean", "Whether attachments may use the subnet.",
             [](const Json& object, Moment) {
               const Json* validated = wire::find(object, "status.validated");
               return validated && validated->is_bool() ? *validated : Json(false);
             }),
      age_column("date"),
      wide_column("Errors", "string", "Why the subnet cannot be used.",
                  [](const Json& object, Moment) {
                    return Json(join(strings_at(object, "status.errors"), "; "));
                  }),
  };
  kind.validate = validate;
  kind.node.rights = {{.every = kRead}};
  return kind;
}

}  // namespace fairlead::networks
