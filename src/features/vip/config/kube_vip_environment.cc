// kube-vip's environment variables, laid over its file. Its lb_port and lb_backendport are read as
// decimal numbers (kube-vip 0.1.5 took them for octal ones).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/identity/user.h"
#include "api/resource/schema/describe.h"
#include "features/vip/config/kube_vip_form.h"
#include "features/vip/config/kube_vip_settings.h"
#include "features/vip/config/vip_config.h"

namespace fairlead::vip {
namespace {

struct Variable {
  std::string_view name;
  std::string_view field;
};

constexpr std::array kTexts{Variable{"vip_interface", "interface"}, Variable{"vip_address", "vip"}};
constexpr std::array kSwitches{
    Variable{"vip_singlenode", "singleNode"}, Variable{"vip_startleader", "startAsLeader"},
    Variable{"vip_arp", "gratuitousARP"}, Variable{"vip_addpeerstolb", "addPeersAsBackends"}};
constexpr std::array kBalancerTexts{Variable{"lb_name", "name"}, Variable{"lb_type", "type"}};
constexpr std::array kBalancerPorts{Variable{"lb_port", "port"},
                                    Variable{"lb_backendport", "backendPort"}};

// The variable's value; null: it is not set, or empty.
const std::string* find(const agent::Environment& environment, std::string_view name) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? nullptr : &at->second;
}

std::unexpected<Error> wrong(std::string_view name, std::string_view value, std::string_view what) {
  return fail(Code::invalid, fmt::format("{} {}: {}", name, value, what));
}

Result<bool> parse_switch(std::string_view name, const std::string& text) {
  constexpr std::array kYes{"1", "t", "T", "true", "True", "TRUE"};
  constexpr std::array kNo{"0", "f", "F", "false", "False", "FALSE"};
  if (std::ranges::find(kYes, text) != kYes.end()) return true;
  if (std::ranges::find(kNo, text) != kNo.end()) return false;
  return wrong(name, text, "must be true or false");
}

Result<std::int64_t> parse_port(std::string_view name, std::string_view text,
                                std::string_view whole) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0)
    return wrong(name, whole, fmt::format("\"{}\" is no port", text));
  return port;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::string_view without_brackets(std::string_view host) {
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

// "server2:192.168.0.71:10000"
Result<Json> parse_peer(std::string_view name, std::string_view text, std::string_view whole) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  if (first == std::string_view::npos || first == last)
    return wrong(name, whole, fmt::format("\"{}\" must be ID:ADDRESS:PORT", text));
  FL_TRY(const std::int64_t port, parse_port(name, text.substr(last + 1), whole));
  const std::string_view address = without_brackets(text.substr(first + 1, last - first - 1));
  return JsonObject{{"id", text.substr(0, first)}, {"address", address}, {"port", port}};
}

// "192.168.0.70:6443"; a URL stays one.
Result<Json> parse_backend(std::string_view name, std::string_view text, std::string_view whole) {
  if (text.contains("://")) return JsonObject{{"address", text}};
  const std::size_t last = text.rfind(':');
  if (last == std::string_view::npos || last == 0)
    return wrong(name, whole, fmt::format("\"{}\" must be ADDRESS:PORT", text));
  FL_TRY(const std::int64_t port, parse_port(name, text.substr(last + 1), whole));
  return JsonObject{{"address", without_brackets(text.substr(0, last))}, {"port", port}};
}

template <class Parse>
Result<Json> parse_list(std::string_view name, const std::string& text, Parse parse) {
  JsonArray items;
  for (const std::string_view part : split(text)) {
    FL_TRY(Json one, parse(name, part, text));
    items.push_back(std::move(one));
  }
  return items;
}

class Overlay {
 public:
  Overlay(agent::ConfigFile& file, const agent::Environment& environment)
      : file_(file), environment_(environment) {}

