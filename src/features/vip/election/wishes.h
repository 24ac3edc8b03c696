// Wishes: what was asked for by hand on this node and is not answered yet. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "features/vip/election/wish.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

class Wishes {
 public:
  static constexpr Duration kPatience = 5s;  // then the answer is that nobody answers

  std::uint64_t add(Instant now, Wish wish);
  void answered(Instant now, const WishAnswer& answer);
  // Says so to those that have waited too long, and forgets answers that nobody took.
  void give_up(Instant now);

  std::vector<NumberedWish> open() const;
  // Once for each wish.
  std::optional<Result<>> take_answer(std::uint64_t number);
  bool has_answers() const { return !answers_.empty(); }
  std::optional<Instant> next() const;
  std::size_t kept() const { return answers_.size(); }

 private:
  struct Open {
    Wish wish;
    Instant expires{};
  };
  std::uint64_t count_ = 0;
  std::map<std::uint64_t, Open> open_;
  struct Answer {
    Result<> outcome;
    Instant expires{};  // nobody has asked for it any more
  };
  std::map<std::uint64_t, Answer> answers_;
};

}  // namespace fairlead::vip
