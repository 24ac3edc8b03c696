// Counters and latencies of requests, by verb, resource and code.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "api/resource/kind.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/time.h"

namespace fairlead::apiserver {

class RequestMetrics {
 public:
  explicit RequestMetrics(metrics::Registry& registry);

  // `kind` null: a document, a review or an unknown path.
  void record(const resource::Kind* kind, std::string_view verb, std::string_view subresource,
              int code, Duration took);
  void rejected(std::string_view why) { rejections(why).add(); }
  metrics::Counter& rejections(std::string_view why) { return rejected_.with({std::string(why)}); }

 private:
  struct Children {
    metrics::Counter* count;
    metrics::Histogram* seconds;  // null for watches, whose duration says nothing
  };
  using Key = std::tuple<const resource::Kind*, std::string_view, bool, int>;

  metrics::Family<metrics::Counter>& counts_;
  metrics::Family<metrics::Histogram>& seconds_;
  metrics::Family<metrics::Counter>& rejected_;
  std::map<Key, Children> known_;
};

}  // namespace fairlead::apiserver
