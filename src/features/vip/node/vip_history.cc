#include "features/vip/node/vip_history.h"

#include <utility>

namespace fairlead::vip {
namespace {

constexpr int kMode = 0600;

}  // namespace

VipHistory::VipHistory(runtime::Files& files, std::string path)
    : files_(files), path_(std::move(path)) {
  const Result<std::string> text = files_.read(path_);
  if (!text) return;
  const auto parsed = wire::parse_json(*text, {.max_bytes = kMostControlBytes});
  const JsonArray* all = parsed ? parsed->value.if_array() : nullptr;
  if (!all) return;
  for (const Json& one : *all)
    if (Result<Passage> passage = resource::decode<Passage>(one))
      passages_.push_back(std::move(*passage));
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

Result<> VipHistory::save() const {
  return files_.write_atomically(path_, wire::encode_json(to_json()) + "\n", kMode);
}

}  // namespace fairlead::vip
