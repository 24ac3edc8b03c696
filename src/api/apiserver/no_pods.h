// This server has no kind Pod, but `kubectl describe node` lists the node's pods and fails if the
// list does. So where Nodes are served, a list of pods is answered with an empty one. Discovery
// does not name pods.
#pragma once

#include "api/apimachinery/request/request_info.h"
#include "api/apiserver/request.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"

namespace fairlead::apiserver {

bool lists_pods(const apimachinery::RequestInfo& info, const resource::Catalog& catalog);
Task<Result<>> send_no_pods(Request& request, const watchcache::WatchCache& cache);

}  // namespace fairlead::apiserver
