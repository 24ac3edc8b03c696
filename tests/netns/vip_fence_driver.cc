// Drives the fence of virtual IPs by hand, for vip_fence.sh:
//
//   vip_fence_driver watch INTERFACE VIP…          fences them (closed, or as they are)
//   vip_fence_driver guard INTERFACE…              guards further interfaces
//   vip_fence_driver open MILLISECONDS VIP…        opens watched VIPs for so long; prints the
//   deadline vip_fence_driver hold INTERFACE MILLISECONDS VIP…   watches, then moves the deadlines
//   to so far
//                                                  ahead every tenth of it, until it is ended
//   vip_fence_driver keep INTERFACE VIP…           watches, then checks twenty times a second;
//   prints
//                                                  what it puts back
//   vip_fence_driver push INTERFACE                a stranger: puts a program of its own before the
//   fence
//                                                  (tcx) as long as it lives
//   vip_fence_driver close VIP… | close-all | forget VIP… | list | counters | describe | dismantle
//   vip_fence_driver shutter                       closes everything as the guard does
//
// FENCE_MECHANISM in the environment: tcx or clsact. FENCE_BPF: the BPF file system to use.
// Deadlines and times are boot time in nanoseconds.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <net/if.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "features/vip/fence/descriptor.h"
#include "features/vip/fence/kernel_fence.h"
#include "features/vip/fence/shutter.h"
#include "foundation/runtime/epoll_runtime.h"

using namespace fairlead;       // NOLINT(google-build-using-namespace)
using namespace fairlead::vip;  // NOLINT(google-build-using-namespace)

