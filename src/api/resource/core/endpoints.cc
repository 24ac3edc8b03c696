// Endpoints and EndpointSlice: where the traffic of a service goes.
#include <set>

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"
#include "foundation/base/ip.h"

namespace fairlead::resource {
namespace {

constexpr std::string_view kAddressWords =
    "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

std::string at(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

// ------------------------------------------------------------ Endpoints

// "10.0.0.1:80" when a port is known, else the address alone; IPv6 in brackets.
std::string endpoint_text(std::string_view ip, const Json* port) {
  std::string text(ip);
  if (!port || port->is_null()) return text;
  if (text.contains(':')) text = "[" + text + "]";
  return text + ":" + port_text(port);
}

std::string endpoints_text(const Json& object) {
  std::vector<std::string> texts;
  for (const Json& subset : items_at(object, "subsets")) {
    const JsonArray& ports = items_at(subset, "ports");
    for (const Json& address : items_at(subset, "addresses")) {
      const std::string_view ip = wire::find_string(address, "ip");
      if (ports.empty()) texts.push_back(endpoint_text(ip, nullptr));
      for (const Json& port : ports) {
        texts.push_back(endpoint_text(ip, wire::find(port, "port")));
      }
    }
  }
  return join_first_three(texts, "<none>");
}

Schema endpoints_schema() {
  const Schema address =
      open_object("One endpoint.", {required_field("ip", string("Address of the endpoint.")),
                                    field("hostname", string("Name of the endpoint.")),
                                    field("nodeName", string("Node the endpoint is on.")),
                                    field("targetRef", object_reference("The object behind it."))})
          .as_atomic();
  const Schema port =
      open_object(
          "A port of the endpoints.",
          {field("name", string("Name of the port, as the service has it.")),
           required_field("port", int32("Number of the port.")),
           field("protocol",
                 string("Protocol of the port.").one_of({"TCP", "UDP", "SCTP"}).defaults_to("TCP")),
           field("appProtocol", string("Protocol spoken inside."))})
          .as_atomic();
  const Schema subset =
      open_object("Addresses with a common set of ports.",
                  {field("addresses", list(address, "Endpoints that are ready.")),
                   field("notReadyAddresses", list(address, "Endpoints that are not ready.")),
                   field("ports", list(port, "Ports of these endpoints."))});
  return core_object("Endpoints lists the addresses behind a service of the same name.",
                     {field("subsets", list(subset, "Sets of addresses with common ports."))});
}

void check_subset_addresses(const Json& subset, const std::string& field, std::string_view member,
                            FieldErrors& errors) {
  const JsonArray& addresses = items_at(subset, member);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view ip = wire::find_string(addresses[i], "ip");
    const std::string where = at(field + "." + std::string(member), i) + ".ip";
    const auto parsed = Ip::parse(ip);
    if (!parsed) {
      errors.push_back(invalid(where, Json(ip), std::string(kAddressWords)));
    } else if (parsed->is_loopback() || !parsed->is_unicast()) {
      errors.push_back(invalid(where, Json(ip), "may not be in the loopback or multicast range"));
    }
  }
}

FieldErrors validate_endpoints(const Json& object, const Json*, Write) {
  FieldErrors errors;
  const JsonArray& subsets = items_at(object, "subsets");
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    const std::string field = at("subsets", i);
    if (items_at(subsets[i], "addresses").empty() &&
        items_at(subsets[i], "notReadyAddresses").empty()) {
      errors.push_back(required(field, "must specify `addresses` or `notReadyAddresses`"));
    }
    check_subset_addresses(subsets[i], field, "addresses", errors);
    check_subset_addresses(subsets[i], field, "notReadyAddresses", errors);
    const JsonArray& ports = items_at(subsets[i], "ports");
    for (std::size_t k = 0; k < ports.size(); ++k) {
      const std::string where = at(field + ".ports", k);
      if (ports.size() > 1 && wire::find_string(ports[k], "name").empty()) {
        errors.push_back(required(where + ".name"));
      }
      check_port_number(where + ".port", wire::find(ports[k], "port"), errors);
    }
  }
  return errors;
}

// ------------------------------------------------------------ EndpointSlice

constexpr std::size_t kMaxEndpoints = 1'000;
constexpr std::size_t kMaxAddresses = 100;
constexpr std::size_t kMaxPorts = 20'000;

Schema slice_schema() {
  const Schema endpoint = open_object(
      "One endpoint.",
      {required_field("addresses", string_list("Addresses of the endpoint; the first is used.")
                                       .as_set()
                                       .at_most(kMaxAddresses)),
       field(
           "conditions",
           open_object("State of the endpoint.",
                       {field("ready", boolean("Whether it takes new traffic; absent means yes.")),
                        field("serving", boolean("Whether it answers, even while ending.")),
                        field("terminating", boolean("Whether it is ending."))})),
       field("hostname", string("Name of the endpoint.")),
       field("nodeName", string("Node the endpoint is on.")),
       field("zone", string("Zone the endpoint is in.")),
       field("hints", open_object("Who is to use the endpoint.", {})),
       field("deprecatedTopology", map_of(string("A value."), "Deprecated.")),
       field("targetRef", object_reference("The object behind it."))});
  const Schema port =
      open_object(
          "A port of the endpoints.",
          {field("name", string("Name of the port, unique in the slice.")),
           field("protocol",
                 string("Protocol of the port.").one_of({"TCP", "UDP", "SCTP"}).defaults_to("TCP")),
           field("port", int32("Number of the port; absent means all.")),
           field("appProtocol", string("Protocol spoken inside."))})
          .as_atomic();
  return core_object(
      "An EndpointSlice lists some of the addresses behind a service.",
      {required_field("addressType",
                      string("What the addresses are.").one_of({"FQDN", "IPv4", "IPv6"})),
       field("endpoints", list(endpoint, "The endpoints.").at_most(kMaxEndpoints)),
       field("ports", list(port, "Ports of the endpoints.").at_most(kMaxPorts))});
}

std::string slice_ports_text(const Json& object) {
  std::vector<std::string> texts;
  for (const Json& port : items_at(object, "ports")) {
    const Json* number = wire::find(port, "port");
    texts.push_back(number && !number->is_null() ? port_text(number) : "*");
  }
  return join_first_three(texts, "<unset>");
}

std::string slice_addresses_text(const Json& object) {
  std::vector<std::string> texts;
  for (const Json& endpoint : items_at(object, "endpoints")) {
    for (std::string& address : strings_at(endpoint, "addresses")) {
      texts.push_back(std::move(address));
    }
  }
  return join_first_three(texts, "<unset>");
}

std::string address_problem(std::string_view type, std::string_view address) {
  if (type == "FQDN") return dns_subdomain_problem(address);
  const auto ip = Ip::parse(address);
  if (!ip || ip->is_v4() != (type == "IPv4")) {
    return type == "IPv4" ? "must be a valid IPv4 address" : "must be a valid IPv6 address";
  }
  if (ip->is_loopback() || !ip->is_unicast()) {
    return "may not be in the loopback or multicast range";
  }
  return "";
}

void check_endpoints(const Json& object, FieldErrors& errors) {
  const std::string_view type = wire::find_string(object, "addressType");
  const JsonArray& endpoints = items_at(object, "endpoints");
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const std::string field = at("endpoints", i) + ".addresses";
    const JsonArray& addresses = items_at(endpoints[i], "addresses");
    if (addresses.empty()) errors.push_back(required(field, "must contain at least 1 address"));
    for (std::size_t k = 0; k < addresses.size(); ++k) {
      if (!addresses[k].is_string()) continue;
      if (std::string problem = address_problem(type, addresses[k].get_string());
          !problem.empty()) {
        errors.push_back(invalid(at(field, k), addresses[k], std::move(problem)));
      }
    }
  }
}

