// EtcdLeases: the records of virtual IPs as keys of etcd's v3 API, below a root of their own:
// <root>records/<name>. A version is the revision at which the key was written, and the life of
// etcd in which that was (store/etcd/epoch.h): after a restore of etcd it fits nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/store/etcd/client.h"
#include "features/vip/lease/lease_store.h"

namespace fairlead::vip {

struct EtcdLeasesOptions {
  std::vector<runtime::Endpoint> endpoints;
  std::shared_ptr<const runtime::TlsSource> tls;  // null: plain
  std::string root = "/fairlead-vip/";
  Duration renew = 750ms;  // no request lasts longer
};

class EtcdLeases final : public LeaseStore {
 public:
  EtcdLeases(runtime::Runtime& runtime, const EtcdLeasesOptions& options);
  Task<Result<std::vector<StoredRecord>>> list() override;
  Task<Result<std::string>> put(RecordPut put) override;

 private:
  // Looks at how a request ended.
  void note(const Error* error);

  store::EtcdClient client_;
  std::string prefix_;
  std::string end_;  // of the range of keys with the prefix
};

}  // namespace fairlead::vip
