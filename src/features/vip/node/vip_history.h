// VipHistory: who took and lost which VIP on this node, kept over restarts. `fairlead vip history`
// shows it. It is read from its file; whoever owns it writes text() there, off the loop. Pure
// otherwise.
//
// The file also says how far the engine's reports were taken over: an agent that is started again
// beside an engine that still runs takes none twice.
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
  VipHistory(runtime::Files& files, const std::string& path);

  // Takes over what the report tells and was not known; each is also handed to `tell`. True if
  // there was any: the file is to be written.
  bool take(const Report& report, const std::function<void(const Passage&)>& tell);
  std::string text() const;  // the file

  const std::deque<Passage>& passages() const { return passages_; }
  Json to_json() const;

 private:
  std::deque<Passage> passages_;  // the oldest first
  std::int64_t incarnation_ = 0;
  std::int64_t taken_ = 0;  // the number of the last one of that incarnation
};

}  // namespace fairlead::vip
