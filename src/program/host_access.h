// The way from `fairlead server` to the cluster whose aggregator it stands behind.
#pragma once

#include <memory>
#include <string>

#include "api/delegation/host_cluster.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::program {

// `kubeconfig` is the value of --host-kubeconfig. Nothing is asked of the host yet.
Result<std::unique_ptr<delegation::HostCluster>> open_host(runtime::Runtime& runtime,
                                                           const std::string& kubeconfig);

// `host` must live as long as `registry` is exposed.
void register_host_metrics(metrics::Registry& registry, delegation::HostCluster& host);

}  // namespace fairlead::program
