#include "api/resource/core/service_validation.h"

#include <set>

#include "api/resource/core/core_kind.h"
#include "foundation/base/ip.h"

namespace fairlead::resource {
namespace {

bool is_address(std::string_view text) { return Ip::parse(text).has_value(); }

constexpr std::string_view kAddressWords =
    "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

void check_target(const Json* target, const std::string& field, FieldErrors& errors) {
  if (!target || target->is_null()) return;
  if (const boost::json::string* name = target->if_string()) {
    if (std::string problem = port_name_problem(*name); !problem.empty()) {
      errors.push_back(invalid(field, *target, std::move(problem)));
    }
  } else {
    check_port_number(field, target, errors);
  }
}

void check_ports(const Json& spec, bool needed, FieldErrors& errors) {
  const JsonArray& ports = items_at(spec, "ports");
  if (ports.empty() && needed) errors.push_back(required("spec.ports"));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string field = "spec.ports[" + std::to_string(i) + "]";
    const std::string_view name = wire::find_string(ports[i], "name");
    if (name.empty()) {
      if (ports.size() > 1) errors.push_back(required(field + ".name"));
    } else if (std::string problem = dns_label_problem(name); !problem.empty()) {
      errors.push_back(invalid(field + ".name", Json(name), std::move(problem)));
    } else if (!names.insert(name).second) {
      errors.push_back(duplicate(field + ".name", Json(name)));
    }
    check_port_number(field + ".port", wire::find(ports[i], "port"), errors);
    check_target(wire::find(ports[i], "targetPort"), field + ".targetPort", errors);
    const Json* node_port = wire::find(ports[i], "nodePort");
    if (node_port && *node_port != Json(0)) {
      check_port_number(field + ".nodePort", node_port, errors);
    }
  }
}

void check_addresses(const Json& spec, FieldErrors& errors) {
  const std::string_view cluster = wire::find_string(spec, "clusterIP");
  if (!cluster.empty() && cluster != "None" && !is_address(cluster)) {
    errors.push_back(invalid("spec.clusterIP", Json(cluster), std::string(kAddressWords)));
  }
  const auto external = strings_at(spec, "externalIPs");
  for (std::size_t i = 0; i < external.size(); ++i) {
    if (!is_address(external[i])) {
      errors.push_back(invalid("spec.externalIPs[" + std::to_string(i) + "]", Json(external[i]),
                               std::string(kAddressWords)));
    }
  }
  const auto ranges = strings_at(spec, "loadBalancerSourceRanges");
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!Cidr::parse(ranges[i])) {
      errors.push_back(invalid("spec.loadBalancerSourceRanges[" + std::to_string(i) + "]",
                               Json(ranges[i]),
                               "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    }
  }
}

void check_selector(const Json& spec, FieldErrors& errors) {
  for (const auto& label : members_at(spec, "selector")) {
    if (std::string problem = qualified_name_problem(label.key()); !problem.empty()) {
      errors.push_back(invalid("spec.selector", Json(label.key()), std::move(problem)));
    }
    if (!label.value().is_string()) continue;
    if (std::string problem = label_value_problem(label.value().get_string()); !problem.empty()) {
      errors.push_back(invalid("spec.selector", label.value(), std::move(problem)));
    }
  }
}

// An address that others may have learnt stays, unless the service stops having one.
void check_kept_address(const Json& spec, const Json& old, FieldErrors& errors) {
  const std::string_view before = wire::find_string(old, "spec.clusterIP");
  const std::string_view now = wire::find_string(spec, "clusterIP");
  if (before.empty() || wire::find_string(spec, "type") == "ExternalName" ||
      wire::find_string(old, "spec.type") == "ExternalName") {
    return;
  }
  if (now != before) errors.push_back(invalid("spec.clusterIP", Json(now), "field is immutable"));
}

}  // namespace

FieldErrors validate_service(const Json& object, const Json* old, Write write) {
  FieldErrors errors;
  if (write == Write::update_status) return errors;
  static const Json kNone = JsonObject();
  const Json* given = wire::find(object, "spec");
  const Json& spec = given && given->is_object() ? *given : kNone;
  const std::string_view type = wire::find_string(spec, "type");
  const bool external = type == "ExternalName";
  const bool headless = wire::find_string(spec, "clusterIP") == "None";
  check_ports(spec, !external && !headless, errors);
  check_addresses(spec, errors);
  check_selector(spec, errors);
  if (external) {
    const std::string_view name = wire::find_string(spec, "externalName");
    if (name.empty()) {
      errors.push_back(required("spec.externalName"));
    } else {
      // A trailing dot marks a name as absolute.
      const std::string_view bare = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
      if (std::string problem = dns_subdomain_problem(bare); !problem.empty()) {
        errors.push_back(invalid("spec.externalName", Json(name), std::move(problem)));
      }
    }
  }
  if (type == "LoadBalancer" && headless) {
    errors.push_back(invalid("spec.clusterIPs[0]", Json("None"),
                             "may not be set to 'None' for LoadBalancer services"));
  }
  if (old) check_kept_address(spec, *old, errors);
  return errors;
}

}  // namespace fairlead::resource
