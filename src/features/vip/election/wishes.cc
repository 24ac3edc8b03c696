#include "features/vip/election/wishes.h"

#include <utility>

namespace fairlead::vip {

std::uint64_t Wishes::add(Instant now, Wish wish) {
  open_[++count_] = {.wish = std::move(wish), .expires = now + kPatience};
  return count_;
}

void Wishes::answered(Instant now, const WishAnswer& answer) {
  if (open_.erase(answer.number) == 0) return;
  Result<> outcome;
  if (!answer.refusal.empty())
    outcome = fail(answer.unavailable ? Code::unavailable : Code::invalid, answer.refusal);
  answers_[answer.number] = {.outcome = std::move(outcome), .expires = now + kPatience};
}

void Wishes::give_up(Instant now) {
  std::erase_if(answers_, [&](const auto& answer) { return now >= answer.second.expires; });
  std::erase_if(open_, [&](const auto& wish) {
    if (now < wish.second.expires) return false;
    answers_[wish.first] = {
        .outcome =
            fail(Code::unavailable, "no assigner has answered: is a majority of the members up?"),
        .expires = now + kPatience};
    return true;
  });
}

std::vector<NumberedWish> Wishes::open() const {
  std::vector<NumberedWish> all;
  for (const auto& [number, one] : open_) all.push_back({number, one.wish});
  return all;
}

std::optional<Result<>> Wishes::take_answer(std::uint64_t number) {
  const auto at = answers_.find(number);
  if (at == answers_.end()) return std::nullopt;
  std::optional<Result<>> answer = std::move(at->second.outcome);
  answers_.erase(at);
  return answer;
}

std::optional<Instant> Wishes::next() const {
  if (open_.empty()) return std::nullopt;
  return open_.begin()->second.expires;
}

}  // namespace fairlead::vip
