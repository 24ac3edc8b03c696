#include "features/vip/lease/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/client/server_url.h"
#include "api/identity/authority.h"
#include "api/identity/kubeconfig_file.h"
#include "api/store/etcd/options.h"
#include "features/vip/lease/etcd_leases.h"
#include "features/vip/lease/kubernetes_leases.h"

namespace fairlead::vip {
namespace {

Result<std::string> read_named(runtime::Runtime& runtime, const std::string& path,
                               std::string_view field) {
  if (path.empty()) return std::string();
  Result<std::string> text = runtime.files().read(path);
  if (!text) return fail(std::move(text).error().context(field));
  return text;
}

Result<std::shared_ptr<const runtime::TlsSource>> etcd_tls(runtime::Runtime& runtime,
                                                           const EtcdBackend& backend) {
  runtime::TlsCredentials credentials;
  credentials.alpn = {"h2"};
  FL_TRY(credentials.trusted_ca, read_named(runtime, backend.ca, "etcd ca"));
  FL_TRY(credentials.certificate_chain,
         read_named(runtime, backend.certificate, "etcd certificate"));
  FL_TRY(credentials.private_key, read_named(runtime, backend.key, "etcd key"));
  return std::make_shared<identity::SwappableTls>(std::move(credentials));
}

Result<std::unique_ptr<Electorate>> opened(Result<std::unique_ptr<StoreElectorate>> electorate) {
  if (!electorate) return fail(std::move(electorate).error());
  return std::unique_ptr<Electorate>(std::move(*electorate));
}

}  // namespace

Result<> check_store_timing(const Timing& timing, Duration shortest) {
  FL_CHECKED(check(timing));
  if (timing.lease >= shortest) return {};
  return fail(Code::invalid, fmt::format("lease {}ms: must be at least {}ms with this back end",
                                         timing.lease / 1ms, shortest / 1ms));
}

Result<> check_not_behind(const std::string& host, const std::vector<Ip>& vips) {
  const Result<Ip> address = Ip::parse(host);
  if (!address || std::ranges::find(vips, *address) == vips.end()) return {};
  return fail(
      Code::invalid,
      fmt::format("{} is one of the virtual IPs: nobody could be elected while nobody holds "
                  "it; give the address of a server itself",
                  host));
}

Result<std::unique_ptr<Electorate>> open_backend(runtime::Runtime& runtime,
                                                 const EtcdBackend& backend,
                                                 StoreElectorateOptions options,
                                                 const std::vector<Ip>& vips) {
  FL_CHECKED(check_store_timing(options.timing, kShortestEtcdLease));
  std::string all;
  for (const std::string& one : backend.endpoints) all += (all.empty() ? "" : ",") + one;
  Result<store::EtcdAddresses> addresses = store::parse_etcd_addresses(all);
  if (!addresses) return fail(std::move(addresses).error().context("etcd endpoints"));
  for (const runtime::Endpoint& endpoint : addresses->endpoints)
    if (Result<> direct = check_not_behind(endpoint.host, vips); !direct)
      return fail(std::move(direct).error().context("etcd endpoints"));
  EtcdLeasesOptions store{.endpoints = std::move(addresses->endpoints),
                          .tls = nullptr,
                          .root = backend.root,
                          .renew = options.timing.renew};
  if (addresses->tls) {
    FL_TRY(store.tls, etcd_tls(runtime, backend));
  }
  options.authenticated = !backend.certificate.empty();
  return opened(
      StoreElectorate::open(runtime, std::make_unique<EtcdLeases>(runtime, store), options));
}

Result<std::unique_ptr<Electorate>> open_backend(runtime::Runtime& runtime,
                                                 const KubernetesBackend& backend,
                                                 StoreElectorateOptions options,
                                                 const std::vector<Ip>& vips) {
  FL_CHECKED(check_store_timing(options.timing, kShortestKubernetesLease));
  const identity::ReadFile read = [&runtime](const std::string& path) {
    return runtime.files().read(path);
  };
  Result<identity::ClientConfig> config = identity::read_kubeconfig(backend.kubeconfig, read);
  if (!config) return fail(std::move(config).error().context("kubeconfig " + backend.kubeconfig));
  FL_TRY(const client::ServerUrl url, client::parse_server_url(config->server));
  if (Result<> direct = check_not_behind(url.endpoint.host, vips); !direct)
    return fail(std::move(direct).error().context("kubeconfig " + backend.kubeconfig));
  KubernetesLeasesOptions leases{.config = std::move(*config),
                                 .namespace_name = backend.namespace_name,
                                 .node = options.node,
                                 .renew = options.timing.renew,
                                 .rest = {}};
  FL_TRY(std::unique_ptr<KubernetesLeases> store,
         KubernetesLeases::open(runtime, std::move(leases)));
  options.authenticated = true;
  return opened(StoreElectorate::open(runtime, std::move(store), options));
}

}  // namespace fairlead::vip
