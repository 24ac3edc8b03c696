#include "features/vip/lease/kubernetes_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/time_text.h"

namespace fairlead::vip {
namespace {

const client::ResourceName kLeases{"coordination.k8s.io", "v1", "leases", true};
constexpr std::string_view kPrefix = "fairlead-vip-";
constexpr std::string_view kLabel = "fairlead.dev/virtual-ips";
constexpr std::string_view kAnnotation = "fairlead.dev/virtual-ip-record";
constexpr std::size_t kLongestNode = 200;

// Dots are part of the annotation's name: no path leads there.
std::string_view record_of(const Json& lease) {
  const Json* annotations = wire::find(lease, "metadata.annotations");
  if (!annotations || !annotations->is_object()) return {};
  const Json* record = annotations->get_object().if_contains(kAnnotation);
  return record && record->is_string() ? std::string_view(record->get_string())
                                       : std::string_view();
}

Result<> check_node(const std::string& node) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool fits =
      !node.empty() && node.size() <= kLongestNode && is_plain(node.front()) &&
      is_plain(node.back()) && node.find("..") == std::string::npos &&
      std::ranges::all_of(node, [&](char c) { return is_plain(c) || c == '-' || c == '.'; });
  if (fits) return {};
  return fail(Code::invalid, fmt::format("node \"{}\": with the back end kubernetes it must be a "
                                         "name of lower-case letters, digits, '-' and '.'",
                                         node));
}

}  // namespace

Result<std::unique_ptr<KubernetesLeases>> KubernetesLeases::open(runtime::Runtime& runtime,
                                                                 KubernetesLeasesOptions options) {
  FL_CHECKED(check_node(options.node));
  options.rest.request_time = options.renew * 9 / 10;  // its own end, before it is cancelled
  options.rest.connect_time = options.renew / 2;
  options.rest.retries = 0;
  FL_TRY(std::unique_ptr<client::RestClient> api,
         client::RestClient::open(runtime, std::move(options.config), std::move(options.rest)));
  return std::make_unique<KubernetesLeases>(runtime, std::move(api),
                                            std::move(options.namespace_name));
}

KubernetesLeases::KubernetesLeases(runtime::Runtime& runtime,
                                   std::unique_ptr<client::RestClient> api,
                                   std::string namespace_name)
    : runtime_(runtime), api_(std::move(api)), namespace_name_(std::move(namespace_name)) {}

// A server that went silent is found out by HTTP/2 only after many seconds.
void KubernetesLeases::note(const Error* error) {
  if (error && (error->code == Code::timeout || error->code == Code::cancelled))
    api_->renew_connections();
}

Task<Result<std::vector<StoredRecord>>> KubernetesLeases::list() {
  // Without a version: all of it as of now, not what a cache has.
  client::ListQuery query{.namespace_name = namespace_name_, .label_selector = std::string(kLabel)};
  const Result<client::ListResult> list = co_await api_->list(kLeases, std::move(query));
  note(list ? nullptr : &list.error());
  if (!list) co_return fail(list.error());
  std::vector<StoredRecord> records;
  for (const Json& lease : list->items) {
    const std::string_view name = wire::find_string(lease, "metadata.name");
    if (!name.starts_with(kPrefix)) continue;
    records.push_back(
        {.name = std::string(name.substr(kPrefix.size())),
         .value = std::string(record_of(lease)),
         .version = std::string(wire::find_string(lease, "metadata.resourceVersion"))});
  }
  co_return records;
}

Task<Result<std::string>> KubernetesLeases::put(RecordPut put) {
  JsonObject metadata{{"name", fmt::format("{}{}", kPrefix, put.name)},
                      {"namespace", namespace_name_},
                      {"labels", JsonObject{{kLabel, "record"}}},
                      {"annotations", JsonObject{{kAnnotation, put.value}}}};
  if (!put.version.empty()) metadata["resourceVersion"] = put.version;
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(put.lease).count();
  Json lease =
      JsonObject{{"apiVersion", "coordination.k8s.io/v1"},
                 {"kind", "Lease"},
                 {"metadata", std::move(metadata)},
                 {"spec", JsonObject{{"holderIdentity", put.holder},
                                     {"leaseDurationSeconds", std::max<std::int64_t>(seconds, 1)},
                                     {"renewTime", rfc3339_micro(runtime_.wall_now())}}}};
  Result<Json> stored;
  if (put.version.empty()) {
    stored = co_await api_->create(kLeases, namespace_name_, std::move(lease));
  } else {
    stored = co_await api_->update(kLeases, std::move(lease));
  }
  note(stored ? nullptr : &stored.error());
  if (!stored) {
    Error error = std::move(stored).error();
    // Without a namespace nothing can be created; that is no conflict.
    const bool vanished = error.code == Code::not_found && !put.version.empty();
    if (vanished || error.code == Code::already_exists) error.code = Code::conflict;
    co_return fail(std::move(error));
  }
  const std::string_view version = wire::find_string(*stored, "metadata.resourceVersion");
  if (version.empty()) co_return fail(Code::corrupt, put.name + ": stored without a version");
  co_return std::string(version);
}

}  // namespace fairlead::vip
