#include "features/networks/kinds/network_attachment.h"

#include "api/resource/columns.h"
#include "api/resource/fairlead_kind.h"
#include "api/resource/name_rules.h"
#include "foundation/base/host_address.h"
#include "foundation/base/ip.h"

namespace fairlead::networks {

using namespace resource;

namespace {

bool has_text(const Json& object, std::string_view path) {
  return !wire::find_string(object, path).empty();
}

// How far the attachment has come, in one word.
std::string state(const Json& object) {
  const Json* ready = find_condition(object, kReady);
  if (ready && wire::find_string(*ready, "status") == "True") return "Ready";
  if (ready && wire::find_string(*ready, "reason") == kAgentSilent) return "Silent";
  if (ready && wire::find_string(*ready, "reason") == kNodeUnknown) return "Error";
  if (!items_at(object, "status.errors.ipam").empty() ||
      !items_at(object, "status.errors.host").empty()) {
    return "Error";
  }
  if (has_text(object, "status.ifcName")) {
    const Json* exit = wire::find(object, "status.postCreateExecReport.exitStatus");
    if (exit && *exit != Json(0)) return "Error";
    return items_at(object, "spec.postCreateExec").empty() || exit ? "Ready" : "Implemented";
  }
  if (has_text(object, "status.ipv4") || has_text(object, "status.ipv6")) return "Addressed";
  return "Pending";
}

// What is wrong, or what is waited for; empty once it is ready.
std::string message(const Json& object) {
  const Json* ready = find_condition(object, kReady);
  if (ready)
    return wire::find_string(*ready, "status") == "True"
               ? std::string()
               : std::string(wire::find_string(*ready, "message"));
  std::vector<std::string> errors = strings_at(object, "status.errors.ipam");
  for (std::string& error : strings_at(object, "status.errors.host"))
    errors.push_back(std::move(error));
  return join(errors, "; ");
}

void check_name(const Json& object, const std::string& field, FieldErrors& errors) {
  const std::string_view name = wire::find_string(object, field);
  if (std::string problem = dns_subdomain_problem(name); !problem.empty()) {
    errors.push_back(invalid(field, Json(name), std::move(problem)));
  }
}

void check_fixed_address(const Json& object, const std::string& field, FieldErrors& errors) {
  const std::string_view text = wire::find_string(object, field);
  if (text.empty()) return;
  const auto ip = Ip::parse(text);
  if (ip && (!ip->is_unicast() || ip->is_loopback())) {
    errors.push_back(invalid(field, Json(text), "must be a unicast address"));
  }
}

void check_command(const Json& object, const std::string& field, FieldErrors& errors) {
  const JsonArray& command = items_at(object, field);
  if (!command.empty() && command[0].is_string() && command[0].get_string().empty()) {
    errors.push_back(required(field + "[0]", "the program to run"));
  }
}

void check_host(const Json& object, const Json* old, FieldErrors& errors) {
  static const std::string field = "status.hostIP";
  const std::string_view text = wire::find_string(object, field);
  if (old && wire::find_string(*old, field) == text) return;
  const auto ip = Ip::parse(text);
  const std::string_view problem = ip ? host_address_problem(*ip) : std::string_view();
  if (!problem.empty()) errors.push_back(invalid(field, Json(text), std::string(problem)));
}

FieldErrors validate(const Json& object, const Json* old, Write write) {
  FieldErrors errors;
  if (write == Write::create) {
    check_name(object, "spec.node", errors);
    check_name(object, "spec.subnet", errors);
    check_fixed_address(object, "spec.fixedIPv4", errors);
    check_fixed_address(object, "spec.fixedIPv6", errors);
    check_command(object, "spec.postCreateExec", errors);
  }
  // Whatever is there, other nodes send packets to it.
  if (write == Write::update_status) check_host(object, old, errors);
  if (write != Write::update_status) check_command(object, "spec.postDeleteExec", errors);
  return errors;
}

// status.impl is where it was made. What is wrong with it belongs to no section: the server says
// so, too, while nobody knows the node.
std::vector<Section> sections() {
  return {{"spec", {"spec"}},
          {"status.address", attachment_address_fields()},
          {"status.impl", {"status.ifcName", "status.hostIP"}},
          {"status.execReport", {"status.postCreateExecReport"}}};
}

// A node sees the attachments on it and those of the virtual networks that it has one in; it writes
// the status of those on it.
NodeAccess node_access() {
  NodeAccess node;
  node.own = NodeAccess::Own::placed;
  node.node_field = "spec.node";
  node.shared_field = "status.addressVNI";
  node.rights = {{.own = kRead, .shared = kRead}, {.subresource = "status", .own = kGet | kModify}};
  node.noun = "attachment";
  node.shared_noun = "virtual network";
  node.most_bytes = 64 << 10;
  // A node with a thousand attachments writes the status of each a few times, 3 KB each.
  node.pace = {.burst = 32 << 20, .per_second = 1 << 20};
  node.written_often = true;
  return node;
}

}  // namespace

std::optional<std::string> describe_failure(const ExecReport& report) {
  if (report.exit_status.value_or(0) == 0) return std::nullopt;
  constexpr std::size_t kShown = 200;
  std::string text = (report.command.empty() ? std::string() : report.command.front()) +
                     " ended with status " + std::to_string(*report.exit_status);
  std::string_view said = report.std_err;
  while (said.ends_with('\n')) said.remove_suffix(1);
  if (said.size() > kShown) {
    std::size_t end = kShown;
    while (end > 0 && (static_cast<unsigned char>(said[end]) & 0xC0) == 0x80) --end;
    said = said.substr(0, end);  // no half of a character
  }
  if (!said.empty()) text.append(": ").append(said);
  return text;
}

namespace {
constexpr std::string_view kNotAllowed = " is not an allowed program on this node";
}

std::string hook_not_allowed(std::string_view hook, std::string_view program) {
  return std::string(hook) + ": " + std::string(program) + std::string(kNotAllowed);
}

bool is_hook_not_allowed(std::string_view error) { return error.ends_with(kNotAllowed); }

// The MAC is assigned together with the addresses, so it belongs to their section.
const std::vector<std::string>& attachment_address_fields() {
  static const std::vector<std::string> kFields = {"status.lockUID",
                                                   "status.ipv6LockUID",
                                                   "status.addressVNI",
                                                   "status.ipv4",
                                                   "status.ipv6",
                                                   "status.macAddress",
                                                   "status.addressContention",
                                                   "status.subnetCreationTime",
                                                   "status.errors.ipam"};
  return kFields;
}

Kind network_attachment_kind() {
  Schema schema = schema_of<NetworkAttachment>();
  schema.description =
      "A NetworkAttachment asks for a network interface of a virtual network on a node. Its status "
      "tells the addresses it was given and the interface that was made.";
  Kind kind = fairlead_kind("NetworkAttachment", "networkattachments", "networkattachment", "na",
                            std::move(schema), sections());
  kind.selectable = {"spec.node",   "spec.subnet", "spec.fixedIPv4", "spec.fixedIPv6",
                     "status.ipv4", "status.ipv6", "status.hostIP",  "status.addressVNI"};
  kind.columns = {
      name_column(),
      column("Node", "string", "Node the interface is wanted on.", text_at("spec.node")),
      column("Subnet", "string", "Subnet the addresses come from.", text_at("spec.subnet")),
      column("IPv4", "string", "IPv4 address assigned.", text_at("status.ipv4")),
      column("IPv6", "string", "IPv6 address assigned.", text_at("status.ipv6")),
      column("State", "string", "Pending, Addressed, Implemented, Ready, Silent or Error.",
             [](const Json& object, Moment) { return Json(state(object)); }),
      age_column("date"),
      wide_column("MAC", "string", "MAC address of the interface.", text_at("status.macAddress")),
      wide_column("Interface", "string", "Name of the interface.", text_at("status.ifcName")),
      wide_column("Host", "string", "Address of the node.", text_at("status.hostIP")),
      wide_column("Message", "string", "What is wrong, or what is waited for.",
                  [](const Json& object, Moment) { return Json(message(object)); }),
  };
  kind.validate = validate;
  kind.node = node_access();
  return kind;
}

}  // namespace fairlead::networks
