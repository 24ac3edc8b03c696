#include "agent/node_report.h"

#include <algorithm>

#include "agent/attachment.h"
#include "base/log.h"

namespace fairlead::agent {
namespace {

constexpr Duration kInterval = 1s;
constexpr Duration kLongestPause = 30s;
const client::ResourceName kNodes{"", "v1", "nodes", false};

Task<Result<>> notified(runtime::Signal& signal) { co_return co_await signal.wait(); }

}  // namespace

Json encode_report(const AppliedVersions::Report& report) {
  JsonObject entries;
  for (const auto& [vni, version] : report)
    entries[std::to_string(vni)] = version ? Json(std::to_string(*version)) : Json(nullptr);
  return JsonObject{
      {"status", JsonObject{{"fairlead", JsonObject{{"applied", std::move(entries)}}}}}};
}

NodeReport::NodeReport(runtime::Runtime& runtime, client::RestClient& client, AgentMetrics& metrics,
                       std::string node, AppliedVersions& applied)
    : runtime_(runtime),
      client_(client),
      metrics_(metrics),
      node_(std::move(node)),
      applied_(applied) {}

Task<Result<std::vector<fabric::Vni>>> NodeReport::told_before() {
  for (Duration pause = kInterval;; pause = std::min(pause * 2, kLongestPause)) {
    const Result<Json> node = co_await client_.get(kNodes, "", node_);
    if (node || node.error().code == Code::not_found) {
      std::vector<fabric::Vni> networks;
      const Json* applied = node ? wire::find(*node, "status.fairlead.applied") : nullptr;
      if (applied && applied->is_object())
        for (const auto& entry : applied->get_object())
          if (const std::uint64_t vni = parse_version(entry.key()); vni != 0)
            networks.push_back(static_cast<fabric::Vni>(vni));
      co_return networks;
    }
    if (node.error().code == Code::cancelled) co_return fail(node.error());
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, pause));
  }
}

Task<Result<>> NodeReport::wait_for_news() {
  const std::optional<Instant> due = applied_.due();
  if (!due) co_return co_await changed_.wait();
  Task<Result<>> waiting = notified(changed_);
  Result<> news =
      co_await runtime::with_timeout(runtime_, *due - runtime_.now(), std::move(waiting));
  if (!news && news.error().code == Code::timeout) co_return Result<>{};
  co_return news;
}

Task<Result<>> NodeReport::send(AppliedVersions::Report report) {
  const Result<Json> written = co_await client_.patch(kNodes, "", node_, client::PatchKind::merge,
                                                      encode_report(report), "status");
  if (!written) co_return fail(written.error());
  metrics_.node_reports.add();
  applied_.reported(report, runtime_.now());
  co_return Result<>{};
}

Task<void> NodeReport::run() {
  Duration pause = kInterval;
  for (;;) {
    AppliedVersions::Report report = applied_.report(runtime_.now());
    if (report.empty()) {
      if (Result<> news = co_await wait_for_news(); !news) co_return;
      continue;
    }
    const Result<> sent = co_await send(std::move(report));
    if (sent) {
      pause = kInterval;
    } else {
      const Error& error = sent.error();
      if (error.code == Code::cancelled) co_return;
      const bool absent = error.code == Code::not_found;
      if (!absent || !std::exchange(absence_told_, true))
        log::warning(absent ? "no Node to report to" : "report on the Node failed",
                     {{"node", node_}, {"error", error.to_string()}});
      pause = absent ? kLongestPause : std::min(pause * 2, kLongestPause);
    }
    if (Result<> slept = co_await runtime::sleep(runtime_, pause); !slept) co_return;
  }
}

}  // namespace fairlead::agent
