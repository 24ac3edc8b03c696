// Kubernetes' protobuf bodies, read into JSON values. Typed Go clients (kubectl create configmap,
// kubectl auth can-i) send the kinds they were compiled with this way; answers are always JSON,
// which the same clients accept.
//
// Pure; takes bytes from strangers: never crashes, bounded depth, unknown fields are skipped.
#pragma once

#include <string_view>

#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

inline constexpr std::string_view kKubeProtobuf = "application/vnd.kubernetes.protobuf";

// The magic `k8s\0`, then runtime.Unknown with the object inside. apiVersion and kind come from the
// envelope. Fails with invalid for broken bytes, with unsupported for kinds that are not known
// here.
Result<Json> decode_kube_protobuf(std::string_view bytes);

}  // namespace fairlead::apimachinery
