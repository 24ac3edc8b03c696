#include "features/vip/routes/bird.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr int kConfigMode = 0600;  // it has passwords
constexpr Duration kLookAgain = 1s;
constexpr int kMostUnanswered = 2;  // questions, before no session is believed any more
constexpr Duration kAsk = 5s;
constexpr Duration kRunsOn = 24h * 365 * 100;
constexpr std::size_t kMostOutput = 256 << 10;
constexpr std::size_t kLongestSocketPath = 107;
constexpr std::size_t kLongestLine = 1024;

std::string first_line(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  return std::string(text.substr(0, end));
}

Result<> check_program(const std::string& path) {
  if (::access(path.c_str(), X_OK) == 0) return {};
  return fail(Code::not_found, path + ": " + std::strerror(errno) +
                                   ": BGP needs BIRD 2, Debian's package bird2 (bgp.bird)");
}

}  // namespace

Bird::Bird(runtime::Runtime& runtime, runtime::Processes* processes, std::string state,
           std::function<void()> changed)
    : runtime_(runtime),
      processes_(processes),
      state_(std::move(state)),
      changed_(std::move(changed)) {}

void Bird::follow(std::optional<BirdPlan> plan) {
  if (plan == wanted_ && problem_.empty()) return;
  wanted_ = std::move(plan);
  to_follow_ = true;
  followed_.notify();
}

void Bird::set_problem(std::string problem) {
  if (problem == problem_) return;
  problem_ = std::move(problem);
  if (!problem_.empty()) log::error("BGP", {{"problem", problem_}});
  changed_();
}

void Bird::set_sessions(std::vector<Session> sessions) {
  if (sessions == sessions_) return;
  for (const Session& one : sessions) {
    const auto before = std::ranges::find(sessions_, one.neighbor, &Session::neighbor);
    const bool was = before != sessions_.end() && before->established;
    if (was != one.established)
      log::write(one.established ? log::Level::info : log::Level::warning,
                 one.established ? "BGP session is up" : "BGP session is down",
                 {{"neighbor", one.neighbor.to_string()}, {"state", one.state}});
  }
  sessions_ = std::move(sessions);
  changed_();
}

// ---- configuration

Task<Result<>> Bird::check(const BirdPlan& plan, const std::string& text) {
  if (!processes_) co_return fail(Code::unsupported, "BGP: programs cannot be run here");
  FL_CO_CHECKED(check_program(plan.bgp.bird));
  if (path("bird.sock").size() > kLongestSocketPath)
    co_return fail(Code::invalid, "state " + state_ + ": too long for BIRD's socket in it");
  FL_CO_CHECKED(co_await write(path("bird.conf.new"), text));
  runtime::Command command{.arguments = {plan.bgp.bird, "-p", "-c", path("bird.conf.new")},
                           .time_limit = kAsk};
  FL_CO_TRY(const runtime::ProcessEnd end, co_await processes_->run(std::move(command)));
  if (end.kind == runtime::ProcessEnd::Kind::exited && end.status == 0) co_return Result<>{};
  co_return fail(Code::invalid, "BIRD refuses its configuration " + path("bird.conf.new") + ": " +
                                    first_line(end.errors));
}

Task<Result<>> Bird::write(std::string to, std::string text) {
  runtime::Files& files = runtime_.files();
  co_return co_await runtime::blocking(runtime_,
                                       [&files, to = std::move(to), text = std::move(text)] {
                                         return files.write_atomically(to, text, kConfigMode);
                                       });
}

void Bird::accept(const BirdPlan& plan, const std::string& text) {
  accepted_ = Accepted{plan, text};
  const std::string& bird = plan.bgp.bird;
  birdc_ = bird.substr(0, bird.rfind('/') + 1) + "birdc";
}

Task<Result<std::string>> Bird::ask(std::vector<std::string> words) {
  std::vector<std::string> arguments{birdc_, "-s", path("bird.sock")};
  arguments.insert(arguments.end(), words.begin(), words.end());
  runtime::Command command{
      .arguments = std::move(arguments), .time_limit = kAsk, .output_limit = kMostOutput};
  FL_CO_TRY(runtime::ProcessEnd end, co_await processes_->run(std::move(command)));
  if (end.kind == runtime::ProcessEnd::Kind::exited && end.status == 0)
    co_return std::move(end.output);
  co_return fail(Code::unavailable,
                 "birdc: " + (end.errors.empty() ? "it failed" : first_line(end.errors)));
}

