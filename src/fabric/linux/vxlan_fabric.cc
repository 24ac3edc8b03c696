#include "fabric/linux/vxlan_fabric.h"

#include <utility>

#include "base/log.h"

namespace fairlead::fabric {

VxlanFabric::VxlanFabric(runtime::Runtime& runtime, kernel::VxlanOptions options)
    : runtime_(runtime),
      host_(std::make_shared<kernel::VxlanHost>(std::move(options))),
      scope_(runtime) {}

VxlanFabric::~VxlanFabric() {
  if (watching_) host_->watch()->stop();
}

Task<Result<>> VxlanFabric::open() {
  auto work = [host = host_] { return host->open(); };
  FL_CO_CHECKED(co_await runtime::blocking(runtime_, std::move(work)));
  if (!std::exchange(watching_, true)) scope_.spawn(watch());
  co_return Result<>{};
}

Task<std::vector<Outcome>> VxlanFabric::apply(const Desired& desired,
                                              std::span<const std::string> ids) {
  // Copies, since the work goes on when whoever waits for it is gone.
  Desired wanted;
  for (const std::string& id : ids)
    if (const auto station = desired.find(id); station != desired.end()) wanted.insert(*station);
  auto work = [host = host_, wanted = std::move(wanted),
               list = std::vector<std::string>(ids.begin(), ids.end())] {
    return host->apply(wanted, list);
  };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

Task<Result<Audit>> VxlanFabric::audit(const Desired& desired) {
  auto work = [host = host_, desired] { return host->audit(desired); };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

Task<Result<kernel::Counters>> VxlanFabric::counters() {
  auto work = [host = host_] { return host->counters(); };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

Task<Result<>> VxlanFabric::dismantle() {
  auto work = [host = host_] { return host->dismantle(); };
  co_return co_await runtime::blocking(runtime_, std::move(work));
}

Task<void> VxlanFabric::watch() {
  for (;;) {
    auto work = [watch = host_->watch()] { return watch->wait(); };
    const Result<bool> disturbed = co_await runtime::blocking(runtime_, std::move(work));
    if (!disturbed) {
      log::error("interfaces are not watched any more", {{"error", disturbed.error().to_string()}});
      co_return;
    }
    if (!*disturbed) co_return;
    disturbed_.notify();
  }
}

}  // namespace fairlead::fabric
