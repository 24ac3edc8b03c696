#include "features/vip/gates/notifier.h"

#include <algorithm>

#include "api/control/loop.h"
#include "features/vip/gates/probe.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

constexpr int kAtOnce = 8;
constexpr std::size_t kOutputKept = 1024;

}  // namespace

Notifier::Notifier(Parts parts, std::string node)
    : parts_(parts),
      node_(std::move(node)),
      runs_(parts.metrics.counters("fairlead_vip_notify_total",
                                   "Notify commands of virtual IPs, by how they ended.",
                                   {"outcome"})),
      queue_(parts.runtime) {}

void Notifier::follow(const std::vector<VipEntry>& vips) {
  std::map<Ip, Recipient> before = std::exchange(recipients_, {});
  for (const VipEntry& entry : vips) {
    if (entry.notify.empty()) continue;
    Recipient& recipient = recipients_[entry.vip.address];
    if (const auto old = before.find(entry.vip.address); old != before.end())
      recipient = std::move(old->second);
    recipient.command = entry.notify;
    recipient.timeout = entry.notify_timeout;
    recipient.interface = entry.vip.interface;
  }
}

void Notifier::tell(const VipNews& news) {
  const auto at = recipients_.find(news.vip);
  if (at == recipients_.end() || !parts_.processes) return;
  if (at->second.pending) runs_.with({"skipped"}).add();
  at->second.pending = news;
  queue_.add(news.vip);
}

Task<void> Notifier::run() {
  const auto work = [this](Ip vip) { return notify(vip); };
  co_await control::run_workers<Ip>(parts_.runtime, queue_, {.name = "notify", .workers = kAtOnce},
                                    work);
}

Task<void> Notifier::tell_the_end() {
  std::vector<VipNews> rest;
  for (const auto& [vip, recipient] : recipients_)
    if (recipient.told && recipient.told->held)
      rest.push_back({.vip = vip, .held = false, .epoch = recipient.told->epoch});
  runtime::Scope scope(parts_.runtime);
  const Instant deadline = parts_.runtime.now() + kLastTime;
  for (int i = 0; i < kAtOnce; ++i) scope.spawn(tell_some(rest, deadline));
  co_await scope.join();
}

Task<void> Notifier::tell_some(std::vector<VipNews>& rest, Instant deadline) {
  while (!rest.empty() && parts_.processes && parts_.runtime.now() < deadline) {
    const VipNews news = rest.back();
    rest.pop_back();
    Recipient& recipient = recipients_.at(news.vip);
    recipient.told = news;
    runtime::Command command = command_for(recipient, news);
    command.time_limit = std::min<Duration>(command.time_limit, deadline - parts_.runtime.now());
    const Result<runtime::ProcessEnd> end = co_await parts_.processes->run(std::move(command));
    ended(news, end);
  }
}

runtime::Command Notifier::command_for(const Recipient& recipient, const VipNews& news) const {
  return {.arguments = recipient.command,
          .environment = {"FAIRLEAD_VIP=" + news.vip.to_string(),
                          std::string("FAIRLEAD_STATE=") + (news.held ? "held" : "released"),
                          "FAIRLEAD_EPOCH=" + std::to_string(news.epoch), "FAIRLEAD_NODE=" + node_,
                          "FAIRLEAD_INTERFACE=" + recipient.interface},
          .time_limit = recipient.timeout,
          .output_limit = kOutputKept};
}

Task<Result<>> Notifier::notify(Ip vip) {
  const auto at = recipients_.find(vip);
  if (at == recipients_.end() || !at->second.pending) co_return Result<>{};
  const VipNews news = *std::exchange(at->second.pending, std::nullopt);
  // Taken and given up again while the command before was running.
  if (at->second.told == news) co_return Result<>{};
  at->second.told = news;
  runtime::Command command = command_for(at->second, news);
  const Result<runtime::ProcessEnd> end = co_await parts_.processes->run(std::move(command));
  if (!end && end.error().code == Code::cancelled) co_return fail(end.error());
  ended(news, end);
  co_return Result<>{};
}

void Notifier::ended(const VipNews& news, const Result<runtime::ProcessEnd>& end) {
  const std::string vip = news.vip.to_string();
  const char* state = news.held ? "held" : "released";
  if (!end) {
    runs_.with({"failed"}).add();
    log::warning("a notify command could not be run",
                 {{"vip", vip}, {"state", state}, {"error", end.error().message}});
    return;
  }
  using Kind = runtime::ProcessEnd::Kind;
  const bool good = end->kind == Kind::exited && end->status == 0;
  const bool late = end->kind == Kind::timed_out;
  runs_.with({good ? "ok" : late ? "timeout" : "failed"}).add();
  const std::string how = late                        ? "killed at its time limit"
                          : end->kind == Kind::killed ? "signal " + std::to_string(end->status)
                                                      : std::to_string(end->status);
  log::write(good ? log::Level::info : log::Level::warning, "a notify command has ended",
             {{"vip", vip},
              {"state", state},
              {"exitStatus", how},
              {"output", shown_output(end->output, kOutputKept)},
              {"errors", shown_output(end->errors, kOutputKept)}});
}

}  // namespace fairlead::vip
