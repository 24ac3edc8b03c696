#include "features/vip/node/vip_history.h"

#include <utility>

namespace fairlead::vip {
namespace {

// The file.
struct Kept {
  std::int64_t incarnation = 0;
  std::int64_t taken = 0;
  std::vector<Passage> passages;

  template <class V>
  static void describe(V& v) {
    v.field("incarnation", &Kept::incarnation);
    v.field("taken", &Kept::taken);
    v.field("passages", &Kept::passages);
  }
};

}  // namespace

VipHistory::VipHistory(runtime::Files& files, const std::string& path) {
  const Result<std::string> text = files.read(path);
  if (!text) return;
  Result<Kept> kept = parse_control<Kept>(*text);
  if (!kept) return;
  incarnation_ = kept->incarnation;
  taken_ = kept->taken;
  passages_.assign(kept->passages.begin(), kept->passages.end());
  while (passages_.size() > kKept) passages_.pop_front();
}

bool VipHistory::take(const Report& report, const std::function<void(const Passage&)>& tell) {
  if (report.incarnation == 0) return false;
  if (report.incarnation != incarnation_) {
    incarnation_ = report.incarnation;
    taken_ = 0;
  }
  bool any = false;
  for (const Passage& passage : report.passages) {
    if (passage.number <= taken_) continue;
    taken_ = passage.number;
    any = true;
    passages_.push_back(passage);
    if (passages_.size() > kKept) passages_.pop_front();
    tell(passage);
  }
  return any;
}

Json VipHistory::to_json() const {
  JsonArray all;
  for (const Passage& passage : passages_) all.push_back(resource::encode(passage));
  return all;
}

std::string VipHistory::text() const {
  return wire::encode_json(
             resource::encode(Kept{.incarnation = incarnation_,
                                   .taken = taken_,
                                   .passages = {passages_.begin(), passages_.end()}})) +
         "\n";
}

}  // namespace fairlead::vip