namespace {

using Words = std::vector<std::string>;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

KernelFence::Options options_from_environment() {
  KernelFence::Options options;
  if (const char* path = std::getenv("FENCE_BPF")) options.bpf_file_system = path;
  if (const char* mechanism = std::getenv("FENCE_MECHANISM"))
    options.mechanism = std::string_view(mechanism) == "tcx" ? Mechanism::tcx : Mechanism::clsact;
  return options;
}

Result<std::vector<Ip>> parse_all(const Words& words, std::size_t from) {
  std::vector<Ip> vips;
  for (std::size_t i = from; i < words.size(); ++i) {
    FL_TRY(const Ip vip, Ip::parse(words[i]));
    vips.push_back(vip);
  }
  return vips;
}

Result<> watch(KernelFence& fence, const std::string& interface, const std::vector<Ip>& vips) {
  for (const Ip& vip : vips) {
    FL_CHECKED(fence.watch(vip, interface));
  }
  return {};
}

Result<> open_all(KernelFence& fence, const std::vector<Ip>& vips, Instant deadline) {
  for (const Ip& vip : vips) {
    FL_CHECKED(fence.open_until(vip, deadline));
  }
  return {};
}

Duration milliseconds(const std::string& text) {
  return std::chrono::milliseconds(std::strtol(text.c_str(), nullptr, 10));
}

Task<Result<>> hold(runtime::Runtime& runtime, KernelFence& fence, const Words& words) {
  FL_CO_TRY(const std::vector<Ip> vips, parse_all(words, 3));
  FL_CO_CHECKED(watch(fence, words.at(1), vips));
  const Duration ahead = milliseconds(words.at(2));
  for (bool ready = false;; ready = true) {
    FL_CO_CHECKED(open_all(fence, vips, runtime.now() + ahead));
    if (!ready) say("ready");
    FL_CO_CHECKED(co_await runtime::sleep(runtime, ahead / 10));
  }
}

Task<Result<>> keep(runtime::Runtime& runtime, KernelFence& fence, const Words& words) {
  FL_CO_TRY(const std::vector<Ip> vips, parse_all(words, 2));
  FL_CO_CHECKED(watch(fence, words.at(1), vips));
  say("ready");
  for (;;) {
    const KernelFence::Kept kept = fence.keep({});
    for (const std::string& what : kept.restored) say("restored " + what);
    for (const auto& [what, error] : kept.failed) co_return fail(error.context(what));
    FL_CO_CHECKED(co_await runtime::sleep(runtime, 50ms));
  }
}

Task<Result<>> push(runtime::Runtime& runtime, const std::string& interface) {
  FL_CO_TRY(const FencePrograms programs, FencePrograms::load("/no/such/folder"));
  bpf_link_create_opts options{};
  options.sz = sizeof(options);
  options.flags = 1U << 3;  // BPF_F_BEFORE
  const Descriptor link(bpf_link_create(
      programs.program(Direction::in), static_cast<int>(::if_nametoindex(interface.c_str())),
      static_cast<bpf_attach_type>(46), &options));  // tcx, ingress
  if (!link) co_return fail(errno_error("attach"));
  say("pushed");
  co_return co_await runtime::sleep(runtime, 1h);
}

// The VIPs of the map are this process' own as soon as it watches them.
Result<> open_for(runtime::Runtime& runtime, KernelFence& fence, const Words& words) {
  FL_TRY(const std::vector<Ip> vips, parse_all(words, 2));
  FL_TRY(const std::vector<FencedVip> known, fence.list());
  for (const FencedVip& one : known) {
    FL_CHECKED(fence.watch(one.vip, one.interface));
  }
  const Instant deadline = runtime.now() + milliseconds(words.at(1));
  FL_CHECKED(open_all(fence, vips, deadline));
  say(fmt::format("{}", deadline.time_since_epoch().count()));
  return {};
}

Result<> say_list(const KernelFence& fence) {
  FL_TRY(const std::vector<FencedVip> all, fence.list());
  for (const FencedVip& one : all)
    say(fmt::format("{} {} {}", one.vip.to_string(), one.interface,
                    one.deadline.time_since_epoch().count()));
  return {};
}

Result<> say_counters(const KernelFence& fence) {
  FL_TRY(const FenceCounters counters, fence.counters());
  for (std::size_t i = 0; i < counters.size(); ++i)
    say(fmt::format("{}={}", counter_name(static_cast<fl_fence_counter>(i)), counters[i]));
  return {};
}

Result<> each_vip(const Words& words, KernelFence& fence, Result<> (Fence::*what)(const Ip&)) {
  FL_TRY(const std::vector<Ip> vips, parse_all(words, 1));
  for (const Ip& vip : vips) {
    FL_CHECKED((fence.*what)(vip));
  }
  return {};
}

Task<Result<>> drive(runtime::Runtime& runtime, Words words) {
  const std::string& verb = words.at(0);
  const KernelFence::Options options = options_from_environment();
  if (verb == "push") co_return co_await push(runtime, words.at(1));
  if (verb == "dismantle") co_return KernelFence::dismantle(options);
  if (verb == "shutter") {
    FL_CO_TRY(DeadlineTable shutter, open_shutter(options.bpf_file_system));
    shutter.close_all();
    co_return Result<>{};
  }
  FL_CO_TRY(const std::unique_ptr<KernelFence> fence, KernelFence::open(options));
  if (verb == "hold") co_return co_await hold(runtime, *fence, words);
  if (verb == "keep") co_return co_await keep(runtime, *fence, words);
  if (verb == "open") co_return open_for(runtime, *fence, words);
  if (verb == "list") co_return say_list(*fence);
  if (verb == "counters") co_return say_counters(*fence);
  if (verb == "close") co_return each_vip(words, *fence, &Fence::close);
  if (verb == "forget") co_return each_vip(words, *fence, &Fence::forget);
  if (verb == "close-all") fence->close_all();
  if (verb == "describe") say(fence->description() + (fence->adopted() ? " (adopted)" : " (new)"));
  if (verb == "watch") {
    FL_CO_TRY(const std::vector<Ip> vips, parse_all(words, 2));
    co_return watch(*fence, words.at(1), vips);
  }
  if (verb == "guard")
    for (std::size_t i = 1; i < words.size(); ++i) {
      FL_CO_CHECKED(fence->guard(words[i]));
    }
  co_return Result<>{};
}

}  // namespace

int main(int argc, char** argv) {
  runtime::EpollRuntime runtime;
  const Words words(argv + 1, argv + argc);
  if (words.empty()) return 2;
  const Result<> result = runtime.run_until_complete(drive(runtime, words));
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return result ? 0 : 1;
}
