#include "api/apiserver/no_pods.h"

namespace fairlead::apiserver {

bool lists_pods(const apimachinery::RequestInfo& info, const resource::Catalog& catalog) {
  return info.group.empty() && info.version == "v1" && info.resource == "pods" &&
         info.subresource.empty() && info.verb == "list" && catalog.find("", "v1", "nodes");
}

Task<Result<>> send_no_pods(Request& request, const watchcache::WatchCache& cache) {
  const store::Place now{cache.revision(), 0};
  const Json none =
      JsonObject{{"kind", "PodList"},
                 {"apiVersion", "v1"},
                 {"metadata", JsonObject{{"resourceVersion", std::to_string(now.number())}}},
                 {"items", JsonArray()}};
  co_return co_await send_json(request, 200, none);
}

}  // namespace fairlead::apiserver
