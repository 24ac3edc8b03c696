#include "features/vip/kinds/virtual_ip.h"

#include <algorithm>
#include <iterator>

#include "api/identity/user.h"
#include "api/resource/columns.h"
#include "api/resource/fairlead_kind.h"
#include "api/resource/schema/validation.h"
#include "features/vip/config/virtual_ip_check.h"

namespace fairlead::vip {

using namespace resource;

namespace {

constexpr std::int64_t kHighestPriority = 1000;

void check_priorities(const Json& object, FieldErrors& errors) {
  const Json* spec = wire::find(object, "spec");
  for (const auto& member : members_at(object, "spec.priorities")) {
    const std::string name(member.key());
    const std::string field = "spec.priorities[" + name + "]";
    const std::int64_t value = member.value().is_int64() ? member.value().get_int64() : 0;
    if (value < 1 || value > kHighestPriority)
      errors.push_back(invalid(field, member.value(), "must be 1 to 1000"));
    if (!identity::is_node_name(name))
      errors.push_back(invalid(field, Json(name), "is not a valid node name"));
    else if (!takes_part(*spec, name))
      errors.push_back(invalid(field, Json(name), "is not among spec.nodes"));
  }
}

void check_nodes(const Json& object, FieldErrors& errors) {
  const std::vector<std::string> nodes = strings_at(object, "spec.nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!identity::is_node_name(nodes[i]))
      errors.push_back(invalid(item("spec.nodes", i), Json(nodes[i]), "is not a valid node name"));
  const std::string_view preferred = wire::find_string(object, "spec.preferredNode");
  if (!preferred.empty() && !takes_part(*wire::find(object, "spec"), preferred))
    errors.push_back(invalid("spec.preferredNode", Json(preferred), "is not among spec.nodes"));
}

FieldErrors validate(const Json& object, const Json*, Write write) {
  FieldErrors errors;
  if (write == Write::update_status) return errors;
  check_nodes(object, errors);
  check_priorities(object, errors);
  const Result<VirtualIpSettings> settings = settings_for(*wire::find(object, "spec"), "");
  if (!settings) {
    errors.push_back(invalid("spec", Json(), settings.error().message));
    return errors;
  }
  (void)check_virtual_ip("spec", *settings, errors);
  for (std::size_t i = 0; i < settings->health.size(); ++i)
    if (!settings->health[i].ca_file.empty())
      errors.push_back(forbidden(item("spec.health", i) + ".caFile",
                                 "is a file of a node, which only its own file may name"));
  return errors;
}

std::string condition_text(const Json& object, std::string_view type, std::string_view member) {
  const Json* condition = find_condition(object, type);
  return condition ? std::string(wire::find_string(*condition, member)) : std::string();
}

std::vector<Column> columns() {
  return {
      name_column(),
      column("Address", "string", "The virtual IP.", text_at("spec.address")),
      column("Holder", "string", "The node that answers for it.", text_at("status.holder")),
      column("Ready", "string", "Whether a healthy node answers for it.",
             [](const Json& object, Moment) {
               return Json(condition_text(object, kReady, "status"));
             }),
      age_column("date"),
      wide_column("Interface", "string", "Interface of the nodes.", text_at("spec.interface")),
      wide_column("Epoch", "integer", "Number of the holder's tenure.",
                  [](const Json& object, Moment) {
                    const Json* epoch = wire::find(object, "status.epoch");
                    return epoch ? *epoch : Json();
                  }),
      wide_column("Since", "string", "When the holder became it.", text_at("status.since")),
      wide_column("Message", "string", "What is wrong, or refused.",
                  [](const Json& object, Moment) {
                    std::vector<std::string> texts;
                    for (const std::string_view type : {kReady, std::string_view("Accepted")})
                      if (condition_text(object, type, "status") != "True")
                        if (std::string text = condition_text(object, type, "message");
                            !text.empty())
                          texts.push_back(std::move(text));
                    return Json(join(texts, "; "));
                  }),
  };
}

NodeAccess node_access() {
  NodeAccess node;
  node.own = NodeAccess::Own::listed;
  node.nodes_field = "spec.nodes";
  node.rights = {{.every = kRead}, {.subresource = "status", .own = kGet | kModify}};
  node.noun = "virtual IP";
  node.written_often = true;
  return node;
}

}  // namespace

Schema virtual_ip_spec_schema() {
  Schema schema = schema_of<VirtualIpSettings>();
  schema.description = "What the virtual IP is to be.";
  std::erase_if(schema.fields, [](const Field& field) { return field.name == "priority"; });
  // Another way of announcing begins engines anew: on all nodes at once, that would cost every VIP.
  for (const char* name : {"address", "announce"})
    std::ranges::find(schema.fields, name, &Field::name)->immutable = true;
  std::ranges::find(schema.fields, "interface", &Field::name)->required = true;
  std::ranges::copy(schema_of<VirtualIpNodes>().fields, std::back_inserter(schema.fields));
  return schema;
}

Kind virtual_ip_kind() {
  Schema schema = schema_of<VirtualIp>();
  schema.description =
      "A VirtualIP is an address that exactly one of several nodes answers for. The nodes elect "
      "the holder among themselves; this object tells them of the address, and they tell here who "
      "holds it. Deleting it releases the address.";
  std::ranges::find(schema.fields, "spec", &Field::name)->schema = virtual_ip_spec_schema();
  Kind kind = fairlead_kind("VirtualIP", "virtualips", "virtualip", "vip", std::move(schema),
                            {{"spec", {"spec"}}, {"status", {"status"}}});
  kind.namespaced = false;
  kind.categories = {"fairlead"};
  kind.selectable = {"spec.address", "status.holder"};
  kind.columns = columns();
  kind.validate = validate;
  kind.node = node_access();
  return kind;
}

std::vector<Kind> kinds() { return {virtual_ip_kind()}; }

bool takes_part(const Json& spec, std::string_view node) {
  const JsonArray& nodes = items_at(spec, "nodes");
  return nodes.empty() || std::ranges::find(nodes, Json(node)) != nodes.end();
}

Result<VirtualIpSettings> settings_for(const Json& spec, const std::string& node) {
  if (!spec.is_object()) return fail(Code::invalid, "spec must be an object");
  Json entry = spec;
  JsonObject& members = entry.get_object();
  const JsonObject& priorities = members_at(spec, "priorities");
  if (const Json* own = priorities.if_contains(node)) members["priority"] = *own;
  for (const char* name : {"nodes", "priorities"}) members.erase(name);
  const Schema schema = schema_of<VirtualIpSettings>();
  apply_defaults(schema, entry);
  if (const FieldErrors errors = check_schema(schema, entry, nullptr); !errors.empty())
    return fail(Code::invalid, join_errors(errors));
  return decode<VirtualIpSettings>(entry);
}

}  // namespace fairlead::vip
