#include "tools/bench/attachment_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "foundation/base/encoding.h"
#include "foundation/wire/json.h"
#include "tools/bench/api_load.h"
#include "tools/bench/http2_client.h"
#include "tools/bench/run_report.h"
#include "tools/bench/tally.h"

namespace fairlead::bench {
namespace {

constexpr std::string_view kGroup = "/apis/fairlead.dev/v1alpha1";
constexpr Duration kProgressInterval = 1s;

Error refused(const std::string& what, const Answer& answer) {
  return {Code::unavailable, fmt::format("{}: the API answered {}: {}", what, answer.status,
                                         answer.body.substr(0, 400))};
}

}  // namespace

AttachmentLoad::AttachmentLoad(runtime::Runtime& runtime, const Target& target,
                               AttachmentSettings settings, std::string run, AgentBoard* board)
    : runtime_(runtime),
      target_(target),
      settings_(std::move(settings)),
      run_(std::move(run)),
      board_(board),
      objects_(run_, settings_, networks_),
      control_(make_http1_connection(runtime_, target_)),
      watcher_(make_http2_client(runtime_, target_)),
      figures_(settings_.attachments),
      metrics_(run_),
      events_(run_, settings_.networks, figures_, metrics_) {
  if (settings_.namespace_name.empty()) settings_.namespace_name = run_;
  subnets_path_ = fmt::format("{}/namespaces/{}/subnets", kGroup, settings_.namespace_name);
  attachments_path_ =
      fmt::format("{}/namespaces/{}/networkattachments", kGroup, settings_.namespace_name);
  for (std::size_t i = 0; i < settings_.connections; ++i)
    workers_.push_back(make_http1_connection(runtime_, target_));
  const auto random = [this] { return runtime_.random(); };
  networks_ = plan_networks(settings_, random);
  steps_ = plan_steps(settings_, networks_, random);
  phases_ = plan_phases(settings_, steps_);
  figures_.networks = networks_.size();
  figures_.warm_up = phases_.front().end;
  if (!board_) return;
  figures_.agents = settings_.nodes.size();
  board_->begin(run_, figures_.warm_up);
}

// On a node that is drawn or whose turn it is; it pings the newest guest that is there.
Json AttachmentLoad::attachment_object(const Step& step) {
  Life& life = figures_.lives[step.attachment];
  const std::uint64_t turn = settings_.round_robin ? step.attachment : runtime_.random();
  life.node = static_cast<std::uint32_t>(turn % settings_.nodes.size());
  life.network = static_cast<std::uint32_t>(step.network);
  life.wants_test = step.tested;
  std::string peer;
  if (step.tested) {
    life.peer = events_.newest_guest(step.network);
    events_.expect_test(step.network);
  }
  if (life.peer) {
    Life& guest = figures_.lives[*life.peer];
    ++guest.pingers;
    peer = guest.ip;
  }
  return objects_.attachment(step, settings_.nodes[life.node], peer);
}

Task<Result<std::vector<std::string>>> AttachmentLoad::list_nodes() {
  std::string target = "/api/v1/nodes";
  if (!settings_.node_selector.empty())
    target += "?labelSelector=" + encode_percent(settings_.node_selector);
  FL_CO_TRY(const Answer answer,
            co_await control_->exchange({.target = target, .want_body = true}));
  Result<wire::ParsedJson> list = wire::parse_json(answer.body);
  if (answer.status != 200 || !list) co_return fail(refused("list nodes", answer));
  std::vector<std::string> nodes;
  if (const Json* items = wire::find(list->value, "items"); items && items->is_array())
    for (const Json& node : items->get_array())
      nodes.emplace_back(wire::find_string(node, "metadata.name"));
  if (nodes.empty() && !settings_.node_selector.empty())
    co_return fail(Code::not_found,
                   "--node-selector " + settings_.node_selector + ": no Node has these labels");
  if (nodes.empty()) co_return fail(Code::not_found, "the API has no Nodes; name some with --node");
  co_return nodes;
}

Task<Result<>> AttachmentLoad::prepare() {
  if (settings_.nodes.empty()) {
    FL_CO_TRY(settings_.nodes, co_await list_nodes());
  }
  FL_CO_TRY(made_namespace_, co_await make_namespace(*control_, settings_.namespace_name));
  std::size_t slots = 0;
  for (const PlannedNetwork& network : networks_) slots += network.slots;
  std::fprintf(stderr,
               "%zu networks from VNI %u on with %zu places, %.1f peers on average; %zu nodes\n",
               networks_.size(), networks_.front().vni, slots, average_peers(networks_),
               settings_.nodes.size());
  co_return co_await make_subnets();
}

Task<Result<>> AttachmentLoad::make_subnets() {
  for (std::size_t i = 0; i < networks_.size() * settings_.subnets_per_network; ++i) {
    const std::size_t network = i / settings_.subnets_per_network;
    const std::size_t subnet = i % settings_.subnets_per_network;
    const Call call{.method = "POST",
                    .target = subnets_path_,
                    .body = wire::encode_json(objects_.subnet(network, subnet)),
                    .want_body = true};
    FL_CO_TRY(const Answer answer, co_await control_->exchange(call));
    if (answer.status >= 300) co_return fail(refused("create subnet", answer));
    const Result<wire::ParsedJson> made = wire::parse_json(answer.body);
    const Json* validated = made ? wire::find(made->value, "status.validated") : nullptr;
    if (!validated || *validated != Json(true))
      co_return fail(Code::conflict,
                     fmt::format("subnet of VNI {} is not validated; another run uses it: {}",
                                 networks_[network].vni, answer.body.substr(0, 400)));
  }
  co_return Result<>{};
}

Task<Result<std::string>> AttachmentLoad::list_version() {
  FL_CO_TRY(
      const Answer answer,
      co_await control_->exchange({.target = attachments_path_ + "?limit=1", .want_body = true}));
  Result<wire::ParsedJson> list = wire::parse_json(answer.body);
  if (answer.status != 200 || !list) co_return fail(refused("list attachments", answer));
  co_return std::string(wire::find_string(list->value, "metadata.resourceVersion"));
}

Task<void> AttachmentLoad::follow(std::string version) {
  const Result<> ended = co_await follow_stream(std::move(version));
  if (ended.error().code == Code::cancelled) co_return;
  figures_.watch_failure = ended.error().to_string();
  stopped_ = true;
  changed_.notify();
}

Task<Result<>> AttachmentLoad::follow_stream(std::string version) {
  const Call call{.target = fmt::format("{}?watch=true&resourceVersion={}&timeoutSeconds=36000",
                                        attachments_path_, version)};
  FL_CO_TRY(const std::unique_ptr<http::ClientStream> stream,
            co_await watcher_->open(make_request(target_, call)));
  FL_CO_TRY(const http::ResponseHead head, co_await stream->head());
  if (head.status != 200)
    co_return fail(Code::unavailable, fmt::format("the API answered {}", head.status));
  watching_ = true;
  changed_.notify();
  std::string rest;
  for (;;) {
    FL_CO_TRY(const std::optional<Bytes> piece, co_await stream->read());
    if (!piece) co_return fail(Code::unavailable, "the server ended the watch");
    rest.append(piece->view());
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos;
         end = rest.find('\n', begin)) {
      FL_CO_CHECKED(
          events_.take(std::string_view(rest).substr(begin, end - begin), runtime_.now()));
      begin = end + 1;
    }
    rest.erase(0, begin);
    stop_on_failure();
  }
}

