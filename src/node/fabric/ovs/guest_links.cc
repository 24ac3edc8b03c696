#include "node/fabric/ovs/guest_links.h"

#include <cstdio>

namespace fairlead::fabric::ovs {
namespace {

Result<> write_setting(const std::string& path, std::string_view value) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (!file) return fail(errno_error("open " + path));
  const bool written = std::fwrite(value.data(), 1, value.size(), file) == value.size();
  if (std::fclose(file) != 0 || !written) return fail(errno_error("write " + path));
  return {};
}

// A kernel without IPv6 has no such file, and nothing to close.
Result<> stop_ipv6(const std::string& name) {
  Result<> stopped = write_setting("/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6", "1");
  if (!stopped && stopped.error().code == Code::not_found) return {};
  return stopped;
}

Result<> make(Links& links, const VethPair& pair) {
  FL_TRY(const Link host, links.make_veth({.host_end = pair.host,
                                           .guest_end = pair.guest,
                                           .guest_mac = pair.mac,
                                           .mtu = pair.mtu,
                                           .maker = Maker::ovs}));
  // The host's kernel sees what the guest sends before or beside the switch does. It must neither
  // answer (ARP for the host's addresses), nor route, nor take it in, nor greet the guest by
  // itself.
  const auto finish = [&]() -> Result<> {
    FL_CHECKED(stop_ipv6(pair.host));
    if (pair.switch_in_user_space) {
      FL_CHECKED(links.stop_offload(pair.guest));
    }
    return links.raise(
        host.ifindex,
        {.alias = pair.alias, .promiscuous = pair.switch_in_user_space, .closed = true});
  };
  Result<> finished = finish();
  if (!finished) (void)links.remove({&host.ifindex, 1});
  return finished;
}

}  // namespace

std::vector<Result<>> make_veth_pairs(const std::vector<VethPair>& pairs) {
  Result<Links> links = Links::open();
  std::vector<Result<>> results;
  for (const VethPair& pair : pairs)
    results.push_back(links ? make(*links, pair) : Result<>(fail(links.error())));
  return results;
}

Result<> remove_links(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  FL_TRY(Links links, Links::open());
  return links.remove(std::span<const std::string>(names));
}

Result<> set_mtu(const std::vector<std::string>& names, std::uint32_t mtu) {
  FL_TRY(Links links, Links::open());
  for (const std::string& name : names) {
    const Result<> set = links.set_mtu(name, mtu);
    if (!set && set.error().code != Code::not_found) return set;
  }
  return {};
}

Result<GuestLinks> find_guest_links(std::string_view alias_prefix) {
  FL_TRY(Links links, Links::open());
  GuestLinks found;
  FL_CHECKED(links.each([&](Link link) {
    if (link.alias.starts_with(alias_prefix))
      found.named.push_back({.name = std::move(link.name), .mtu = link.mtu});
    else if (is_half_made(link) && link.maker == Maker::ovs)
      found.half_made.push_back(std::move(link.name));
  }));
  return found;
}

Result<std::uint32_t> underlay_mtu(const Ip& address) {
  FL_TRY(Links links, Links::open());
  FL_TRY(const Link link, links.with_address(address));
  return underlay_mtu(link);
}

}  // namespace fairlead::fabric::ovs
