#include "features/vip/routes/bird_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::vip {
namespace {

constexpr std::size_t kLongestPassword = 80;  // the kernel's limit for TCP MD5

std::int64_t seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}
std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// A filter that passes exactly these.
std::string filter_text(const std::string& name, const std::set<Ip>& vips, bool v4) {
  std::string list;
  for (const Ip& vip : vips)
    if (vip.is_v4() == v4)
      list += fmt::format("{}{}/{}", list.empty() ? "" : ", ", vip.to_string(), vip.width());
  const std::string rule =
      list.empty() ? "" : fmt::format("  if net ~ [ {} ] then accept;\n", list);
  return fmt::format("filter {} {{\n{}  reject;\n}}\n", name, rule);
}

std::string bfd_text(const BgpConfig& bgp) {
  if (std::ranges::none_of(bgp.neighbors, &BgpNeighbor::bfd)) return "";
  const std::string times = fmt::format("{{ interval {} ms; multiplier {}; }}",
                                        milliseconds(bgp.bfd_interval), bgp.bfd_multiplier);
  return fmt::format("protocol bfd {{\n  interface \"*\" {};\n  multihop {};\n}}\n", times, times);
}

std::string session_text(const BirdPlan& plan, std::size_t index) {
  const BgpConfig& bgp = plan.bgp;
  const BgpNeighbor& neighbor = bgp.neighbors[index];
  const bool v4 = neighbor.address.is_v4();
  std::string text = fmt::format("protocol bgp {} {{\n", session_name(index));
  text += neighbor.source ? fmt::format("  local {} as {};\n", neighbor.source->to_string(), bgp.as)
                          : fmt::format("  local as {};\n", bgp.as);
  text += fmt::format("  neighbor {} as {};\n", neighbor.address.to_string(), neighbor.as);
  text += neighbor.multihop > 0 ? fmt::format("  multihop {};\n", neighbor.multihop)
                                : std::string("  direct;\n");
  if (const auto password = plan.passwords.find(neighbor.address); password != plan.passwords.end())
    text += fmt::format("  password \"{}\";\n", password->second);
  if (neighbor.bfd) text += "  bfd on;\n";
  text += fmt::format("  hold time {};\n  keepalive time {};\n", seconds(bgp.hold),
                      seconds(bgp.keepalive));
  text += fmt::format("  connect retry time {};\n  connect delay time 1;\n",
                      seconds(bgp.connect_retry));
  text += "  error wait time 1, 10;\n";
  text += "  graceful restart off;\n  long lived graceful restart off;\n";
  text +=
      fmt::format("  {} {{\n    import none;\n    export filter {};\n    next hop self;\n  }};\n",
                  v4 ? "ipv4" : "ipv6", v4 ? "vips4" : "vips6");
  return text + "}\n";
}

std::string interface_list(const std::set<std::string>& interfaces) {
  std::string list;
  for (const std::string& name : interfaces)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  return list;
}

}  // namespace

std::string session_name(std::size_t index) { return fmt::format("neighbor_{}", index + 1); }

std::string bird_config(const BirdPlan& plan) {
  std::string text = "# Written by fairlead agent: changes are lost.\n";
  text += "log stderr { info, remote, warning, error, auth, fatal, bug };\n";
  text += fmt::format("router id {};\n", plan.bgp.router_id.to_string());
  text += "protocol device {\n  scan time 10;\n}\n";
  text += fmt::format("protocol direct addresses {{\n  ipv4;\n  ipv6;\n  interface {};\n}}\n",
                      interface_list(plan.interfaces));
  text += filter_text("vips4", plan.vips, true);
  text += filter_text("vips6", plan.vips, false);
  text += bfd_text(plan.bgp);
  for (std::size_t i = 0; i < plan.bgp.neighbors.size(); ++i) text += session_text(plan, i);
  return text;
}

Result<> check_password(std::string_view password) {
  const bool printable =
      std::ranges::all_of(password, [](char c) { return c >= ' ' && c < 0x7f && c != '"'; });
  if (password.empty() || password.size() > kLongestPassword || !printable)
    return fail(Code::invalid, fmt::format("must have one line of 1 to {} ASCII characters other "
                                           "than quotation marks",
                                           kLongestPassword));
  return {};
}

}  // namespace fairlead::vip