void AttachmentLoad::stop(const std::string& why) {
  if (stopped_) return;
  stopped_ = true;
  std::uint64_t made = figures_.created;
  figures_.stopped = fmt::format("{} after {} of {} attachments", why, made, settings_.attachments);
  changed_.notify();
}

void AttachmentLoad::stop_on_failure() {
  if (settings_.stop_on_failure && figures_.failed()) stop("stopped at the first failure");
}

Task<void> AttachmentLoad::carry_out(Connection& connection, const Step& step, Instant due) {
  Life& life = figures_.lives[step.attachment];
  const bool creates = step.kind == Step::Kind::create;
  Call call{.method = creates ? "POST" : "DELETE",
            .target = creates ? attachments_path_
                              : attachments_path_ + "/" + objects_.name(step.attachment)};
  if (creates) call.body = wire::encode_json(attachment_object(step));
  (creates ? life.due : life.remove_due) = due;
  if (creates && board_) board_->set_due(step.attachment, due);
  const Result<Answer> answer = co_await connection.exchange(call);
  metrics_.answered(creates, answer ? answer->status : 0);
  if (!answer || answer->status >= 300) {
    (creates ? figures_.failed_creates : figures_.failed_removes)
        .add(objects_.name(step.attachment) + ": " +
             (answer ? fmt::format("{} {}", answer->status, answer->body.substr(0, 400))
                     : answer.error().to_string()));
    if (creates && step.tested) events_.give_up_test(step.network);
    stop_on_failure();
    if (!answer) (void)co_await runtime::sleep(runtime_, 50ms);
    co_return;
  }
  const Instant now = runtime_.now();
  (creates ? life.created : life.removed) = now;
  ++(creates ? figures_.created : figures_.removed);
  metrics_.stage(figures_.part_of(step.attachment), creates ? "create" : "remove", now - due);
}

