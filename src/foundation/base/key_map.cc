#include "foundation/base/key_map.h"

#include <sys/random.h>

#include <bit>
#include <cstring>

#include "foundation/base/check.h"

namespace fairlead {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
};

HashSecret draw() {
  HashSecret secret;
  CHECK(getrandom(&secret, sizeof secret, 0) == sizeof secret);
  return secret;
}

}  // namespace

std::uint64_t siphash13(std::string_view text, HashSecret secret) {
  State state{0x736f6d6570736575 ^ secret.low, 0x646f72616e646f6d ^ secret.high,
              0x6c7967656e657261 ^ secret.low, 0x7465646279746573 ^ secret.high};
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    state.take(word);
  }
  word = 0;
  std::memcpy(&word, text.data() + at, text.size() - at);
  state.take(word | static_cast<std::uint64_t>(text.size()) << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

std::size_t SecretHash::operator()(std::string_view text) const {
  static const HashSecret secret = draw();
  return siphash13(text, secret);
}

}  // namespace fairlead
