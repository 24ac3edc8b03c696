#include "tools/bench/network_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

#include "tools/bench/tally.h"

namespace fairlead::bench {
namespace {

constexpr std::size_t kMostNetworks = 100'000;
constexpr std::uint64_t kMostAttachments = 100'000'000;
constexpr std::size_t kMostSubnets = 16;
constexpr int kShortestPrefix = 8;

double uniform(const RandomBits& random) {  // in (0, 1]
  return (static_cast<double>(random() >> 11) + 1) * 0x1.0p-53;
}

// Two addresses at the start and one at the end are never given.
int prefix_for(std::size_t slots, double factor) {
  const auto room = static_cast<std::size_t>(std::ceil(static_cast<double>(slots) * factor));
  return std::max(kShortestPrefix, 32 - static_cast<int>(std::bit_width(room + 2)));
}

std::size_t slots_of(const AttachmentSettings& settings, std::size_t network) {
  const double size = (1 + settings.bias) * settings.top_size /
                      std::pow(static_cast<double>(network) + settings.bias, settings.exponent);
  return static_cast<std::size_t>(std::max(1.0, std::ceil(size)));
}

// One for each subnet, next to one another from the base on; each has room for its share.
std::vector<Cidr> plan_blocks(const AttachmentSettings& settings, std::uint32_t base,
                              std::size_t slots) {
  const std::size_t subnets = settings.subnets_per_network;
  const int prefix = prefix_for((slots + subnets - 1) / subnets, settings.subnet_size_factor);
  std::vector<Cidr> blocks;
  for (std::size_t i = 0; i < subnets; ++i)
    blocks.emplace_back(Ip::v4(base + (static_cast<std::uint32_t>(i) << (32 - prefix))), prefix);
  return blocks;
}

Result<> check_base(const AttachmentSettings& settings) {
  const std::string flag = "--base-address " + settings.base_address;
  const Result<Ip> base = Ip::parse(settings.base_address);
  if (!base || !base->is_v4()) return fail(Code::invalid, flag + ": is no IPv4 address");
  const std::vector<Cidr> blocks = plan_blocks(settings, 0, slots_of(settings, 1));
  const std::uint64_t size = std::uint64_t{1} << (32 - blocks.front().prefix());
  if (base->v4_bits() % size != 0)
    return fail(Code::invalid, fmt::format("{}: must be a multiple of {}, the size of the largest "
                                           "network's blocks",
                                           flag, size));
  if (base->v4_bits() + size * blocks.size() > std::uint64_t{1} << 32)
    return fail(Code::invalid, flag + ": the largest network does not fit behind it");
  return {};
}

Result<> check_tests(const AttachmentSettings& settings) {
  if (!(settings.test_fraction >= 0 && settings.test_fraction <= 1))
    return fail(Code::invalid, "--test-fraction: must be between 0 and 1");
  if (settings.ping_count < 1 || settings.ping_count > 1'000)
    return fail(Code::invalid, "--ping-count: must be between 1 and 1000");
  return {};
}

}  // namespace

Result<AttachmentSettings> check_settings(AttachmentSettings settings) {
  const auto wrong = [](std::string text) { return fail(Code::invalid, std::move(text)); };
  if (settings.networks < 1 || settings.networks > kMostNetworks)
    return wrong("--networks: must be between 1 and 100000");
  if (!(settings.top_size >= 1 && settings.top_size <= 1'000'000))
    return wrong("--top-size: must be between 1 and 1000000");
  if (!(settings.exponent >= 0 && settings.exponent <= 10))
    return wrong("--exponent: must be between 0 and 10");
  if (!(settings.bias >= 0 && settings.bias <= 1'000'000))
    return wrong("--bias: must be between 0 and 1000000");
  if (settings.attachments < 1 || settings.attachments > kMostAttachments)
    return wrong("--attachments: must be between 1 and 100000000");
  if (!(settings.rate >= 0)) return wrong("--rate: must not be negative");
  if (settings.fill_rate && !(*settings.fill_rate >= 0))
    return wrong("--fill-rate: must not be negative");
  if (!(settings.subnet_size_factor >= 1 && settings.subnet_size_factor <= 1'000))
    return wrong("--subnet-size-factor: must be between 1 and 1000");
  if (settings.subnets_per_network < 1 || settings.subnets_per_network > kMostSubnets)
    return wrong("--subnets-per-network: must be between 1 and 16");
  FL_CHECKED(check_base(settings));
  FL_CHECKED(check_tests(settings));
  if (!settings.node_selector.empty() && !settings.nodes.empty())
    return wrong("--node-selector: not with --node, which names them");
  if (settings.poisson && settings.rate == 0) return wrong("--poisson: needs a --rate");
  if (settings.connections < 1 || settings.connections > 10'000)
    return wrong("--connections: must be between 1 and 10000");
  return settings;
}

std::vector<PlannedNetwork> plan_networks(const AttachmentSettings& settings,
                                          const RandomBits& random) {
  std::vector<PlannedNetwork> networks;
  const std::uint32_t base = Ip::parse(settings.base_address).value_or(Ip()).v4_bits();
  const std::uint32_t first_vni = 1 + static_cast<std::uint32_t>(random() % 64) * 0x2'0000;
  for (std::size_t i = 1; i <= settings.networks; ++i) {
    const std::size_t slots = slots_of(settings, i);
    networks.push_back({.vni = first_vni + static_cast<std::uint32_t>(i - 1),
                        .blocks = plan_blocks(settings, base, slots),
                        .slots = slots});
  }
  return networks;
}

std::string sizes_csv(const std::vector<PlannedNetwork>& networks) {
  std::string text = "network,vni,places,blocks\n";
  for (std::size_t i = 0; i < networks.size(); ++i) {
    std::string blocks;
    for (const Cidr& block : networks[i].blocks)
      blocks += (blocks.empty() ? "" : " ") + block.to_string();
    text += fmt::format("{},{},{},{}\n", i, networks[i].vni, networks[i].slots, blocks);
  }
  return text;
}

double average_peers(const std::vector<PlannedNetwork>& networks) {
  double slots = 0;
  double squares = 0;
  for (const PlannedNetwork& network : networks) {
    const auto size = static_cast<double>(network.slots);
    slots += size;
    squares += size * size;
  }
  return slots == 0 ? 0 : squares / slots - 1;
}

std::vector<Step> plan_steps(const AttachmentSettings& settings,
                             const std::vector<PlannedNetwork>& networks,
                             const RandomBits& random) {
  std::vector<Step> slots;  // the network and subnet of each
  for (std::size_t network = 0; network < networks.size(); ++network)
    for (std::size_t i = 0; i < networks[network].slots; ++i)
      slots.push_back({.network = network, .subnet = i % networks[network].blocks.size()});
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random() % i]);

  std::vector<Step> steps;
  std::deque<Step> present;  // oldest first
  const auto remove_oldest = [&] {
    Step step = present.front();
    present.pop_front();
    step.kind = Step::Kind::remove;
    steps.push_back(step);
    return step;
  };
  for (std::uint64_t number = 0; number < settings.attachments; ++number) {
    Step step = number < slots.size() ? slots[number] : remove_oldest();
    step.kind = Step::Kind::create;
    step.attachment = number;
    step.tested = settings.ping && uniform(random) <= settings.test_fraction;
    steps.push_back(step);
    present.push_back(steps.back());
  }
  while (!present.empty()) remove_oldest();
  return steps;
}

std::vector<Duration> plan_times(double rate, bool poisson, std::size_t steps,
                                 const RandomBits& random) {
  std::vector<Duration> times(steps, Duration{0});
  if (rate == 0) return times;
  const double mean = 1 / rate;
  double at = 0;
  for (Duration& time : times) {
    time = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(at));
    // An exponential tail is cut where it would only make the run longer.
    at += poisson ? std::min(-std::log(uniform(random)), 1'000.0) * mean : mean;
  }
  return times;
}

std::vector<Phase> plan_phases(const AttachmentSettings& settings, const std::vector<Step>& steps) {
  std::size_t full = 0;
  while (full < steps.size() && steps[full].kind == Step::Kind::create) ++full;
  std::size_t last = steps.size();
  while (last > full && steps[last - 1].kind == Step::Kind::remove) --last;
  const double fill = settings.fill_rate.value_or(settings.rate);
  std::vector<Phase> phases{{"warm-up", 0, full, fill},
                            {"cruise", full, last, settings.rate},
                            {"cool-down", last, steps.size(), fill}};
  std::erase_if(phases, [](const Phase& phase) { return phase.begin == phase.end; });
  return phases;
}

std::string estimate_text(const AttachmentSettings& settings, std::size_t nodes,
                          const RandomBits& random) {
  const std::vector<PlannedNetwork> networks = plan_networks(settings, random);
  const std::vector<Step> steps = plan_steps(settings, networks, random);
  std::size_t slots = 0;
  double stations = 0;
  for (const PlannedNetwork& network : networks) {
    const auto size = static_cast<double>(network.slots);
    const auto hosts = static_cast<double>(nodes);
    slots += network.slots;
    // Hosts with a share in it when each attachment's host is drawn.
    if (nodes != 0) stations += size * hosts * (1 - std::pow(1 - 1 / hosts, size));
  }
  std::string text = fmt::format(
      "{} networks with {} subnets and {} places, largest {}, smallest {}; {:.1f} peers on "
      "average\n",
      networks.size(), networks.size() * settings.subnets_per_network, slots,
      networks.front().slots, networks.back().slots, average_peers(networks));
  double seconds = seconds_of(settings.wait_after_create);
  bool known = true;
  for (const Phase& phase : plan_phases(settings, steps)) {
    const double takes = static_cast<double>(phase.end - phase.begin) / phase.rate;
    text += fmt::format("{}: {} operations{}\n", phase.name, phase.end - phase.begin,
                        phase.rate > 0 ? fmt::format(" in {:.1f} s", takes)
                                       : std::string(" as fast as they are answered"));
    known = known && phase.rate > 0;
    seconds += takes;
  }
  if (settings.rate > 0 && settings.attachments > slots)
    text += fmt::format("an attachment of the cruise lives {:.1f} s\n",
                        2 * static_cast<double>(slots) / settings.rate);
  if (nodes != 0)
    text += fmt::format("{} nodes carry about {:.0f} stations in all when the networks are full\n",
                        nodes, stations);
  if (settings.ping)
    text += fmt::format("{} attachments are tested\n", std::ranges::count_if(steps, [](auto& step) {
                          return step.kind == Step::Kind::create && step.tested;
                        }));
  if (known) text += fmt::format("{:.1f} s in all\n", seconds);
  return text;
}

}  // namespace fairlead::bench
