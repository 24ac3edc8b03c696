// What somebody asks of the assigner by hand (`fairlead vip move`, `fairlead vip member`). It goes
// from the node where it was asked to the assigner, again and again until there is an answer: so
// each wish may be carried out twice, with the same outcome.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "foundation/base/ip.h"

namespace fairlead::vip {

struct Wish {
  enum class Kind : std::uint8_t { move, add_member, remove_member };
  Kind kind = Kind::move;
  Ip vip;               // to move
  std::string node;     // to move to, to add, or to remove
  std::string address;  // of the member to add
  auto operator<=>(const Wish&) const = default;
};

struct NumberedWish {
  std::uint64_t number = 0;  // the asking node's
  Wish wish;
  auto operator<=>(const NumberedWish&) const = default;
};

struct WishAnswer {
  std::uint64_t number = 0;
  std::string refusal;       // empty: it is done
  bool unavailable = false;  // it may be granted another time
  auto operator<=>(const WishAnswer&) const = default;
};

}  // namespace fairlead::vip
