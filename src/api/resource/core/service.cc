// Service: one address for a set of endpoints. The description; its rules are in
// service_validation.cc.
#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"
#include "api/resource/core/service_validation.h"

namespace fairlead::resource {
namespace {

constexpr std::int64_t kClientIpSeconds = 10'800;

bool uses_node_ports(std::string_view type) { return type == "NodePort" || type == "LoadBalancer"; }

// A port that does not say where its traffic goes keeps its number.
void default_target_ports(JsonObject& spec) {
  Json* ports = spec.if_contains("ports");
  if (!ports || !ports->is_array()) return;
  for (Json& port : ports->get_array()) {
    JsonObject* members = port.if_object();
    const Json* number = members ? members->if_contains("port") : nullptr;
    if (!number || !number->is_number()) continue;
    const Json copied = *number;
    Json& target = (*members)["targetPort"];
    if (target.is_null() || target == Json(0) || target == Json("")) target = copied;
  }
}

void set_if_absent(JsonObject& object, std::string_view name, Json value) {
  Json& member = object[name];
  if (member.is_null()) member = std::move(value);
}

void default_spec(JsonObject& spec) {
  const Json holder = spec;
  const std::string type(wire::find_string(holder, "type"));
  default_target_ports(spec);
  if (type != "ExternalName") {
    set_if_absent(spec, "internalTrafficPolicy", "Cluster");
    const std::string_view address = wire::find_string(holder, "clusterIP");
    if (!address.empty()) set_if_absent(spec, "clusterIPs", JsonArray{Json(address)});
  }
  if (uses_node_ports(type)) set_if_absent(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set_if_absent(spec, "allocateLoadBalancerNodePorts", true);
  if (wire::find_string(holder, "sessionAffinity") == "ClientIP") {
    set_if_absent(spec, "sessionAffinityConfig",
                  JsonObject{{"clientIP", JsonObject{{"timeoutSeconds", kClientIpSeconds}}}});
  }
}

void prepare(Json& object, const Json* old, Write write, Moment) {
  JsonObject* members = object.if_object();
  if (!members) return;
  if (write == Write::create) (*members)["status"] = JsonObject{{"loadBalancer", JsonObject()}};
  if (write == Write::update) keep_old_member(object, old, "status");
  if (write == Write::update_status) return keep_old_member(object, old, "spec");
  Json* spec = members->if_contains("spec");
  if (!spec || !spec->is_object()) return;
  // An address, once given, is kept by updates that do not mention it.
  for (const std::string_view name : {"clusterIP", "clusterIPs"}) {
    const Json* before = old ? wire::find(*old, "spec." + std::string(name)) : nullptr;
    if (before && wire::find_string(*spec, "type") != "ExternalName") {
      set_if_absent(spec->get_object(), name, *before);
    }
  }
  default_spec(spec->get_object());
}

Schema port_schema() {
  return open_object(
      "A port the service listens on.",
      {field("name", string("Name of the port; needed when there are several.")),
       field("protocol",
             string("Protocol of the port.").one_of({"TCP", "UDP", "SCTP"}).defaults_to("TCP")),
       field("appProtocol", string("Protocol spoken inside, such as http or kubernetes.io/h2c.")),
       required_field("port", int32("Number of the port.")),
       field("targetPort",
             int_or_string("Number or name of the port on the endpoints; port if absent.")),
       field("nodePort", int32("Port that every node listens on, for types NodePort and "
                               "LoadBalancer."))});
}

Schema spec_schema() {
  const auto policy = [](std::string description, std::vector<std::string> values) {
    return string(std::move(description)).one_of(std::move(values));
  };
  return open_object(
      "How the service is reached and where its traffic goes.",
      {field("type", policy("How the service is published.",
                            {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"})
                         .defaults_to("ClusterIP")),
       field("selector",
             map_of(string("A label's value."), "Labels of the pods that serve.").as_atomic()),
       field("ports", list(port_schema(), "Ports the service listens on.")
                          .keyed_by({"port", "protocol"})
                          .patch_merge("port")),
       field("clusterIP", string("Address inside the cluster; None for a headless service.")),
       field("clusterIPs", string_list("Addresses inside the cluster, by family.")),
       field("externalIPs", string_list("Further addresses at which nodes accept traffic.")),
       field("externalName", string("DNS name the service stands for, for type ExternalName.")),
       field("loadBalancerIP", string("Address wanted from the load balancer. Deprecated.")),
       field("loadBalancerSourceRanges",
             string_list("Blocks from which clients may reach the load balancer.")),
       field("loadBalancerClass", string("Which implementation of load balancers is meant.")),
       field("allocateLoadBalancerNodePorts",
             boolean("Whether node ports are given to services of type LoadBalancer.")),
       field("sessionAffinity",
             policy("Whether a client stays with its endpoint.", {"ClientIP", "None"})
                 .defaults_to("None")),
       field("sessionAffinityConfig",
             open_object(
                 "Details of session affinity.",
                 {field("clientIP", open_object("For affinity by client address.",
                                                {field("timeoutSeconds",
                                                       int32("How long a client stays."))}))})),
       field("externalTrafficPolicy",
             policy("Which endpoints get traffic from outside.", {"Cluster", "Local"})),
       field("internalTrafficPolicy",
             policy("Which endpoints get traffic from inside.", {"Cluster", "Local"})),
       field("healthCheckNodePort",
             int32("Port for health checks with externalTrafficPolicy Local.")),
       field("publishNotReadyAddresses",
             boolean("Whether endpoints that are not ready are published too.")),
       field("ipFamilies", string_list("Address families of the service.")),
       field("ipFamilyPolicy", policy("How many families the service is to have.",
                                      {"PreferDualStack", "RequireDualStack", "SingleStack"})),
       field("trafficDistribution", string("Preference for near endpoints."))});
}

Schema status_schema() {
  const Schema ingress = open_object(
      "An address of the load balancer.",
      {field("ip", string("Address.")), field("hostname", string("DNS name.")),
       field("ipMode", string("How the address is treated inside the cluster.")),
       field("ports", list(open_object("State of a port.", {}), "States of the ports."))});
  return open_object(
      "What became of the service.",
      {field("loadBalancer",
             open_object("The load balancer.",
                         {field("ingress", list(ingress, "Addresses of the load balancer."))})),
       field("conditions", conditions("Aspects of the service's state."))});
}

std::vector<std::string> load_balancer_addresses(const Json& object) {
  std::vector<std::string> addresses;
  for (const Json& ingress : items_at(object, "status.loadBalancer.ingress")) {
    const std::string_view ip = wire::find_string(ingress, "ip");
    addresses.emplace_back(ip.empty() ? wire::find_string(ingress, "hostname") : ip);
  }
  return addresses;
}

std::string external_addresses(const Json& object) {
  const std::string_view type = wire::find_string(object, "spec.type");
  if (type == "ExternalName") return std::string(wire::find_string(object, "spec.externalName"));
  std::vector<std::string> addresses;
  if (type == "LoadBalancer") addresses = load_balancer_addresses(object);
  for (std::string& address : strings_at(object, "spec.externalIPs")) {
    addresses.push_back(std::move(address));
  }
  if (!addresses.empty()) return join(addresses, ",");
  return type == "LoadBalancer" ? "<pending>" : "<none>";
}

std::string ports_text(const Json& object) {
  std::vector<std::string> texts;
  for (const Json& port : items_at(object, "spec.ports")) {
    std::string text = port_text(wire::find(port, "port"));
    if (integer_at(port, "nodePort").value_or(0) > 0) {
      text += ":" + port_text(wire::find(port, "nodePort"));
    }
    texts.push_back(text + "/" + std::string(wire::find_string(port, "protocol")));
  }
  return texts.empty() ? "<none>" : join(texts, ",");
}

std::string cluster_address(const Json& object) {
  const auto addresses = strings_at(object, "spec.clusterIPs");
  if (!addresses.empty()) return addresses.front();
  const std::string_view address = wire::find_string(object, "spec.clusterIP");
  return address.empty() ? "<none>" : std::string(address);
}

}  // namespace

Kind service_kind() {
  Kind kind = core_kind("", "Service", "services", "service");
  kind.short_names = {"svc"};
  kind.categories = {"all"};
  kind.name_rule = NameRule::dns_1035_label;
  kind.has_status = true;
  kind.create_on_update = true;
  kind.schema = core_object("A Service is one address for a set of endpoints.",
                            {field("spec", spec_schema()), field("status", status_schema())});
  kind.selectable = {"spec.clusterIP", "spec.type"};
  const auto text = [](std::string (*make)(const Json&)) {
    return [make](const Json& object, Moment) { return Json(make(object)); };
  };
  kind.columns = {
      name_column(),
      column("Type", "string", "How the service is published.", text_at("spec.type")),
      column("Cluster-IP", "string", "Address inside the cluster.", text(cluster_address)),
      column("External-IP", "string", "Addresses outside the cluster.", text(external_addresses)),
      column("Port(s)", "string", "Ports the service listens on.", text(ports_text)),
      age_column(),
      wide_column("Selector", "string", "Labels of the pods that serve.",
                  [](const Json& object, Moment) {
                    return Json(join_labels(wire::find(object, "spec.selector")));
                  }),
  };
  kind.prepare = prepare;
  kind.validate = validate_service;
  return kind;
}

}  // namespace fairlead::resource