Task<Result<>> Bird::tell_running() {
  if (!running_) co_return Result<>{};
  if (!wanted_) {
    const Result<std::string> ended = co_await ask({"down"});
    if (!ended) co_return fail(ended.error());
    co_return Result<>{};
  }
  FL_CO_TRY(const std::string answer, co_await ask({"configure"}));
  if (reconfigured(answer)) co_return Result<>{};
  co_return fail(Code::invalid, "BIRD refuses its configuration: " + answer);
}

Task<void> Bird::keep_config() {
  for (;;) {
    while (std::exchange(to_follow_, false)) {
      const std::optional<BirdPlan> plan = wanted_;
      const std::string text = plan ? bird_config(*plan) : "";
      Result<> good;
      if (plan) good = co_await check(*plan, text);
      if (good && plan) good = co_await write(path("bird.conf"), text);
      if (good) {
        if (plan) accept(*plan, text);
        good = co_await tell_running();
        if (!plan && good) accepted_.reset();
        accepted_changed_.notify();
      }
      if (!good && good.error().code == Code::cancelled) co_return;
      set_problem(good ? "" : good.error().message);
    }
    // What is missing may come: the program, room on the disk.
    const Duration pause = problem_.empty() ? Duration(1h) : Duration(10s);
    runtime::TimedWait wait(runtime_, followed_, runtime_.now() + pause);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
    if (!woken && !problem_.empty()) to_follow_ = true;
  }
}

// ---- the process

void Bird::log_errors(std::string_view text) {
  partial_ += text;
  for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    log::info("BIRD", {{"message", partial_.substr(0, std::min(end, kLongestLine))}});
    partial_.erase(0, end + 1);
  }
  if (partial_.size() > kLongestLine) partial_.clear();
}

Task<void> Bird::keep_process() {
  runtime::BackOff back_off({.first = 200ms, .longest = 10s});
  for (;;) {
    while (!accepted_)
      if (!co_await accepted_changed_.wait()) co_return;
    const Instant began = runtime_.now();
    runtime::Command command{.arguments = {accepted_->plan.bgp.bird, "-f", "-c", path("bird.conf"),
                                           "-s", path("bird.sock")},
                             .time_limit = kRunsOn,
                             .on_errors = [this](std::string_view text) { log_errors(text); }};
    running_ = true;
    ++starts_;
    const Result<runtime::ProcessEnd> end = co_await processes_->run(std::move(command));
    running_ = false;
    set_sessions({});
    if (!end && end.error().code == Code::cancelled) co_return;
    if (!accepted_) continue;  // it was told to
    log::warning("BIRD has ended: it is started again",
                 {{"how", end ? (end->kind == runtime::ProcessEnd::Kind::exited ? "exit status "
                                                                                : "signal ") +
                                    std::to_string(end->status)
                              : end.error().message}});
    back_off.held(runtime_.now() - began);
    if (!co_await back_off.pause(runtime_)) co_return;
  }
}

// Routers end the sessions of a BIRD that hangs.
void Bird::believe_no_session() {
  std::vector<Session> sessions = sessions_;
  for (Session& session : sessions) {
    session.established = false;
    session.state = "BIRD does not answer";
    if (session.bfd) session.bfd = false;
  }
  set_sessions(std::move(sessions));
}

Task<void> Bird::watch() {
  int unanswered = 0;
  for (;;) {
    if (!co_await runtime::sleep(runtime_, kLookAgain)) co_return;
    if (!running_ || !accepted_) continue;
    const Result<std::string> protocols = co_await ask({"show", "protocols"});
    if (!protocols && ++unanswered >= kMostUnanswered) believe_no_session();
    if (!protocols) continue;
    unanswered = 0;
    const Result<std::string> bfd = co_await ask({"show", "bfd", "sessions"});
    if (!accepted_) continue;
    const auto states = parse_protocols(*protocols);
    const auto watched = parse_bfd_sessions(bfd ? *bfd : "");
    std::vector<Session> sessions;
    const std::vector<BgpNeighbor>& neighbors = accepted_->plan.bgp.neighbors;
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
      Session session{.neighbor = neighbors[i].address};
      if (const auto at = states.find(session_name(i)); at != states.end()) {
        session.established = at->second.established;
        session.state = at->second.state;
      }
      if (neighbors[i].bfd) {
        const auto at = watched.find(neighbors[i].address.to_string());
        session.bfd = at != watched.end() && at->second;
      }
      sessions.push_back(std::move(session));
    }
    set_sessions(std::move(sessions));
  }
}

Task<void> Bird::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(keep_config());
  scope.spawn(keep_process());
  scope.spawn(watch());
  co_await scope.join();
}

}  // namespace fairlead::vip
