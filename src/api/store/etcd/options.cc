#include "api/store/etcd/options.h"

#include <algorithm>

namespace fairlead::store {
namespace {

constexpr std::uint16_t kDefaultPort = 2379;

Result<runtime::Endpoint> parse_address(std::string_view host_port) {
  if (host_port.empty()) return fail(Code::invalid, "no host");
  if (auto endpoint = runtime::Endpoint::parse(host_port)) {
    if (endpoint->kind == runtime::Endpoint::Kind::tcp) return endpoint;
    return fail(Code::invalid, "not a TCP address");
  }
  return runtime::Endpoint::parse(
      std::string(host_port).append(":").append(std::to_string(kDefaultPort)));
}

}  // namespace

Result<EtcdAddresses> parse_etcd_addresses(std::string_view text) {
  EtcdAddresses addresses;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string url(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    std::string_view rest = url;
    const bool tls = rest.starts_with("https://");
    if (!tls && !rest.starts_with("http://"))
      return fail(Code::invalid,
                  "etcd address \"" + url + "\" does not begin with http:// or https://");
    if (!addresses.endpoints.empty() && tls != addresses.tls)
      return fail(Code::invalid, "etcd addresses mix http and https");
    addresses.tls = tls;
    rest.remove_prefix(tls ? 8 : 7);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    auto endpoint = parse_address(rest);
    if (!endpoint) return fail(std::move(endpoint).error().context("etcd address \"" + url + "\""));
    addresses.endpoints.push_back(std::move(*endpoint));
  }
  if (addresses.endpoints.empty()) return fail(Code::invalid, "no etcd address");
  return addresses;
}

void EtcdLatency::observe(Duration took) {
  ++count;
  total += took;
  std::size_t bucket = 0;
  for (Duration bound = 100us; bucket + 1 < kBuckets && took >= bound; bound *= 2) ++bucket;
  ++buckets[bucket];
}

}  // namespace fairlead::store
