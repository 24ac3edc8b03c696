#include "bench/network_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

namespace fairlead::bench {
namespace {

constexpr std::size_t kMostNetworks = 100'000;
constexpr std::uint64_t kMostAttachments = 100'000'000;
constexpr std::uint32_t kBase = 0x0a00'0000;  // 10.0.0.0
constexpr int kShortestPrefix = 8;

double uniform(const RandomBits& random) {  // in (0, 1]
  return (static_cast<double>(random() >> 11) + 1) * 0x1.0p-53;
}

// Two addresses at the start and one at the end are never given.
int prefix_for(std::size_t slots, double factor) {
  const auto room = static_cast<std::size_t>(std::ceil(static_cast<double>(slots) * factor));
  return std::max(kShortestPrefix, 32 - static_cast<int>(std::bit_width(room + 2)));
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
  if (settings.poisson && settings.rate == 0) return wrong("--poisson: needs a --rate");
  if (settings.connections < 1 || settings.connections > 10'000)
    return wrong("--connections: must be between 1 and 10000");
  return settings;
}

std::vector<PlannedNetwork> plan_networks(const AttachmentSettings& settings,
                                          const RandomBits& random) {
  std::vector<PlannedNetwork> networks;
  const std::uint32_t first_vni = 1 + static_cast<std::uint32_t>(random() % 64) * 0x2'0000;
  for (std::size_t i = 1; i <= settings.networks; ++i) {
    const double size = (1 + settings.bias) * settings.top_size /
                        std::pow(static_cast<double>(i) + settings.bias, settings.exponent);
    const auto slots = static_cast<std::size_t>(std::max(1.0, std::ceil(size)));
    networks.push_back(
        {.vni = first_vni + static_cast<std::uint32_t>(i - 1),
         .block = Cidr(Ip::v4(kBase), prefix_for(slots, settings.subnet_size_factor)),
         .slots = slots});
  }
  return networks;
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
  std::vector<std::size_t> slots;  // the network of each
  for (std::size_t network = 0; network < networks.size(); ++network)
    slots.insert(slots.end(), networks[network].slots, network);
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random() % i]);

  std::vector<Step> steps;
  std::deque<Step> present;  // oldest first
  const auto remove_oldest = [&] {
    Step step = present.front();
    present.pop_front();
    step.kind = Step::Kind::remove;
    steps.push_back(step);
    return step.network;
  };
  for (std::uint64_t number = 0; number < settings.attachments; ++number) {
    const std::size_t network = number < slots.size() ? slots[number] : remove_oldest();
    steps.push_back({Step::Kind::create, number, network});
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

}  // namespace fairlead::bench