// What is deleted before it is there tests nothing, and neither does pinging what is gone, or
// nobody although there will be somebody in a moment. In the cruise a create follows the delete
// whose place it takes, and waits if that one does.
bool AttachmentLoad::may_go(std::size_t index) const {
  const Step& step = steps_[index];
  if (step.kind == Step::Kind::create) {
    const bool follows = index != 0 && steps_[index - 1].kind == Step::Kind::remove;
    return !(follows && held_.contains(index - 1)) &&
           !(step.tested && events_.guest_is_coming(step.network));
  }
  const Life& life = figures_.lives[step.attachment];
  const bool tested = !life.wants_test || (life.tested != Instant{} && life.pingers == 0);
  return life.ready != Instant{} && tested;
}

Task<Result<>> AttachmentLoad::wait_to_go(std::size_t index) {
  const Instant since = runtime_.now();
  while (!stopped_ && !may_go(index) && runtime_.now() < since + settings_.settle) {
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, 5ms));
  }
  if (steps_[index].kind == Step::Kind::remove) {
    ++figures_.waits;
    figures_.waited += runtime_.now() - since;
  }
  co_return Result<>{};
}

// Waits without keeping a worker from the steps that are due meanwhile.
Task<void> AttachmentLoad::go_later(std::size_t index) {
  const Result<> waited = co_await wait_to_go(index);
  if (waited && !stopped_) {
    if (spares_.empty()) spares_.push_back(make_http1_connection(runtime_, target_));
    std::unique_ptr<Connection> connection = std::move(spares_.back());
    spares_.pop_back();
    co_await carry_out(*connection, steps_[index], runtime_.now());
    spares_.push_back(std::move(connection));
  }
  held_.erase(index);
}

// Steps are taken in order. Without a rate each worker waits for what its step needs; with one,
// steps that cannot go yet are put aside.
Task<void> AttachmentLoad::work(std::size_t worker, std::size_t end) {
  while (!stopped_ && next_step_ < end) {
    const std::size_t index = next_step_++;
    const Step& step = steps_[index];
    Instant due = runtime_.now();
    if (!times_.empty()) {
      due = start_ + times_[index - phase_begin_];
      figures_.late += runtime_.now() > due + 100ms;
      if (!co_await runtime::sleep_until(runtime_, due)) co_return;
      if (stopped_) co_return;
    }
    if (step.kind == Step::Kind::remove) events_.leave(step.attachment);
    if (!may_go(index)) {
      if (!times_.empty()) {
        held_.insert(index);
        waiting_->spawn(go_later(index));
        continue;
      }
      const Result<> waited = co_await wait_to_go(index);
      if (!waited || stopped_) co_return;
      due = runtime_.now();
    }
    co_await carry_out(*workers_[worker], step, due);
  }
}

