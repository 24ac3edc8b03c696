// VipHistory: who took and lost which VIP on this node, kept on disk over restarts. `fairlead vip
// history` shows it. Pure, except for its file.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "features/vip/control/messages.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

class VipHistory {
 public:
  static constexpr std::size_t kKept = 500;

  // A file that cannot be read begins anew.
  VipHistory(runtime::Files& files, std::string path);

  // Takes over what the report tells and was not known; each is also handed to `tell`. True if
  // there was any: save() then.
  bool take(const Report& report, const std::function<void(const Passage&)>& tell);
  Result<> save() const;

  const std::deque<Passage>& passages() const { return passages_; }
  Json to_json() const;

 private:
  runtime::Files& files_;
  std::string path_;
  std::deque<Passage> passages_;  // the oldest first
  std::int64_t incarnation_ = 0;
  std::int64_t taken_ = 0;  // the number of the last one of that incarnation
};

}  // namespace fairlead::vip
