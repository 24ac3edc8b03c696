#include "features/vip/guard/engine_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "features/vip/control/engine_service.h"
#include "features/vip/fence/kernel_fence.h"
#include "features/vip/fence/no_fence.h"
#include "features/vip/fence/shutter.h"
#include "features/vip/guard/guard_note.h"
#include "features/vip/guard/urgency.h"
#include "features/vip/routes/routed_interfaces.h"
#include "foundation/base/log.h"
#include "foundation/command/lock_file.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

constexpr int kPriority = 1;     // below the guard
constexpr int kLockTries = 100;  // a twentieth of a second apart

// An engine whose guard died may be about to end. Two must not move the same deadlines.
Result<command::LockFile> take_lock(const std::string& path) {
  for (int tries = 1;; ++tries) {
    Result<command::LockFile> lock =
        command::LockFile::take(path, "another engine of virtual IPs on this node");
    if (lock || tries == kLockTries) return lock;
    std::this_thread::sleep_for(50ms);
  }
}

// A note is small enough for one write; a guard that does not read is dead or will be.
void write_note(int fd, const GuardNote& note) {
  if (fd < 0) return;
  const std::string line = encode(note);
  if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    log::warning("guard of virtual IPs does not take notes");
}

// Fails with why there is none.
Result<std::unique_ptr<KernelFence>> open_fence(const Order& order) {
  if (order.vips.empty()) return fail(Code::unsupported, "this node offers no virtual IP");
  if (order.without_fence) return fail(Code::unsupported, "switched off (election.fence: none)");
  return KernelFence::open();
}

// The guard has asked for this, too; but the kernel forgets it when a file with capabilities is
// executed.
bool end_with_guard(int guard) {
  if (guard < 0) return true;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == guard;
}

Result<> go_without_fence(const Order& order, const std::string& reason) {
  if (order.vips.empty()) return {};
  log::warning("no fence: two hosts may answer for a virtual IP when this one hangs",
               {{"reason", reason}});
  // What an engine with a fence left would keep this one from answering for good.
  if (open_shutter())
    if (Result<> gone = KernelFence::dismantle({}); !gone)
      return fail(std::move(gone).error().context("the fence of an earlier engine"));
  return {};
}

Result<EngineHost> open_host(runtime::EpollRuntime& runtime, const Order& order) {
  EngineHost host;
  KernelFence* guarding = nullptr;
  Result<std::unique_ptr<KernelFence>> kernel = open_fence(order);
  const bool needed = !order.vips.empty() && !order.without_fence && !order.allow_weaker_fence;
  if (!kernel && needed) return fail(std::move(kernel).error().context("the fence"));
  if (kernel) {
    guarding = kernel->get();
    host.fence_description = (*kernel)->description();
    host.fence = std::move(*kernel);
  } else {
    FL_CHECKED(go_without_fence(order, kernel.error().message));
    host.fence_description = "none: " + kernel.error().message;
    host.fence = std::make_unique<NoFence>();
    host.unfenced = !order.vips.empty();
  }
  FL_TRY(std::unique_ptr<RoutedInterfaces> interfaces, RoutedInterfaces::open(runtime, guarding));
  host.keep = [interfaces = interfaces.get()] { return interfaces->run(); };
  host.follow = [interfaces = interfaces.get()](const std::vector<VipConfig>& vips) {
    std::set<Ip> routed;
    for (const VipConfig& vip : vips)
      if (vip.routed) routed.insert(vip.address);
    interfaces->route(std::move(routed));
  };
  host.interfaces = std::move(interfaces);
  return host;
}

Task<void> stop_at_signals(runtime::EpollRuntime& runtime, EngineService& service) {
  for (;;) {
    const Result<int> signal = co_await runtime.next_signal();
    if (!signal) co_return;
    if (*signal == SIGTERM) service.stop();
  }
}

Task<Result<>> run_process(runtime::EpollRuntime& runtime, const EngineProcessOptions& options) {
  bool unfenced = false;
  const auto open = [&](const Order& order) -> Result<EngineHost> {
    FL_TRY(EngineHost host, open_host(runtime, order));
    unfenced = host.unfenced;
    return host;
  };
  const auto tell_guard = [&](Duration margin, const std::vector<Engine::Farewell>& farewells) {
    GuardNote note{.margin = margin, .unfenced = unfenced, .farewells = {}};
    for (const Engine::Farewell& one : farewells) note.farewells.push_back({one.to, one.bytes});
    write_note(options.note_fd, note);
  };
  EngineService service(
      runtime, {.state = options.state, .open_host = open, .farewells_changed = tell_guard});
  runtime::Scope scope(runtime);
  scope.spawn(stop_at_signals(runtime, service));
  Result<> outcome = co_await service.run();
  co_await scope.close();
  co_return outcome;
}

}  // namespace

int run_engine(const EngineProcessOptions& options) {
  if (!end_with_guard(options.guard)) return 1;
  if (options.note_fd >= 0) {
    ::fcntl(options.note_fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(options.note_fd, F_SETFL, O_NONBLOCK);
  }
  const Result<command::LockFile> lock = take_lock(options.state + "/engine.lock");
  if (!lock) {
    log::error("engine of virtual IPs not started", {{"error", lock.error().message}});
    return 1;
  }
  for (const std::string& lacking : become_urgent(kPriority))
    log::warning("a busy machine may cost virtual IPs", {{"lacking", lacking}});
  // The disk, addresses, loans of routed addresses, the fence and measurements each have a thread:
  // none waits for another that hangs.
  runtime::EpollRuntime runtime({.blocking_threads = 6});
  // SIGINT of a terminal is for the agent, which then ends this process.
  if (Result<> caught = runtime.catch_signals({SIGTERM, SIGINT, SIGHUP, SIGPIPE}); !caught) {
    log::error("engine of virtual IPs not started", {{"error", caught.error().to_string()}});
    return 1;
  }
  const Result<> outcome = runtime.run_until_complete(run_process(runtime, options));
  if (outcome) return 0;
  log::error("engine of virtual IPs has failed", {{"error", outcome.error().to_string()}});
  return 1;
}

}  // namespace fairlead::vip
