#include "bench/attachment_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <utility>

#include "bench/api_load.h"
#include "bench/http2_client.h"
#include "bench/tally.h"
#include "wire/json.h"

namespace fairlead::bench {
namespace {

constexpr std::string_view kGroup = "/apis/fairlead.dev/v1alpha1";
enum StageIndex { kCreate, kRemove, kToAddressed, kToReady, kAddressedToReady, kReadyToTested };

Error refused(const std::string& what, const Answer& answer) {
  return {Code::unavailable, fmt::format("{}: the API answered {}: {}", what, answer.status,
                                         answer.body.substr(0, 400))};
}

}  // namespace

AttachmentLoad::AttachmentLoad(runtime::Runtime& runtime, const Target& target,
                               AttachmentSettings settings, std::string run)
    : runtime_(runtime),
      target_(target),
      settings_(std::move(settings)),
      run_(std::move(run)),
      control_(make_http1_connection(runtime_, target_)),
      watcher_(make_http2_client(runtime_, target_)),
      stages_{{"create", "create", {}},
              {"remove", "delete", {}},
              {"createToAddressed", "create to address", {}},
              {"createToReady", "create to interface, as others see it", {}},
              {"addressedToReady", "address to interface", {}},
              {"readyToTested", "interface to test", {}}} {
  if (settings_.namespace_name.empty()) settings_.namespace_name = run_;
  subnets_path_ = fmt::format("{}/namespaces/{}/subnets", kGroup, settings_.namespace_name);
  attachments_path_ =
      fmt::format("{}/namespaces/{}/networkattachments", kGroup, settings_.namespace_name);
  for (std::size_t i = 0; i < settings_.connections; ++i)
    workers_.push_back(make_http1_connection(runtime_, target_));
  const auto random = [this] { return runtime_.random(); };
  networks_ = plan_networks(settings_, random);
  steps_ = plan_steps(settings_, networks_, random);
  times_ = plan_times(settings_, steps_.size(), random);
  cool_down_ = steps_.size();
  while (cool_down_ > 0 && steps_[cool_down_ - 1].kind == Step::Kind::remove) --cool_down_;
  lives_.resize(settings_.attachments);
  ping_peer_.resize(networks_.size());
}

std::string AttachmentLoad::name_of(std::uint64_t attachment) const {
  return fmt::format("{}-{}", run_, attachment);
}

Json AttachmentLoad::subnet_object(std::size_t network) const {
  return JsonObject{{"apiVersion", "fairlead.dev/v1alpha1"},
                    {"kind", "Subnet"},
                    {"metadata", JsonObject{{"name", fmt::format("{}-net-{}", run_, network)}}},
                    {"spec", JsonObject{{"vni", networks_[network].vni},
                                        {"ipv4", networks_[network].block.to_string()}}}};
}

Json AttachmentLoad::attachment_object(const Step& step) {
  const std::size_t turn = settings_.round_robin ? step.attachment : runtime_.random();
  JsonObject spec{{"node", settings_.nodes[turn % settings_.nodes.size()]},
                  {"subnet", fmt::format("{}-net-{}", run_, step.network)}};
  if (settings_.ping) {
    // The guest's name, its addresses, and whom to ping; nobody for the first in a network.
    spec["postCreateExec"] = JsonArray{settings_.ping_program, "up", "${ifname}", "${ipv4}",
                                       Json(ping_peer_[step.network])};
    spec["postDeleteExec"] = JsonArray{settings_.ping_program, "down", "${ifname}"};
  }
  return JsonObject{{"apiVersion", "fairlead.dev/v1alpha1"},
                    {"kind", "NetworkAttachment"},
                    {"metadata", JsonObject{{"name", name_of(step.attachment)}}},
                    {"spec", std::move(spec)}};
}

Task<Result<std::vector<std::string>>> AttachmentLoad::list_nodes() {
  FL_CO_TRY(const Answer answer,
            co_await control_->exchange({.target = "/api/v1/nodes", .want_body = true}));
  Result<wire::ParsedJson> list = wire::parse_json(answer.body);
  if (answer.status != 200 || !list) co_return fail(refused("list nodes", answer));
  std::vector<std::string> nodes;
  if (const Json* items = wire::find(list->value, "items"); items && items->is_array())
    for (const Json& node : items->get_array())
      nodes.emplace_back(wire::find_string(node, "metadata.name"));
  if (nodes.empty()) co_return fail(Code::invalid, "the API has no Nodes; name some with --node");
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
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    const Call call{.method = "POST",
                    .target = subnets_path_,
                    .body = wire::encode_json(subnet_object(i)),
                    .want_body = true};
    FL_CO_TRY(const Answer answer, co_await control_->exchange(call));
    if (answer.status >= 300) co_return fail(refused("create subnet", answer));
    const Result<wire::ParsedJson> made = wire::parse_json(answer.body);
    const Json* validated = made ? wire::find(made->value, "status.validated") : nullptr;
    if (!validated || *validated != Json(true))
      co_return fail(Code::conflict,
                     fmt::format("subnet of VNI {} is not validated; another run uses it: {}",
                                 networks_[i].vni, answer.body.substr(0, 400)));
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
  if (first_failure_.empty()) first_failure_ = "watch: " + ended.error().to_string();
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
      take_event(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
}

void AttachmentLoad::take_event(std::string_view line) {
  const Result<wire::ParsedJson> event = wire::parse_json(line);
  if (!event || wire::find_string(event->value, "type") == "DELETED") return;
  const std::string_view name = wire::find_string(event->value, "object.metadata.name");
  if (!name.starts_with(run_ + "-")) return;
  std::uint64_t number = lives_.size();
  std::from_chars(name.data() + run_.size() + 1, name.data() + name.size(), number);
  if (number >= lives_.size()) return;
  Life& life = lives_[number];
  const Json* status = wire::find(event->value, "object.status");
  if (!status) return;
  const Instant now = runtime_.now();
  const auto reach = [&](Instant& stage, std::uint64_t* count) {
    if (stage != Instant{}) return;
    stage = now;
    if (count) ++*count;
  };
  if (const std::string_view ip = wire::find_string(*status, "ipv4"); !ip.empty()) {
    reach(life.addressed, &addressed_);
    life.ip = ip;
  }
  if (!wire::find_string(*status, "ifcName").empty()) reach(life.ready, &ready_);
  if (const Json* exit = wire::find(*status, "postCreateExecReport.exitStatus");
      exit && exit->is_number()) {
    life.test_status = exit->to_number<int>();
    reach(life.tested, nullptr);
  }
  const Json* errors = wire::find(*status, "errors.host");
  life.broken = life.broken || (errors && errors->is_array() && !errors->get_array().empty());
}

Task<void> AttachmentLoad::carry_out(Connection& connection, const Step& step, Instant due) {
  Life& life = lives_[step.attachment];
  const bool creates = step.kind == Step::Kind::create;
  Call call{
      .method = creates ? "POST" : "DELETE",
      .target = creates ? attachments_path_ : attachments_path_ + "/" + name_of(step.attachment)};
  if (creates) call.body = wire::encode_json(attachment_object(step));
  if (creates) life.due = due;
  const Result<Answer> answer = co_await connection.exchange(call);
  const Instant now = runtime_.now();
  if (!answer || answer->status >= 300) {
    ++(creates ? create_errors_ : remove_errors_);
    if (first_failure_.empty())
      first_failure_ = answer ? answer->body.substr(0, 400) : answer.error().to_string();
    if (!answer) (void)co_await runtime::sleep(runtime_, 50ms);
    co_return;
  }
  (creates ? life.created : life.removed) = now;
  ++(creates ? created_ : removed_);
  stages_[creates ? kCreate : kRemove].histogram.add(now - due);
  if (creates || life.ip.empty()) co_return;
  if (ping_peer_[step.network] == life.ip) ping_peer_[step.network].clear();
}

// Steps are taken in order; a delete waits for its create by the order of the plan alone, which at
// most `connections` steps can overtake: it then finds nothing and counts as an error.
Task<void> AttachmentLoad::work(std::size_t worker) {
  while (!stopped_ && next_step_ < steps_.size()) {
    const std::size_t index = next_step_++;
    const Step& step = steps_[index];
    Instant due = runtime_.now();
    if (index >= cool_down_ && settings_.wait_after_create > Duration{0}) {
      if (cool_down_at_ == Instant{}) cool_down_at_ = due + settings_.wait_after_create;
      if (!co_await runtime::sleep_until(runtime_, cool_down_at_)) co_return;
      due = runtime_.now();
    } else if (settings_.rate > 0) {
      due = start_ + times_[index];
      late_ += runtime_.now() > due + 100ms;
      if (!co_await runtime::sleep_until(runtime_, due)) co_return;
    }
    if (step.kind == Step::Kind::remove) {
      // What is deleted before it is there tests nothing.
      const Instant limit = runtime_.now() + settings_.settle;
      while (!stopped_ && lives_[step.attachment].ready == Instant{} && runtime_.now() < limit)
        if (!co_await runtime::sleep(runtime_, 5ms)) co_return;
      if (settings_.ping && !lives_[step.attachment].ip.empty())
        ping_peer_[step.network] = lives_[step.attachment].ip;
    }
    co_await carry_out(*workers_[worker], step, due);
  }
}

Task<void> AttachmentLoad::show_progress() {
  std::uint64_t created = 0;
  std::uint64_t ready = 0;
  for (int second = 1;; ++second) {
    if (!co_await runtime::sleep(runtime_, 1s)) co_return;
    std::fprintf(stderr, "attachments %3d s  created %llu/s  ready %llu/s  waiting %llu\n", second,
                 static_cast<unsigned long long>(created_ - created),
                 static_cast<unsigned long long>(ready_ - ready),
                 static_cast<unsigned long long>(still_waiting()));
    created = created_;
    ready = ready_;
  }
}

std::uint64_t AttachmentLoad::still_waiting() const {
  return created_ - std::min(created_, ready_);
}

Task<void> AttachmentLoad::wait_for_stages() {
  const Instant limit = runtime_.now() + settings_.settle;
  while (still_waiting() > 0 && !stopped_ && runtime_.now() < limit)
    if (!co_await runtime::sleep(runtime_, 10ms)) co_return;
}

Task<Result<>> AttachmentLoad::measure() {
  FL_CO_TRY(std::string version, co_await list_version());
  runtime::Scope watching(runtime_);
  runtime::Scope working(runtime_);
  runtime::Scope progress(runtime_);
  watching.spawn(follow(std::move(version)));
  while (!watching_ && !stopped_) {
    FL_CO_CHECKED(co_await changed_.wait());
  }
  if (watching_) {
    start_ = runtime_.now();
    progress.spawn(show_progress());
    for (std::size_t i = 0; i < workers_.size(); ++i) working.spawn(work(i));
    co_await working.join();
    co_await wait_for_stages();
    took_ = runtime_.now() - start_;
  }
  co_await progress.close();
  co_await watching.close();
  watcher_->close();
  if (!watching_) co_return fail(Code::unavailable, first_failure_);
  collect();
  co_return write_files();
}

void AttachmentLoad::collect() {
  const auto add = [this](StageIndex stage, Instant from, Instant to) {
    if (from != Instant{} && to != Instant{}) stages_[stage].histogram.add(to - from);
  };
  for (const Life& life : lives_) {
    add(kToAddressed, life.due, life.addressed);
    add(kToReady, life.due, life.ready);
    add(kAddressedToReady, life.addressed, life.ready);
    add(kReadyToTested, life.ready, life.tested);
  }
}

Result<> AttachmentLoad::write_files() const {
  const auto milliseconds = [](Instant from, Instant to) {
    return from == Instant{} || to == Instant{}
               ? std::string()
               : fmt::format("{:.3f}", 1e3 * seconds_of(to - from));
  };
  if (!settings_.csv.empty()) {
    std::ofstream out(settings_.csv);
    out << "attachment,due_s,create_ms,addressed_ms,ready_ms,tested_ms,test_status,ip\n";
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      const Life& life = lives_[i];
      if (life.due == Instant{}) continue;
      out << fmt::format("{},{:.6f},{},{},{},{},{},{}\n", name_of(i), seconds_of(life.due - start_),
                         milliseconds(life.due, life.created),
                         milliseconds(life.due, life.addressed), milliseconds(life.due, life.ready),
                         milliseconds(life.due, life.tested), life.test_status, life.ip);
    }
    if (!out.flush()) return fail(Code::io, "--csv " + settings_.csv + ": cannot be written");
  }
  if (settings_.prometheus.empty()) return {};
  std::ofstream out(settings_.prometheus);
  for (const Stage& stage : stages_) {
    if (stage.histogram.count() == 0) continue;
    for (const double share : {0.5, 0.9, 0.99})
      out << fmt::format("fairlead_driver_seconds{{stage=\"{}\",quantile=\"{}\"}} {:.6f}\n",
                         stage.name, share, seconds_of(stage.histogram.percentile(share)));
    out << fmt::format("fairlead_driver_seconds_count{{stage=\"{}\"}} {}\n", stage.name,
                       stage.histogram.count());
  }
  out << "fairlead_driver_create_errors_total " << create_errors_ << "\n"
      << "fairlead_driver_delete_errors_total " << remove_errors_ << "\n";
  if (!out.flush())
    return fail(Code::io, "--prometheus " + settings_.prometheus + ": cannot be written");
  return {};
}

Task<Result<>> AttachmentLoad::clean_up() {
  if (settings_.keep) co_return Result<>{};
  if (made_namespace_) co_return co_await remove_namespace(*control_, settings_.namespace_name);
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    const Call call{.method = "DELETE",
                    .target = fmt::format("{}/{}-net-{}", subnets_path_, run_, i)};
    FL_CO_CHECKED(co_await control_->exchange(call));
  }
  co_return Result<>{};
}