  Result<> lay() {
    for (const Variable& variable : kTexts)
      if (const std::string* text = find(environment_, variable.name))
        set(variable, Json(*text), *text);
    for (const Variable& variable : kSwitches) {
      const std::string* text = find(environment_, variable.name);
      if (!text) continue;
      FL_TRY(const bool value, parse_switch(variable.name, *text));
      set(variable, value, *text);
    }
    if (const std::string* text = find(environment_, "vip_localpeer")) {
      FL_TRY(Json peer, parse_peer("vip_localpeer", *text, *text));
      set({"vip_localpeer", "localPeer"}, std::move(peer), *text);
    }
    if (const std::string* text = find(environment_, "vip_peers")) {
      FL_TRY(Json peers, parse_list("vip_peers", *text, parse_peer));
      set({"vip_peers", "remotePeers"}, std::move(peers), *text);
    }
    return lay_balancer();
  }

 private:
  void set(const Variable& variable, Json value, const std::string& text) {
    file_.lay_over({{.flag = std::string(variable.name),
                     .path = std::string(variable.field),
                     .value = std::move(value),
                     .text = text}});
  }

  // The lb_ variables say what the first load balancer is, or change the file's first.
  Result<> lay_balancer() {
    JsonObject balancer;
    std::string used;
    const auto use = [&](std::string_view name, std::string_view field, Json value) {
      balancer[field] = std::move(value);
      used += (used.empty() ? "" : ", ") + std::string(name);
    };
    for (const Variable& variable : kBalancerTexts)
      if (const std::string* text = find(environment_, variable.name))
        use(variable.name, variable.field, Json(*text));
    for (const Variable& variable : kBalancerPorts) {
      const std::string* text = find(environment_, variable.name);
      if (!text) continue;
      FL_TRY(const std::int64_t port, parse_port(variable.name, *text, *text));
      use(variable.name, variable.field, port);
    }
    if (const std::string* text = find(environment_, "lb_bindtovip")) {
      FL_TRY(const bool bind, parse_switch("lb_bindtovip", *text));
      use("lb_bindtovip", "bindToVip", bind);
    }
    if (const std::string* text = find(environment_, "lb_backends")) {
      FL_TRY(Json backends, parse_list("lb_backends", *text, parse_backend));
      use("lb_backends", "backends", std::move(backends));
    }
    if (!used.empty()) merge_balancer(std::move(balancer), used);
    return {};
  }

  void merge_balancer(JsonObject balancer, const std::string& used) {
    const Json* given = wire::find(file_.value(), "loadBalancers");
    if (given && !given->is_array()) return;  // the schema says what is wrong
    JsonArray all = given ? given->get_array() : JsonArray();
    if (all.empty()) all.push_back(JsonObject{{"type", "tcp"}});
    if (!all[0].is_object()) return;
    for (auto& member : balancer) all[0].get_object()[member.key()] = std::move(member.value());
    file_.lay_over({{.flag = "environment variables",
                     .path = "loadBalancers",
                     .value = Json(std::move(all)),
                     .text = used}});
  }

  agent::ConfigFile& file_;
  const agent::Environment& environment_;
};

bool has_variables(const agent::Environment& environment) {
  return find(environment, "vip_address") || find(environment, "vip_localpeer") ||
         find(environment, "vip_peers");
}

}  // namespace

Result<> adopt_kube_vip(agent::ConfigFile& file, const agent::Environment& environment) {
  const std::vector<resource::Field> fields = resource::schema_of<KubeVipSettings>().fields;
  file.accept_loosely(fields);
  const auto has = [&](const resource::Field& field) { return file.has(field.name); };
  const bool theirs = std::ranges::any_of(fields, has);
  const bool own = file.has("election") || file.has("virtualIPs");
  if (own || (!theirs && !has_variables(environment))) return {};
  FL_CHECKED(Overlay(file, environment).lay());
  const std::string name = node_name_of(wire::find_string(file.value(), "localPeer.id"));
  if (!file.has("node") && identity::is_node_name(name))
    file.lay_over({{.flag = "localPeer.id", .path = "node", .value = Json(name)}});
  return {};
}

}  // namespace fairlead::vip