FieldErrors validate_slice(const Json& object, const Json* old, Write) {
  FieldErrors errors;
  check_endpoints(object, errors);
  std::set<std::string_view> names;
  const JsonArray& ports = items_at(object, "ports");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string_view name = wire::find_string(ports[i], "name");
    if (!names.insert(name).second) {
      errors.push_back(duplicate(at("ports", i) + ".name", Json(name)));
    }
    const Json* number = wire::find(ports[i], "port");
    if (number && !number->is_null()) {
      check_port_number(at("ports", i) + ".port", number, errors);
    }
  }
  const std::string_view type = wire::find_string(object, "addressType");
  if (old && type != wire::find_string(*old, "addressType")) {
    errors.push_back(invalid("addressType", Json(type), "field is immutable"));
  }
  return errors;
}

}  // namespace

Kind endpoints_kind() {
  Kind kind = core_kind("", "Endpoints", "endpoints", "endpoints");
  kind.short_names = {"ep"};
  kind.create_on_update = true;
  kind.schema = endpoints_schema();
  kind.columns = {name_column(),
                  column("Endpoints", "string", "Addresses and ports that are ready.",
                         [](const Json& object, Moment) { return Json(endpoints_text(object)); }),
                  age_column()};
  kind.validate = validate_endpoints;
  return kind;
}

Kind endpoint_slice_kind() {
  Kind kind = core_kind("discovery.k8s.io", "EndpointSlice", "endpointslices", "endpointslice");
  kind.schema = slice_schema();
  kind.columns = {
      name_column(),
      column("AddressType", "string", "What the addresses are.", text_at("addressType")),
      column("Ports", "string", "Ports of the endpoints.",
             [](const Json& object, Moment) { return Json(slice_ports_text(object)); }),
      column("Endpoints", "string", "Addresses of the endpoints.",
             [](const Json& object, Moment) { return Json(slice_addresses_text(object)); }),
      age_column()};
  kind.validate = validate_slice;
  return kind;
}

}  // namespace fairlead::resource
