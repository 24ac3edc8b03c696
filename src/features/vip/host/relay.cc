#include "features/vip/host/relay.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <algorithm>

#include "features/vip/announce/frames.h"
#include "foundation/runtime/frame_tap.h"

namespace fairlead::vip {
namespace {

constexpr std::uint32_t kIcmpv6 = 58, kAdvertisement = 136;
constexpr std::uint32_t kTakeAll = 0x40000;

// Classic BPF that is written from the front: what does not hold goes on at `otherwise`, which is
// the number of a test in the same chain of tests.
class Filter {
 public:
  // Accepts what passes all tests of a chain; what fails one goes on behind it.
  struct Test {
    std::uint16_t load;  // BPF_B, BPF_H or BPF_W
    std::uint32_t offset;
    std::uint32_t equals;
  };
  Filter& accept_if(const std::vector<Test>& chain) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const auto to_next_chain = static_cast<std::uint8_t>((chain.size() - i - 1) * 2 + 1);
      code_.push_back(
          {static_cast<std::uint16_t>(BPF_LD | chain[i].load | BPF_ABS), 0, 0, chain[i].offset});
      code_.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, to_next_chain, chain[i].equals});
    }
    code_.push_back({BPF_RET | BPF_K, 0, 0, kTakeAll});
    return *this;
  }
  std::vector<sock_filter> take() {
    code_.push_back({BPF_RET | BPF_K, 0, 0, 0});
    return std::move(code_);
  }

 private:
  std::vector<sock_filter> code_;
};

constexpr std::uint32_t meta(int what) { return static_cast<std::uint32_t>(SKF_AD_OFF + what); }

std::uint32_t word(const Ip& ip, std::size_t at) {
  const auto& bytes = ip.bytes();
  return static_cast<std::uint32_t>(bytes[at]) << 24 |
         static_cast<std::uint32_t>(bytes[at + 1]) << 16 |
         static_cast<std::uint32_t>(bytes[at + 2]) << 8 | bytes[at + 3];
}

// The tests that the address is at this offset of the frame.
void put_address(std::vector<Filter::Test>& chain, std::uint32_t offset, const Ip& ip) {
  for (std::size_t at = ip.is_v4() ? 12 : 0; at < 16; at += 4, offset += 4)
    chain.push_back({BPF_W, offset, word(ip, at)});
}

std::vector<Filter::Test> untagged(std::uint32_t protocol) {
  return {{BPF_W, meta(SKF_AD_VLAN_TAG_PRESENT), 0}, {BPF_W, meta(SKF_AD_PROTOCOL), protocol}};
}

}  // namespace

std::vector<sock_filter> relay_filter(const Ip& vip) {
  std::vector<Filter::Test> packet = untagged(vip.is_v4() ? ETH_P_IP : ETH_P_IPV6);
  packet.push_back({BPF_W, meta(SKF_AD_PKTTYPE), PACKET_HOST});
  put_address(packet, ETH_HLEN + (vip.is_v4() ? 16 : 24), vip);
  std::vector<Filter::Test> claim = untagged(vip.is_v4() ? ETH_P_ARP : ETH_P_IPV6);
  if (!vip.is_v4()) {
    claim.push_back({BPF_B, ETH_HLEN + 6, kIcmpv6});
    claim.push_back({BPF_B, ETH_HLEN + 40, kAdvertisement});
  }
  put_address(claim, ETH_HLEN + (vip.is_v4() ? 14 : 48), vip);
  return Filter().accept_if(packet).accept_if(claim).take();
}

Relay::Relay(const Ip& vip, const Mac& own, Instant now, Limits limits)
    : vip_(vip), own_(own), limits_(limits), until_(now + limits.without_successor) {}

std::vector<std::string> Relay::take(Instant now, std::string frame) {
  std::vector<std::string> out;
  if (frame.size() < runtime::kTapHead + ETH_HLEN) return out;
  const auto claim = claim_in(std::string_view(frame).substr(runtime::kTapHead));
  if (claim) {
    if (claim->address != vip_ || claim->mac == own_ || successor_) return out;
    successor_ = claim->mac;
    until_ = now + limits_.with_successor;
    for (std::string& kept : kept_) out.push_back(readdressed(std::move(kept)));
    kept_.clear();
    bytes_ = 0;
  } else if (successor_) {
    out.push_back(readdressed(std::move(frame)));
  } else {
    keep(std::move(frame));
  }
  relayed_ += out.size();
  return out;
}

void Relay::keep(std::string frame) {
  bytes_ += frame.size();
  kept_.push_back(std::move(frame));
  while (kept_.size() > limits_.frames || bytes_ > limits_.bytes) {
    bytes_ -= kept_.front().size();
    kept_.pop_front();
    ++lost_;
  }
}

std::string Relay::readdressed(std::string frame) {
  const auto at = frame.begin() + runtime::kTapHead;
  std::ranges::copy(successor_->bytes(), at);
  std::ranges::copy(own_.bytes(), at + ETH_ALEN);
  return frame;
}

}  // namespace fairlead::vip
