#include "node/fabric/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace fairlead::fabric {
namespace {

constexpr std::string_view kGuest = "fl";
constexpr std::string_view kHost = "fh";
constexpr std::size_t kDigits = 13;

// FNV-1a: spreads UIDs, which are random anyway, over the digits that a name has room for.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char letter : text) {
    value ^= static_cast<unsigned char>(letter);
    value *= 0x100000001b3;
  }
  return value;
}

bool is_digits(std::string_view text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string guest_interface_name(std::string_view uid) {
  return fmt::format("{}{:013x}", kGuest, hash(uid) >> 12);
}

std::string host_interface_name(std::string_view guest_interface) {
  return std::string(kHost) + std::string(guest_interface.substr(kGuest.size()));
}

std::optional<std::string> guest_of_host_interface(std::string_view host_interface) {
  if (!host_interface.starts_with(kHost)) return std::nullopt;
  const std::string_view digits = host_interface.substr(kHost.size());
  if (!is_digits(digits)) return std::nullopt;
  return std::string(kGuest) + std::string(digits);
}

}  // namespace fairlead::fabric