Task<void> AttachmentLoad::show_progress() {
  AttachmentFigures& now = figures_;
  std::uint64_t created = 0;
  std::uint64_t removed = 0;
  std::uint64_t ready = 0;
  for (int second = 1;; ++second) {
    if (!co_await runtime::sleep(runtime_, kProgressInterval)) co_return;
    std::string line = fmt::format(
        "attachments {:3} s  created {}/s  ready {}/s  waiting {}  deleted {}/s", second,
        now.created - created, now.ready - ready, now.still_waiting(), now.removed - removed);
    if (board_) line += fmt::format("  agents carry {}", board_->stations());
    if (figures_.failed()) line += "  FAILURES";
    std::fprintf(stderr, "%s\n", line.c_str());
    created = now.created;
    removed = now.removed;
    ready = now.ready;
    metrics_.set_living(static_cast<double>(created - std::min(created, now.gone)));
    metrics_.set_waiting(static_cast<double>(now.still_waiting()));
  }
}

Task<void> AttachmentLoad::wait_for_stages() {
  const Instant limit = runtime_.now() + settings_.settle;
  while (figures_.still_waiting() > 0 && !stopped_ && runtime_.now() < limit)
    if (!co_await runtime::sleep(runtime_, 1ms)) co_return;
}

// Until the watch has shown the end of everything that was deleted, and every test's report.
Task<void> AttachmentLoad::wait_for_departures() {
  const Instant limit = runtime_.now() + settings_.settle;
  const auto untested = [](const Life& life) {
    return life.wants_test && life.created != Instant{} && life.tested == Instant{};
  };
  while (!stopped_ && runtime_.now() < limit &&
         (figures_.gone < figures_.removed || std::ranges::any_of(figures_.lives, untested)))
    if (!co_await runtime::sleep(runtime_, 5ms)) co_return;
}