std::string AttachmentLoad::text() const {
  const double seconds = std::max(seconds_of(took_), 1e-9);
  std::string text = fmt::format(
      "attachments: {} created, {} addressed, {} ready, {} deleted in {:.1f} s ({} ready/s)\n",
      created_, addressed_, ready_, removed_, seconds,
      figure(static_cast<double>(ready_) / seconds));
  for (const Stage& stage : stages_)
    if (stage.histogram.count() != 0)
      text += fmt::format("  {:<38} {}\n", stage.words, percentiles_text(stage.histogram));
  const auto failed_tests = std::ranges::count_if(
      lives_, [](const Life& life) { return life.tested != Instant{} && life.test_status != 0; });
  if (failed_tests != 0) text += fmt::format("  error  {} tests failed\n", failed_tests);
  if (const auto broken = std::ranges::count_if(lives_, &Life::broken); broken != 0)
    text += fmt::format("  error  {} attachments had errors on their host\n", broken);
  if (still_waiting() != 0) text += fmt::format("  error  {} never got ready\n", still_waiting());
  if (create_errors_ + remove_errors_ != 0)
    text += fmt::format("  error  {} creates and {} deletes failed: {}\n", create_errors_,
                        remove_errors_, first_failure_);
  if (late_ != 0) text += fmt::format("  {} operations began more than 0.1 s late\n", late_);
  return text;
}

Json AttachmentLoad::json() const {
  const double seconds = std::max(seconds_of(took_), 1e-9);
  JsonObject json{{"networks", networks_.size()},
                  {"created", created_},
                  {"addressed", addressed_},
                  {"ready", ready_},
                  {"deleted", removed_},
                  {"seconds", seconds},
                  {"readyPerSecond", static_cast<double>(ready_) / seconds},
                  {"createErrors", create_errors_},
                  {"deleteErrors", remove_errors_},
                  {"late", late_}};
  JsonObject stages;
  for (const Stage& stage : stages_)
    if (stage.histogram.count() != 0) stages[stage.name] = percentiles_json(stage.histogram);
  json["milliseconds"] = std::move(stages);
  return json;
}

}  // namespace fairlead::bench
