// Pods are none of this server's kinds, but where Nodes are, `kubectl describe node` lists the pods
// of the node and gives up if there is no such list. So a list of pods is answered truthfully:
// there are none. Discovery does not name them.
#pragma once

#include "api/apimachinery/request/request_info.h"
#include "api/apiserver/request.h"
#include "api/resource/catalog.h"
#include "api/watchcache/watch_cache.h"

namespace fairlead::apiserver {

bool lists_pods(const apimachinery::RequestInfo& info, const resource::Catalog& catalog);
Task<Result<>> send_no_pods(Request& request, const watchcache::WatchCache& cache);

}  // namespace fairlead::apiserver