// Every host of a network carries all of it.
std::uint64_t AttachmentLoad::expected_stations() const {
  std::vector<std::uint64_t> living(networks_.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> hosts;  // network, node
  for (const Life& life : figures_.lives) {
    if (life.ready == Instant{} || life.removed != Instant{}) continue;
    ++living[life.network];
    hosts.emplace(life.network, life.node);
  }
  std::uint64_t stations = 0;
  for (const auto& [network, node] : hosts) stations += living[network];
  return stations;
}

Task<void> AttachmentLoad::wait_for_agents(PhaseFigures& phase) {
  if (!board_) co_return;
  const Instant since = runtime_.now();
  phase.stations_expected = expected_stations();
  for (;;) {
    phase.stations = board_->stations();
    phase.in_step_after = runtime_.now() - since;
    const bool over = stopped_ || phase.in_step_after > settings_.settle;
    if (phase.stations == phase.stations_expected || over) break;
    if (!co_await runtime::sleep(runtime_, 10ms)) co_return;
  }
}

ProcessFigures AttachmentLoad::server_figures() {
  if (settings_.server_pid == 0) return {};
  return observe_process(runtime_.files(), settings_.server_pid).value_or(ProcessFigures{});
}

void AttachmentLoad::note_server(PhaseFigures& phase, const ProcessFigures& before, Instant since) {
  const ProcessFigures after = server_figures();
  phase.server_cpu = after.cpu - before.cpu;
  phase.server_time = runtime_.now() - since;
  phase.server_resident = after.resident;
}

Task<void> AttachmentLoad::run_phase(const Phase& phase) {
  PhaseFigures figures{.name = phase.name};
  const std::uint64_t created = figures_.created;
  const std::uint64_t removed = figures_.removed;
  const ProcessFigures server = server_figures();
  const auto random = [this] { return runtime_.random(); };
  times_.clear();
  if (phase.rate > 0)
    times_ = plan_times(phase.rate, settings_.poisson, phase.end - phase.begin, random);
  start_ = runtime_.now();
  figures.begin = start_;
  phase_begin_ = phase.begin;
  runtime::Scope working(runtime_);
  runtime::Scope waiting(runtime_);
  waiting_ = &waiting;
  for (std::size_t i = 0; i < workers_.size(); ++i) working.spawn(work(i, phase.end));
  co_await working.join();
  co_await waiting.join();
  waiting_ = nullptr;
  co_await wait_for_stages();
  figures.took = runtime_.now() - start_;
  figures.created = figures_.created - created;
  figures.removed = figures_.removed - removed;
  note_server(figures, server, start_);
  co_await wait_for_departures();
  co_await wait_for_agents(figures);
  figures_.phases.push_back(std::move(figures));
}

// Everything is there and nothing changes.
Task<void> AttachmentLoad::pause() {
  PhaseFigures figures{.name = "pause"};
  const ProcessFigures server = server_figures();
  const Instant since = runtime_.now();
  figures.begin = since;
  const Instant until = since + settings_.wait_after_create;
  while (!stopped_ && runtime_.now() < until)
    if (!co_await runtime::sleep(runtime_, std::min<Duration>(100ms, until - runtime_.now())))
      break;
  figures.took = runtime_.now() - since;
  note_server(figures, server, since);
  co_await wait_for_agents(figures);
  figures_.phases.push_back(std::move(figures));
}

Task<Result<>> AttachmentLoad::measure() {
  FL_CO_TRY(std::string version, co_await list_version());
  runtime::Scope watching(runtime_);
  runtime::Scope progress(runtime_);
  if (page_) progress.spawn(page_->serve());
  watching.spawn(follow(std::move(version)));
  while (!watching_ && !stopped_) {
    FL_CO_CHECKED(co_await changed_.wait());
  }
  if (watching_) {
    figures_.start = runtime_.now();
    progress.spawn(show_progress());
    for (const Phase& phase : phases_) {
      const bool empties = phase.end == steps_.size();
      if (empties && settings_.wait_after_create > Duration{0}) co_await pause();
      if (!stopped_) co_await run_phase(phase);
    }
  }
  if (page_) co_await page_->stop();
  co_await progress.close();
  co_await watching.close();
  watcher_->close();
  if (!watching_) co_return fail(Code::unavailable, "watch: " + figures_.watch_failure);
  if (board_)
    for (const Part part : {Part::warm_up, Part::cruise})
      figures_.seen[static_cast<std::size_t>(part)] = board_->seen(part);
  co_return write_files();
}

Result<runtime::Endpoint> AttachmentLoad::serve_metrics(const runtime::Endpoint& at) {
  auto page = MetricsPage::open(runtime_, at, [this] { return metrics_.text(); });
  if (!page) return fail(std::move(page).error().context("--metrics-listen " + at.to_string()));
  page_ = std::move(*page);
  return page_->address();
}

Result<> AttachmentLoad::write_files() const {
  if (!settings_.csv.empty()) {
    FL_CHECKED(write_file("--csv", settings_.csv, figures_.csv(run_)));
  }
  if (!settings_.sizes_csv.empty()) {
    FL_CHECKED(write_file("--sizes-csv", settings_.sizes_csv, sizes_csv(networks_)));
  }
  if (!settings_.report.empty()) {
    FL_CHECKED(write_file("--report", settings_.report, report_html(figures_, run_)));
  }
  if (settings_.prometheus.empty()) return {};
  return write_file("--prometheus", settings_.prometheus, metrics_.text());
}

// What a run that was stopped has left.
Task<Result<>> AttachmentLoad::remove_attachments() {
  for (std::uint64_t i = 0; i < figures_.lives.size(); ++i) {
    const Life& life = figures_.lives[i];
    if (life.due == Instant{} || life.removed != Instant{}) continue;
    const Call call{.method = "DELETE", .target = attachments_path_ + "/" + objects_.name(i)};
    FL_CO_CHECKED(co_await control_->exchange(call));
  }
  co_return Result<>{};
}

Task<Result<>> AttachmentLoad::clean_up() {
  if (settings_.keep) co_return Result<>{};
  if (made_namespace_) co_return co_await remove_namespace(*control_, settings_.namespace_name);
  FL_CO_CHECKED(co_await remove_attachments());
  for (std::size_t i = 0; i < networks_.size() * settings_.subnets_per_network; ++i) {
    const Call call{.method = "DELETE",
                    .target = subnets_path_ + "/" +
                              objects_.subnet_name(i / settings_.subnets_per_network,
                                                   i % settings_.subnets_per_network)};
    FL_CO_CHECKED(co_await control_->exchange(call));
  }
  co_return Result<>{};
}

}  // namespace fairlead::bench
