#include "features/vip/node/vip_status_writer.h"

#include <utility>

#include "foundation/base/log.h"

namespace fairlead::vip {
namespace {

constexpr Duration kPace = 1s;
constexpr runtime::BackOff::Limits kRetries{.first = 1s, .longest = 30s};
const client::ResourceName kResource{std::string(resource::kFairleadGroup),
                                     std::string(resource::kFairleadVersion),
                                     std::string(kVirtualIps), false};

}  // namespace

VipStatusWriter::VipStatusWriter(runtime::Runtime& runtime, client::RestClient& client,
                                 ApiVipList& vips, metrics::Registry& metrics, Facts facts)
    : runtime_(runtime),
      client_(client),
      vips_(vips),
      facts_(std::move(facts)),
      writes_(metrics.counters("fairlead_vip_status_writes_total",
                               "Writes of this node to the statuses of VirtualIPs, by outcome "
                               "(ok, failed).",
                               {"outcome"})) {}

void VipStatusWriter::look() {
  asked_ = true;
  asked_signal_.notify();
}

Task<void> VipStatusWriter::run() {
  runtime::BackOff retries(kRetries);
  for (;;) {
    while (!asked_)
      if (!co_await asked_signal_.wait()) co_return;
    asked_ = false;
    const Result<> written = co_await write_all();
    if (written) {
      retries.reset();
      if (!co_await runtime::sleep(runtime_, kPace)) co_return;
      continue;
    }
    if (written.error().code == Code::cancelled) co_return;
    asked_ = true;
    log::warning("status of virtual IPs not written", {{"error", written.error().to_string()}});
    if (!co_await retries.pause(runtime_)) co_return;
  }
}

// Those that fail do not hold up the others; the last failure is told.
Task<Result<>> VipStatusWriter::write_all() {
  Result<> outcome;
  for (const ApiVip& vip : vips_.all()) {
    Result<> written = co_await write(vip.name);
    if (written) continue;
    outcome = std::move(written);
    const Code code = outcome.error().code;
    const bool server_away = code == Code::unavailable || code == Code::timeout ||
                             code == Code::io || code == Code::cancelled;
    if (server_away) break;
  }
  co_return outcome;
}

Task<Result<>> VipStatusWriter::write(std::string name) {
  const ApiVip* vip = vips_.find(name);
  if (!vip || vip->uid.empty() || !takes_part(vip->spec, facts_(*vip).node)) co_return Result<>{};
  std::optional<Json> patch = plan_status_patch(*vip, facts_(*vip));
  if (!patch) co_return Result<>{};
  const Result<Json> written = co_await client_.patch(kResource, "", name, client::PatchKind::merge,
                                                      std::move(*patch), "status");
  if (written) vips_.written(*written);
  const bool gone = !written && written.error().code == Code::not_found;
  if (written || gone) {
    writes_.with({"ok"}).add();
    co_return Result<>{};
  }
  if (written.error().code != Code::cancelled) writes_.with({"failed"}).add();
  co_return fail(written.error().context("VirtualIP " + name));
}

}  // namespace fairlead::vip
