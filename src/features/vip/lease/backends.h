// The back ends of an election in a shared store, opened from what a configuration says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/vip/engine/electorate.h"
#include "features/vip/lease/store_electorate.h"
#include "foundation/base/ip.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

inline constexpr Timing kEtcdTiming{.lease = 3s, .renew = 750ms};
inline constexpr Timing kKubernetesTiming{.lease = 6s, .renew = 1500ms};

struct EtcdBackend {
  std::vector<std::string> endpoints;   // URLs, all http or all https
  std::string ca, certificate, key;     // files; empty: none
  std::string root = "/fairlead-vip/";  // of all keys; sites that share an etcd have one each
};

struct KubernetesBackend {
  std::string kubeconfig;  // file
  std::string namespace_name = "kube-system";
};

// Both check `options.timing`, and that the store is not reached through one of the VIPs. Fail
// naming the field or the file. Nothing is asked of the store yet.
Result<std::unique_ptr<Electorate>> open_backend(runtime::Runtime& runtime,
                                                 const EtcdBackend& backend,
                                                 StoreElectorateOptions options,
                                                 const std::vector<Ip>& vips);
Result<std::unique_ptr<Electorate>> open_backend(runtime::Runtime& runtime,
                                                 const KubernetesBackend& backend,
                                                 StoreElectorateOptions options,
                                                 const std::vector<Ip>& vips);

// A lease shorter than `shortest` would end while a member of the store is replaced. Fails naming
// the field.
Result<> check_store_timing(const Timing& timing, Duration shortest);

// A store that is reached through a VIP could not be asked who is to hold it. Fails naming both.
// Host names are not looked up.
Result<> check_not_behind(const std::string& host, const std::vector<Ip>& vips);

}  // namespace fairlead::vip
