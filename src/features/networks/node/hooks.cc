#include "features/networks/node/hooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/control/loop.h"
#include "foundation/base/log.h"
#include "foundation/wire/utf8.h"

namespace fairlead::networks {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string address(const fabric::Station& station, bool v4) {
  const auto found = std::ranges::find(station.addresses, v4, &Ip::is_v4);
  return found == station.addresses.end() ? std::string() : found->to_string();
}

// How long the character that starts a text claims to be.
std::size_t claimed_length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

// Whole seconds, as the API shows them.
resource::Time time_of(WallTime now) { return {std::chrono::floor<std::chrono::seconds>(now)}; }

void say_why(ExecReport& report, std::string_view why) {
  if (!report.std_err.empty() && !report.std_err.ends_with('\n')) report.std_err += '\n';
  report.std_err.append("fairlead: ").append(why).push_back('\n');
}

}  // namespace

std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const fabric::Station& station) {
  const std::pair<std::string_view, std::string> values[] = {{"${ifname}", station.interface},
                                                             {"${ipv4}", address(station, true)},
                                                             {"${ipv6}", address(station, false)},
                                                             {"${mac}", station.mac.to_string()}};
  std::vector<std::string> expanded;
  for (const std::string& argument : command) {
    if (expanded.empty()) {
      expanded.push_back(argument);
      continue;
    }
    std::string text;
    for (std::size_t at = 0; at < argument.size();) {
      const std::string_view rest = std::string_view(argument).substr(at);
      const auto* found = std::ranges::find_if(
          values, [&](const auto& value) { return rest.starts_with(value.first); });
      if (found == std::end(values)) {
        text.push_back(argument[at++]);
      } else {
        text += found->second;
        at += found->first.size();
      }
    }
    expanded.push_back(std::move(text));
  }
  return expanded;
}

std::string printable(std::string_view bytes, std::size_t limit) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = claimed_length(static_cast<unsigned char>(bytes.front()));
    const std::string_view character = bytes.substr(0, std::min(length, bytes.size()));
    const bool good = wire::is_utf8(character);
    const std::string_view shown = good ? character : kReplacement;
    if (text.size() + shown.size() > limit) break;
    text.append(shown);
    bytes.remove_prefix(good ? character.size() : 1);
  }
  return text;
}

Hooks::Hooks(runtime::Runtime& runtime, runtime::Processes& processes, NetworksMetrics& metrics,
             HookLimits limits, Done created)
    : runtime_(runtime),
      processes_(processes),
      metrics_(metrics),
      limits_(std::move(limits)),
      created_(std::move(created)),
      queue_(runtime) {}

void Hooks::start(Kind kind, const std::string& uid, const std::vector<std::string>& command,
                  const fabric::Station& station) {
  if (command.empty() || !allowed(command)) return;
  jobs_[uid].push_back({kind, expand_command(command, station)});
  queue_.add(uid);
}

Task<void> Hooks::run() {
  const auto work = [this](std::string uid) { return run_jobs(std::move(uid)); };
  co_await control::run_workers(runtime_, queue_, {.name = "hooks", .workers = limits_.at_once},
                                work);
}

Task<Result<>> Hooks::run_jobs(std::string uid) {
  for (;;) {
    const auto at = jobs_.find(uid);
    if (at == jobs_.end()) co_return Result<>{};
    Job job = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) jobs_.erase(at);
    const Kind kind = job.kind;
    ExecReport report = co_await run_one(std::move(job));
    log::info("hook ended", {{"hook", kind == Kind::post_create ? "postCreate" : "postDelete"},
                             {"program", report.command.front()},
                             {"uid", uid},
                             {"exitStatus", *report.exit_status}});
    if (kind == Kind::post_create) created_(uid, std::move(report));
  }
}

Task<ExecReport> Hooks::run_one(Job job) {
  ExecReport report;
  report.command = job.command;
  report.start_time = time_of(runtime_.wall_now());
  const Instant start = runtime_.now();
  runtime::Command command{.arguments = std::move(job.command),
                           .time_limit = limits_.time,
                           .output_limit = limits_.output};
  const Result<runtime::ProcessEnd> end = co_await processes_.run(std::move(command));
  report.stop_time = time_of(runtime_.wall_now());
  if (!end) {
    report.exit_status = networks::kHookNotStarted;
    say_why(report, end.error().message);
  } else {
    report.std_out = printable(end->output, limits_.output);
    report.std_err = printable(end->errors, limits_.output);
    switch (end->kind) {
      case runtime::ProcessEnd::Kind::exited:
        report.exit_status = end->status;
        break;
      case runtime::ProcessEnd::Kind::killed:
        report.exit_status = networks::kHookEndedBySignal;
        say_why(report, fmt::format("ended by signal {}", end->status));
        break;
      case runtime::ProcessEnd::Kind::timed_out:
        report.exit_status = networks::kHookTimedOut;
        say_why(report, fmt::format("killed after {} s",
                                    std::chrono::duration<double>(limits_.time).count()));
        break;
    }
    if (end->left_behind) say_why(report, "what it started may still run");
    if (end->output_cut || end->errors_cut)
      say_why(report, fmt::format("output beyond {} bytes dropped", limits_.output));
  }
  metrics_.hook_ended(job.kind == Kind::post_create ? "postCreate" : "postDelete",
                      *report.exit_status, runtime_.now() - start);
  co_return report;
}

}  // namespace fairlead::networks
