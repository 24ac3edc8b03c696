// KubernetesLeases: the records of virtual IPs as coordination.k8s.io/v1 Leases in one namespace:
// fairlead-vip-<name>, all with the label fairlead.dev/virtual-ips. The record is an annotation;
// spec is for people: who it is about, for how long a renewal counts (in whole seconds), when it
// was last renewed (by the writer's wall clock, which nobody compares).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "features/vip/lease/lease_store.h"

namespace fairlead::vip {

struct KubernetesLeasesOptions {
  identity::ClientConfig config;
  std::string namespace_name = "kube-system";
  std::string node;          // must be a part of an object's name
  Duration renew = 1500ms;   // no request lasts longer
  client::RestOptions rest;  // request_time and retries are set from `renew`
};

class KubernetesLeases final : public LeaseStore {
 public:
  KubernetesLeases(runtime::Runtime& runtime, std::unique_ptr<client::RestClient> api,
                   std::string namespace_name);
  // Fails if the configuration is not usable.
  static Result<std::unique_ptr<KubernetesLeases>> open(runtime::Runtime& runtime,
                                                        KubernetesLeasesOptions options);
  Task<Result<std::vector<StoredRecord>>> list() override;
  Task<Result<std::string>> put(RecordPut put) override;

 private:
  // Looks at how a request ended.
  void note(const Error* error);

  runtime::Runtime& runtime_;
  std::unique_ptr<client::RestClient> api_;
  std::string namespace_name_;
};

}  // namespace fairlead::vip
