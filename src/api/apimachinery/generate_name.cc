#include "api/apimachinery/generate_name.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kMaxBase = 58;
constexpr int kRandomCharacters = 5;

}  // namespace

std::string generate_name(std::string_view base, std::uint64_t random) {
  std::string name(base.substr(0, kMaxBase));
  for (int i = 0; i < kRandomCharacters; ++i) {
    name += kAlphabet[random % kAlphabet.size()];
    random /= kAlphabet.size();
  }
  return name;
}

}  // namespace fairlead::apimachinery
