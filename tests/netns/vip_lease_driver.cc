// Runs an engine of virtual IPs on a shared store, for tests/e2e/vip_leases.sh, with a fence that
// only says what it would do:
//
//   vip_lease_driver NODE STATE-FOLDER LEASE-MILLISECONDS VIP[,VIP…] etcd URL[,URL…]
//   vip_lease_driver NODE STATE-FOLDER LEASE-MILLISECONDS VIP[,VIP…] kubernetes KUBECONFIG
//   NAMESPACE
//
// It prints one line for each change of a fence, with boot time in nanoseconds: "open NOW VIP
// DEADLINE", "close NOW VIP". It begins as the guard does: closes everything and waits the margin.
// SIGTERM ends it in order.
#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/engine/engine.h"
#include "features/vip/lease/backends.h"
#include "foundation/runtime/epoll_runtime.h"
#include "foundation/runtime/scope.h"

using namespace fairlead;       // NOLINT(google-build-using-namespace)
using namespace fairlead::vip;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

// One write each: what is said was said, also if the process is killed right afterwards.
void say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

class TellingFence final : public Fence, public Interfaces {
 public:
  TellingFence(runtime::Runtime& runtime, std::vector<Ip> vips)
      : runtime_(runtime), vips_(std::move(vips)) {}

  Result<> watch(const Ip&, const std::string&) override { return {}; }
  Result<> open_until(const Ip& vip, Instant deadline) override {
    say(fmt::format("open {} {} {}\n", now(), vip.to_string(),
                    deadline.time_since_epoch().count()));
    return {};
  }
  Result<> close(const Ip& vip) override {
    say(fmt::format("close {} {}\n", now(), vip.to_string()));
    return {};
  }
  void close_all() override {
    for (const Ip& vip : vips_) (void)close(vip);
  }
  Result<> forget(const Ip&) override { return {}; }
  Result<std::vector<FencedVip>> list() const override { return std::vector<FencedVip>{}; }

  Result<> usable(const Ip&, const std::string&) override { return {}; }
  runtime::Signal& changed() override { return changed_; }
  std::optional<Mac> rival(const Ip&) override { return std::nullopt; }
  bool absent(const Ip&) override { return true; }
  void hold(const Ip&, const std::string&) override {}
  void leaving(const Ip&) override {}
  void let_go(const Ip&) override {}
  void announce(const Ip&) override {}
  Task<void> settled() override { co_return; }
  std::map<Ip, HoldReport> report() const override { return {}; }

 private:
  std::int64_t now() const { return runtime_.now().time_since_epoch().count(); }
  runtime::Runtime& runtime_;
  std::vector<Ip> vips_;
  runtime::Signal changed_;
};

Task<Result<>> hold(runtime::EpollRuntime& runtime, std::vector<std::string> words) {
  std::int64_t lease = 0;
  (void)std::from_chars(words[2].data(), words[2].data() + words[2].size(), lease);
  std::vector<Ip> vips;
  for (const std::string& text : split(words[3])) {
    FL_CO_TRY(const Ip vip, Ip::parse(text));
    vips.push_back(vip);
  }
  const StoreElectorateOptions options{
      .node = words[0],
      .state = words[1] + "/instance",
      .timing = {.lease = lease * 1ms, .renew = lease * 1ms / 4, .margin = 20ms}};
  FL_CO_CHECKED(runtime.files().make_directories(words[1], 0700));
  TellingFence fence(runtime, vips);
  fence.close_all();
  FL_CO_CHECKED(co_await runtime::sleep(runtime, options.timing.margin));
  Result<std::unique_ptr<Electorate>> electorate =
      words[4] == "etcd"
          ? open_backend(runtime, EtcdBackend{.endpoints = split(words[5])}, options, vips)
          : open_backend(runtime,
                         KubernetesBackend{.kubeconfig = words[5], .namespace_name = words[6]},
                         options, vips);
  if (!electorate) co_return fail(std::move(electorate).error());
  Engine engine({.runtime = runtime, .fence = fence, .interfaces = fence}, std::move(*electorate));
  std::vector<VipConfig> configured;
  for (const Ip& vip : vips) configured.push_back({.address = vip, .interface = "eth0"});
  engine.offer(std::move(configured));
  runtime::Scope scope(runtime);
  scope.spawn(engine.run());
  (void)co_await runtime.next_signal();
  co_await engine.retire();
  co_await scope.close();
  co_return Result<>{};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 6 || (words[4] == "kubernetes" && words.size() < 7)) {
    std::fputs("vip_lease_driver: see the head of its source\n", stderr);
    return 2;
  }
  runtime::EpollRuntime runtime;
  (void)runtime.catch_signals({SIGTERM});
  const Result<> held = runtime.run_until_complete(hold(runtime, words));
  if (!held) fmt::print(stderr, "vip_lease_driver: {}\n", held.error().to_string());
  return held ? 0 : 1;
}
