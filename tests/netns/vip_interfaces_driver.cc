// Does by hand what the engine of virtual IPs does with a host's interfaces, for vip_interfaces.sh:
//
//   vip_interfaces_driver serve SOCKET [REFRESH]   with the fence of this network namespace, until
//   it
//                                                  is ended; neighbours are told anew every REFRESH
//                                                  milliseconds
//   vip_interfaces_driver ask SOCKET WORD…         tells a serving one something, prints its
//   answer:
//     usable VIP INTERFACE    "usable", or why not
//     fence VIP INTERFACE     fences it (closed)
//     rival VIP               who else answers for it, or "none"
//     hold VIP INTERFACE      fences it (closed) and adds the address
//     open VIP                opens the fence for an hour and announces it
//     close VIP               closes the fence
//     drop VIP                closes the fence and lets go of the address
//     leave VIP               the same in order: what still arrives is sent on to the next holder
//     relayed                 how many frames were
//     report                  a line for each VIP that is held
//     news                    how often interfaces changed
//     retire                  drops everything and ends when the addresses are gone
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "features/vip/fence/kernel_fence.h"
#include "features/vip/host/host_interfaces.h"
#include "foundation/runtime/epoll_runtime.h"

using namespace fairlead;       // NOLINT(google-build-using-namespace)
using namespace fairlead::vip;  // NOLINT(google-build-using-namespace)

namespace {

using Words = std::vector<std::string>;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

struct Host {
  runtime::EpollRuntime& runtime;
  std::unique_ptr<KernelFence> fence;
  std::unique_ptr<HostInterfaces> interfaces;
  std::size_t news = 0;
  bool retired = false;
};

std::string since(const Host& host, const std::optional<Instant>& at) {
  if (!at) return "never";
  return std::to_string((host.runtime.now() - *at) / 1ms);
}

std::string say_report(Host& host) {
  std::string text;
  for (const auto& [vip, report] : host.interfaces->report())
    text += fmt::format(
        "{} {} address={} announced={} put_back={} conflicts={} rival={} first_packet={} "
        "error={}\n",
        vip.to_string(), report.interface, report.address, report.announced, report.put_back,
        report.conflicts, report.rival ? report.rival->to_string() : "none",
        since(host, report.first_packet), report.error);
  return text;
}

Result<std::string> carry_out(Host& host, const Words& words) {
  const std::string& verb = words.at(0);
  if (verb == "report") return say_report(host);
  if (verb == "news") return std::to_string(host.news);
  if (verb == "relayed") return std::to_string(host.interfaces->relayed().frames);
  FL_TRY(const Ip vip, Ip::parse(words.at(1)));
  if (verb == "usable") {
    const Result<> usable = host.interfaces->usable(vip, words.at(2));
    return usable ? std::string("usable") : usable.error().message;
  }
  if (verb == "fence") {
    FL_CHECKED(host.fence->watch(vip, words.at(2)));
  }
  if (verb == "rival") {
    const std::optional<Mac> rival = host.interfaces->rival(vip);
    return rival ? rival->to_string() : "none";
  }
  if (verb == "hold") {
    FL_CHECKED(host.fence->watch(vip, words.at(2)));
    host.interfaces->hold(vip, words.at(2));
  }
  if (verb == "open") {
    FL_CHECKED(host.fence->open_until(vip, host.runtime.now() + 1h));
    host.interfaces->announce(vip);
  }
  if (verb == "leave") host.interfaces->leaving(vip);
  if (verb == "close" || verb == "drop" || verb == "leave") {
    FL_CHECKED(host.fence->close(vip));
  }
  if (verb == "drop" || verb == "leave") host.interfaces->let_go(vip);
  return std::string("done");
}

Task<void> serve_one(Host& host, std::unique_ptr<runtime::Stream> stream) {
  std::string bytes(4096, '\0');
  const Result<std::size_t> size = co_await stream->read(bytes);
  if (!size) co_return;
  std::istringstream line(bytes.substr(0, *size));
  Words words;
  for (std::string word; line >> word;) words.push_back(word);
  if (words.at(0) == "retire") {
    host.fence->close_all();
    for (const auto& [vip, report] : host.interfaces->report()) host.interfaces->let_go(vip);
    co_await host.interfaces->settled();
    host.retired = true;
    (void)co_await stream->write("done\n");
    host.runtime.stop();
    co_return;
  }
  const Result<std::string> answer = carry_out(host, words);
  const std::string text = answer ? *answer : "failed: " + answer.error().to_string();
  (void)co_await stream->write(text + "\n");
}

Task<void> accept(Host& host, runtime::Listener& listener, runtime::Scope& scope) {
  for (;;) {
    Result<std::unique_ptr<runtime::Stream>> stream = co_await listener.accept();
    if (!stream) co_return;
    scope.spawn(serve_one(host, std::move(*stream)));
  }
}

Task<void> count_news(Host& host) {
  while (co_await host.interfaces->changed().wait()) ++host.news;
}

Result<> serve(const std::string& socket, HostOptions options) {
  runtime::EpollRuntime runtime;
  FL_TRY(std::unique_ptr<KernelFence> fence, KernelFence::open());
  FL_TRY(std::unique_ptr<HostInterfaces> interfaces,
         HostInterfaces::open(runtime, fence.get(), options));
  FL_TRY(const auto listener,
         runtime.listen({.kind = runtime::Endpoint::Kind::unix_socket, .host = socket}, nullptr));
  Host host{runtime, std::move(fence), std::move(interfaces)};
  runtime::Scope scope(runtime);
  scope.spawn(host.interfaces->run());
  scope.spawn(count_news(host));
  scope.spawn(accept(host, *listener, scope));
  say("ready");
  runtime.run();
  return {};
}

Task<Result<>> ask(runtime::Runtime& runtime, std::string socket, std::string line) {
  const runtime::Endpoint to{.kind = runtime::Endpoint::Kind::unix_socket, .host = socket};
  FL_CO_TRY(const std::unique_ptr<runtime::Stream> stream, co_await runtime.connect(to, nullptr));
  FL_CO_CHECKED(co_await stream->write(line));
  std::string bytes(65'536, '\0');
  for (;;) {
    FL_CO_TRY(const std::size_t size, co_await stream->read(bytes));
    if (size == 0) co_return Result<>{};
    std::fwrite(bytes.data(), 1, size, stdout);
  }
}

Result<> drive(const Words& words) {
  if (words.at(0) == "serve") {
    HostOptions options;
    if (words.size() > 2)
      options.announcements.refresh = std::chrono::milliseconds(std::stol(words.at(2)));
    return serve(words.at(1), options);
  }
  runtime::EpollRuntime runtime;
  const std::string line = fmt::format("{}", fmt::join(words.begin() + 2, words.end(), " "));
  return runtime.run_until_complete(ask(runtime, words.at(1), line));
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  const Result<> result = drive(words);
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return result ? 0 : 1;
}
