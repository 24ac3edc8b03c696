// The load balancers of kube-vip's file.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "features/vip/config/kube_vip_form.h"

namespace fairlead::vip {
namespace {

using Backend = KubeVipLoadBalancer::Backend;

std::optional<KubeVipLoadBalancer::Type> type_of(const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower == "tcp") return KubeVipLoadBalancer::Type::tcp;
  if (lower == "udp") return KubeVipLoadBalancer::Type::udp;
  if (lower == "http") return KubeVipLoadBalancer::Type::http;
  return std::nullopt;
}

std::optional<Backend> plain_backend(const std::string& path, const KubeVipBackend& settings,
                                     std::int32_t port, FieldErrors& errors) {
  if (settings.address.empty()) {
    errors.push_back(resource::required(path + ".address"));
  } else if (settings.address.find_first_of("/ \t") != std::string::npos) {
    refuse(errors, path + ".address", settings.address,
           "must be an address: URLs are for the type http");
  } else if (port == 0) {
    errors.push_back(resource::required(path + ".port"));
  } else {
    return Backend{.address = settings.address, .port = static_cast<std::uint16_t>(port)};
  }
  return std::nullopt;
}

// Its documentation has the URL in `address`, its code in `url`: either will do.
std::optional<Backend> http_backend(const std::string& path, const KubeVipBackend& settings,
                                    std::int32_t port, FieldErrors& errors) {
  const bool in_url = !settings.url.empty();
  const bool in_raw = !in_url && !settings.raw_url.empty();
  const std::string field = path + (in_url ? ".url" : in_raw ? ".rawURL" : ".address");
  const std::string& text = in_url ? settings.url : in_raw ? settings.raw_url : settings.address;
  if (text.empty()) {
    errors.push_back(resource::required(path + ".url"));
    return std::nullopt;
  }
  const Result<WebAddress> address =
      parse_web_address(text.contains("://") ? text : "http://" + text);
  if (!address) {
    refuse(errors, field, text, address.error().message);
    return std::nullopt;
  }
  Backend backend{
      .address = address->host, .port = address->port, .tls = address->tls, .path = address->path};
  if (!address->port_given && port != 0) backend.port = static_cast<std::uint16_t>(port);
  return backend;
}

void take_backends(const std::string& path, const KubeVipBalancerSettings& settings,
                   KubeVipLoadBalancer& balancer, FieldErrors& errors) {
  for (std::size_t i = 0; i < settings.backends.size(); ++i) {
    const KubeVipBackend& one = settings.backends[i];
    const std::string at = item(path + ".backends", i);
    const std::int32_t port = one.port == 0 ? settings.backend_port : one.port;
    std::optional<Backend> backend = balancer.type == KubeVipLoadBalancer::Type::http
                                         ? http_backend(at, one, port, errors)
                                         : plain_backend(at, one, port, errors);
    if (backend) balancer.backends.push_back(std::move(*backend));
  }
}

}  // namespace

std::vector<KubeVipLoadBalancer> check_balancers(const KubeVipSettings& settings,
                                                 FieldErrors& errors) {
  std::vector<KubeVipLoadBalancer> balancers;
  std::map<std::pair<bool, std::uint16_t>, std::string> ports;  // UDP or not, port → path
  for (std::size_t i = 0; i < settings.load_balancers.size(); ++i) {
    const KubeVipBalancerSettings& one = settings.load_balancers[i];
    const std::string path = item("loadBalancers", i);
    const std::optional<KubeVipLoadBalancer::Type> type = type_of(one.type);
    if (!type) {
      refuse(errors, path + ".type", one.type, "must be tcp, udp or http");
      continue;
    }
    KubeVipLoadBalancer balancer{.name = one.name,
                                 .type = *type,
                                 .port = static_cast<std::uint16_t>(one.port),
                                 .bind_to_vip = one.bind_to_vip,
                                 .backends = {}};
    const bool udp = *type == KubeVipLoadBalancer::Type::udp;
    const auto [other, is_new] = ports.try_emplace({udp, balancer.port}, path);
    if (!is_new)
      refuse(errors, path + ".port", std::to_string(one.port),
             "is the port of " + other->second + ", too");
    if (one.backends.empty() && !settings.add_peers_as_backends.value_or(false))
      errors.push_back(resource::required(path + ".backends"));
    take_backends(path, one, balancer, errors);
    balancers.push_back(std::move(balancer));
  }
  return balancers;
}

}  // namespace fairlead::vip
