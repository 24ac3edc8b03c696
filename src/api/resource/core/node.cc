// Node: a machine of the cluster.
#include <set>

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {
namespace {

std::string status_text(const Json& object) {
  std::string text = "Unknown";
  for (const Json& condition : items_at(object, "status.conditions")) {
    if (wire::find_string(condition, "type") != "Ready") continue;
    text = wire::find_string(condition, "status") == "True" ? "Ready" : "NotReady";
  }
  return flag_at(object, "spec.unschedulable") ? text + ",SchedulingDisabled" : text;
}

std::string roles(const Json& object) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> found;
  for (const auto& label : members_at(object, "metadata.labels")) {
    const std::string_view key = label.key();
    if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) {
      found.emplace(key.substr(kPrefix.size()));
    } else if (key == "kubernetes.io/role" && label.value().is_string() &&
               !label.value().get_string().empty()) {
      found.emplace(label.value().get_string());
    }
  }
  return found.empty() ? "<none>" : join({found.begin(), found.end()}, ",");
}

Cell address_of_type(std::string type) {
  return [type = std::move(type)](const Json& object, Moment) {
    for (const Json& address : items_at(object, "status.addresses")) {
      if (wire::find_string(address, "type") == type) {
        return Json(wire::find_string(address, "address"));
      }
    }
    return Json("<none>");
  };
}

Cell text_or_unknown(std::string path) {
  return [path = std::move(path)](const Json& object, Moment) {
    const std::string_view text = wire::find_string(object, path);
    return Json(text.empty() ? std::string_view("<unknown>") : text);
  };
}

Schema spec_schema() {
  const Schema taint = open_object(
      "Keeps away pods that do not tolerate it.",
      {required_field("key", string("Key of the taint.")),
       field("value", string("Value of the taint.")),
       required_field("effect", string("What happens to pods that do not tolerate it.")
                                    .one_of({"NoSchedule", "PreferNoSchedule", "NoExecute"})),
       field("timeAdded", time("When the taint was added."))});
  return open_object(
      "How the node is to be used.",
      {field("podCIDR", string("Block of addresses for the node's pods.")),
       field("podCIDRs", string_list("Blocks of addresses for the node's pods, by family.")
                             .as_set()
                             .patch_merge()),
       field("providerID", string("The node's identity at its provider.")),
       field("unschedulable", boolean("True keeps new pods away.")),
       field("taints", list(taint, "Taints of the node."))});
}

Schema status_schema() {
  const Schema quantities = map_of(int_or_string("An amount, such as 4 or 8Gi."), "");
  const auto amounts = [&](std::string description) {
    Schema schema = quantities;
    schema.description = std::move(description);
    return schema;
  };
  const auto text = [](std::string name, std::string description) {
    return field(std::move(name), string(std::move(description)));
  };
  return open_object(
      "What the node is and how it does.",
      {field("capacity", amounts("What the machine has.")),
       field("allocatable", amounts("What pods can have of it.")),
       field("phase", string("Deprecated; not used.")),
       field("conditions", conditions("Aspects of the node's health.")),
       field(
           "addresses",
           list(open_object("An address of the node.",
                            {required_field("type", string("Hostname, InternalIP, ExternalIP, …")),
                             required_field("address", string("The address."))}),
                "Addresses by which the node can be reached.")
               .keyed_by({"type"})
               .patch_merge("type")),
       field("daemonEndpoints", open_object("Ports the node's daemons listen on.", {})),
       field("nodeInfo",
             open_object("What runs on the node.",
                         {text("machineID", "Identity of the operating system's installation."),
                          text("systemUUID", "Identity of the machine."),
                          text("bootID", "Identity of this boot."),
                          text("kernelVersion", "Version of the kernel."),
                          text("osImage", "Name of the operating system's release."),
                          text("containerRuntimeVersion", "Container runtime and its version."),
                          text("kubeletVersion", "Version of the kubelet, or of the agent."),
                          text("kubeProxyVersion", "Deprecated."),
                          text("operatingSystem", "Operating system, such as linux."),
                          text("architecture", "Processor architecture, such as amd64.")})),
       field("images", list(open_object("A container image.", {}), "Images present on the node.")),
       field("volumesInUse", string_list("Volumes attached and in use.")),
       field("volumesAttached",
             list(open_object("A volume.", {}), "Volumes attached to the node."))});
}

void prepare(Json& object, const Json* old, Write write, Moment) {
  if (write == Write::update) keep_old_member(object, old, "status");
  if (write == Write::update_status) keep_old_member(object, old, "spec");
}

}  // namespace

Kind node_kind() {
  Kind kind = core_kind("", "Node", "nodes", "node");
  kind.short_names = {"no"};
  kind.namespaced = false;
  kind.has_status = true;
  kind.schema = core_object("A Node is a machine of the cluster.",
                            {field("spec", spec_schema()), field("status", status_schema())});
  kind.selectable = {"spec.unschedulable"};
  kind.columns = {
      name_column(),
      column("Status", "string", "Whether the node is ready.",
             [](const Json& object, Moment) { return Json(status_text(object)); }),
      column("Roles", "string", "Roles of the node, from its labels.",
             [](const Json& object, Moment) { return Json(roles(object)); }),
      age_column(),
      column("Version", "string", "Version of the kubelet, or of the agent.",
             text_at("status.nodeInfo.kubeletVersion")),
      wide_column("Internal-IP", "string", "Address inside the cluster.",
                  address_of_type("InternalIP")),
      wide_column("External-IP", "string", "Address outside the cluster.",
                  address_of_type("ExternalIP")),
      wide_column("OS-Image", "string", "Operating system.",
                  text_or_unknown("status.nodeInfo.osImage")),
      wide_column("Kernel-Version", "string", "Kernel.",
                  text_or_unknown("status.nodeInfo.kernelVersion")),
      wide_column("Container-Runtime", "string", "Container runtime.",
                  text_or_unknown("status.nodeInfo.containerRuntimeVersion")),
  };
  kind.prepare = prepare;
  kind.node.own = NodeAccess::Own::named;
  kind.node.rights = {{.own = kRead}, {.subresource = "status", .own = kGet | kModify}};
  return kind;
}

}  // namespace fairlead::resource
