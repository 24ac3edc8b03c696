#include "features/networks/node/node_reporter.h"

#include <algorithm>

#include "features/networks/kinds/node_report.h"
#include "features/networks/node/attachment.h"
#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"

namespace fairlead::networks {
namespace {

// While news keep coming, and while the API is not reached.
constexpr runtime::BackOff::Limits kIntervals{.first = 1s, .longest = 8s};
constexpr runtime::BackOff::Limits kRetries{.first = 1s, .longest = 30s};
const client::ResourceName kReports{std::string(resource::kFairleadGroup),
                                    std::string(resource::kFairleadVersion), "nodereports", false};
const client::ResourceName kNodes{"", "v1", "nodes", false};

Task<Result<>> notified(runtime::Signal& signal) { co_return co_await signal.wait(); }

}  // namespace

Json encode_report(const AppliedVersions::Report& report) {
  JsonObject patch, entries;
  for (const auto& [vni, version] : report.networks)
    entries[std::to_string(vni)] = version ? Json(std::to_string(*version)) : Json(nullptr);
  if (report.own) patch["appliedOwn"] = std::to_string(*report.own);
  if (!entries.empty()) patch["applied"] = std::move(entries);
  if (report.elsewhere) patch["appliedElsewhere"] = std::to_string(*report.elsewhere);
  return patch;
}

NodeReporter::NodeReporter(runtime::Runtime& runtime, client::RestClient& client,
                           NetworksMetrics& metrics, std::string node, AppliedVersions& applied)
    : runtime_(runtime),
      client_(client),
      metrics_(metrics),
      node_(std::move(node)),
      applied_(applied) {}

// The node's Node, where this API has one: the report goes with it.
Task<Result<JsonArray>> NodeReporter::owners() {
  const Result<Json> node = co_await client_.get(kNodes, "", node_);
  const bool none = !node && (node.error().code == Code::not_found ||  // or not ours to see
                              node.error().code == Code::forbidden);
  if (!node && !none) co_return fail(node.error());
  JsonArray owners;
  if (node)
    owners.push_back(JsonObject{{"apiVersion", "v1"},
                                {"kind", "Node"},
                                {"name", node_},
                                {"uid", wire::find_string(*node, "metadata.uid")}});
  co_return owners;
}

Task<Result<Json>> NodeReporter::find_or_make() {
  FL_CO_TRY(const JsonArray owner, co_await owners());
  Result<Json> found = co_await client_.get(kReports, "", node_);
  if (!found && found.error().code == Code::not_found) {
    Json fresh = JsonObject{{"metadata", JsonObject{{"name", node_}, {"ownerReferences", owner}}}};
    co_return co_await client_.create(kReports, "", std::move(fresh));
  }
  const Json* known = found ? wire::find(*found, "metadata.ownerReferences") : nullptr;
  if (!found || (known ? *known == Json(owner) : owner.empty())) co_return found;
  // The Node was made anew: with the old one the report would go.
  Json adopted = JsonObject{{"metadata", JsonObject{{"ownerReferences", owner}}}};
  co_return co_await client_.patch(kReports, "", node_, client::PatchKind::merge,
                                   std::move(adopted));
}

Task<Result<>> NodeReporter::renew(std::string now) {
  Json patch = JsonObject{{"renewTime", std::move(now)}};
  const Result<Json> renewed =
      co_await client_.patch(kReports, "", node_, client::PatchKind::merge, std::move(patch));
  if (renewed) co_return Result<>{};
  if (renewed.error().code == Code::not_found) {
    lost();  // or not made yet
    co_return fail(Code::unavailable, "NodeReport " + node_ + " does not exist");
  }
  co_return fail(renewed.error());
}

Task<Result<>> NodeReporter::look() {
  const Result<Json> found = co_await client_.get(kReports, "", node_);
  if (!found && found.error().code != Code::not_found) co_return fail(found.error());
  if (!found) lost();
  co_return Result<>{};
}

Task<Result<std::vector<fabric::Vni>>> NodeReporter::establish() {
  runtime::BackOff back_off(kRetries);
  for (;;) {
    const Result<Json> report = co_await find_or_make();
    if (report) {
      std::vector<fabric::Vni> networks;
      const Json* applied = wire::find(*report, "applied");
      if (applied && applied->is_object())
        for (const auto& entry : applied->get_object())
          if (const std::uint64_t vni = parse_version(entry.key()); vni != 0)
            networks.push_back(static_cast<fabric::Vni>(vni));
      co_return networks;
    }
    if (report.error().code == Code::cancelled) co_return fail(report.error());
    log::warning("the NodeReport could not be made yet",
                 {{"node", node_}, {"error", report.error().to_string()}});
    FL_CO_CHECKED(co_await back_off.pause(runtime_));
  }
}

Task<Result<>> NodeReporter::wait_for_news() {
  const std::optional<Instant> due = applied_.due();
  if (!due) co_return co_await changed_.wait();
  Task<Result<>> waiting = notified(changed_);
  Result<> news =
      co_await runtime::with_timeout(runtime_, *due - runtime_.now(), std::move(waiting));
  if (!news && news.error().code == Code::timeout) co_return Result<>{};
  co_return news;
}

Task<Result<>> NodeReporter::send(AppliedVersions::Report report) {
  Result<Json> written =
      co_await client_.patch(kReports, "", node_, client::PatchKind::merge, encode_report(report));
  if (!written && written.error().code == Code::not_found) {
    log::warning("the NodeReport was deleted and is made again", {{"node", node_}});
    FL_CO_CHECKED(co_await find_or_make());
    applied_.start_over();
    report = applied_.report(runtime_.now());
    written = co_await client_.patch(kReports, "", node_, client::PatchKind::merge,
                                     encode_report(report));
  }
  if (!written) co_return fail(written.error());
  metrics_.node_reports.add();
  applied_.reported(report, runtime_.now());
  co_return Result<>{};
}

Task<void> NodeReporter::run() {
  runtime::BackOff interval(kIntervals), back_off(kRetries);
  for (;;) {
    AppliedVersions::Report report = applied_.report(runtime_.now());
    if (report.empty()) {
      interval.reset();
      back_off.reset();
      if (Result<> news = co_await wait_for_news(); !news) co_return;
      continue;
    }
    const Result<> sent = co_await send(std::move(report));
    if (!sent) {
      if (sent.error().code == Code::cancelled) co_return;
      log::warning("the NodeReport was not written",
                   {{"node", node_}, {"error", sent.error().to_string()}});
    }
    if (sent) back_off.reset();
    const Duration pause = sent ? interval.next(runtime_) : back_off.next(runtime_);
    if (Result<> slept = co_await runtime::sleep(runtime_, pause); !slept) co_return;
  }
}

}  // namespace fairlead::networks
