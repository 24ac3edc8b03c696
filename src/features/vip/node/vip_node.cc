#include "features/vip/node/vip_node.h"

#include <algorithm>
#include <utility>

#include "features/vip/config/vip_config.h"
#include "features/vip/node/order.h"
#include "features/vip/node/vip_why.h"
#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"
#include "foundation/runtime/to_the_end.h"

namespace fairlead::vip {
namespace {

constexpr Duration kLookAfterGuard = 200ms;
constexpr Duration kRetry = 100ms;
// What ends at once, again and again, is started less and less often.
constexpr runtime::BackOff::Limits kGuardAgain{.first = 100ms, .longest = 5s};
constexpr Duration kOrderAgain = 2s;  // an order is told again, in case the engine is another
constexpr Duration kTimeToEnd = 10s;  // of a guard whose agent ends: more than its engine has
constexpr int kStateMode = 0700;
constexpr int kHistoryMode = 0600;

agent::Pages::Page json_page(const Json& value) {
  return {.body = wire::encode_json(value) + "\n", .type = "application/json"};
}

Result<std::string> read_secret(runtime::Files& files, const std::string& path) {
  if (path.empty()) return std::string();
  Result<std::string> text = files.read(path);
  if (!text) return fail(std::move(text).error().context("election.secretFile " + path));
  while (text->ends_with('\n')) text->pop_back();
  if (text->size() < 16)
    return fail(Code::invalid,
                "election.secretFile " + path + ": must have at least 16 characters");
  return text;
}

PeerKeys::Options key_options(const VipPlan& plan) {
  return {.node = plan.node, .listen = plan.election.listen, .tls = plan.election.tls};
}

}  // namespace

Result<std::unique_ptr<VipNode>> VipNode::open(const agent::NodeContext& context, VipPlan plan,
                                               StartGuard start_guard) {
  runtime::Files& files = context.runtime.files();
  if (Result<> made = files.make_directories(plan.state_dir, kStateMode); !made)
    return fail(std::move(made).error().context("state " + plan.state_dir));
  FL_TRY(std::string secret, read_secret(files, plan.election.secret_file));
  FL_TRY(Passwords passwords, Routes::read_passwords(files, plan));
  const PeerKeys::Options keys = key_options(plan);
  std::unique_ptr<VipNode> node(new VipNode(context, std::move(plan), std::move(secret),
                                            std::move(passwords), std::move(start_guard)));
  FL_CHECKED(node->peer_keys_.follow(keys));
  node->follow_members();
  return node;
}

VipNode::VipNode(const agent::NodeContext& context, VipPlan plan, std::string secret,
                 Passwords passwords, StartGuard start_guard)
    : context_(context),
      runtime_(context.runtime),
      file_(std::move(plan)),
      plan_(file_),
      secret_(std::move(secret)),
      start_guard_(std::move(start_guard)),
      engine_(runtime_, plan_.state_dir),
      history_(runtime_.files(), history_path()),
      metrics_(context.metrics, [this]() -> const Report& { return report_; }),
      peer_keys_(runtime_, context.metrics, [this] { order_changed_.notify(); }),
      routes_({runtime_, context.processes, context.metrics}, plan_.state_dir,
              [this] { order_changed_.notify(); }),
      gates_({runtime_, context.processes, context.metrics},
             [this](const Ip& vip, bool healthy) {
               routes_.set_healthy(vip, healthy);
               order_changed_.notify();
               look_at_status();
             }),
      notifier_({runtime_, context.processes, context.metrics}, plan_.node) {
  if (context.api && file_.from_api) {
    api_vips_ = std::make_unique<ApiVipList>(runtime_, context.api->client,
                                             file_.state_dir + "/virtualips.json",
                                             [this](ApiVipList::News news) { follow_api(news); });
    status_writer_ = std::make_unique<VipStatusWriter>(
        runtime_, context.api->client, *api_vips_, context.metrics,
        [this](const ApiVip& vip) { return status_facts(vip); });
  }
  passwords_ = std::move(passwords);
  plan_anew();
  add_pages();
  for (const std::string& note : plan_.notes) log::warning("virtual IPs", {{"note", note}});
}

Result<> VipNode::follow(VipPlan plan) {
  if (plan.state_dir != plan_.state_dir)
    return fail(Code::unsupported, "another state folder needs a new start of the agent");
  if (plan.from_api.has_value() != file_.from_api.has_value())
    return fail(Code::unsupported,
                "virtualIPsFromAPI set now, or no longer, needs a new start of the agent");
  FL_TRY(std::string secret, read_secret(runtime_.files(), plan.election.secret_file));
  FL_TRY(Passwords passwords, Routes::read_passwords(runtime_.files(), plan));
  FL_CHECKED(name_node(plan, file_.node));
  FL_CHECKED(peer_keys_.follow(key_options(plan)));
  passwords_ = std::move(passwords);
  file_ = std::move(plan);
  secret_ = std::move(secret);
  plan_anew();
  follow_members();
  return {};
}

// The file or the API says something else.
void VipNode::plan_anew() {
  std::vector<ApiVip> objects;
  if (api_vips_) objects = api_vips_->all();
  merged_ = merge_vips(file_, std::move(objects));
  plan_ = file_;
  plan_.vips = merged_.vips;
  routes_.follow(plan_, passwords_);
  gates_.follow(plan_.vips);
  for (const VipEntry& entry : plan_.vips)
    routes_.set_healthy(entry.vip.address, gates_.healthy(entry.vip.address));
  notifier_.follow(plan_.vips);
  order_changed_.notify();
  look_at_status();
}

void VipNode::follow_api(ApiVipList::News news) {
  if (news == ApiVipList::News::specs)
    plan_anew();
  else
    look_at_status();
}

void VipNode::look_at_status() {
  if (status_writer_) status_writer_->look();
}

StatusFacts VipNode::status_facts(const ApiVip& vip) const {
  StatusFacts facts{.node = plan_.node,
                    .refused = {},
                    .engine_problem = {},
                    .vip = {},
                    .fenced = is_fenced(report_),
                    .assigns = !report_.leader.empty() && report_.leader == plan_.node,
                    .sick_gates = {}};
  if (const auto refused = merged_.refused.find(vip.name); refused != merged_.refused.end())
    facts.refused = refused->second;
  if (report_.incarnation == 0)
    facts.engine_problem = !report_.problem.empty() ? report_.problem
                           : !problem_.empty()      ? problem_
                                                    : "the engine does not run yet";
  const auto own =
      std::ranges::find(merged_.names, vip.name, &std::map<Ip, std::string>::value_type::second);
  if (own == merged_.names.end()) return facts;
  if (const VipReport* report = report_of(own->first)) facts.vip = *report;
  facts.sick_gates = sick_gates(own->first);
  return facts;
}

// Keys are agreed on with those that the election counts, and with those of the file: a member that
// is about to be added is to have them before.
void VipNode::follow_members() {
  std::map<std::string, runtime::Endpoint> peers;
  const auto add = [&](const std::string& name, const std::string& address) {
    if (Result<runtime::Endpoint> at = runtime::Endpoint::parse(address); at && name != plan_.node)
      peers[name] = std::move(*at);
  };
  for (const Member& member : plan_.election.settings.members) add(member.name, member.address);
  for (const MemberOrder& member : report_.members) add(member.name, member.address);
  peer_keys_.set_peers(peers);
}

void VipNode::add_pages() {
  context_.admin_pages.add_action("/vip/measure", [this](std::string) -> Task<agent::Pages::Page> {
    const Result<std::string> measure = co_await engine_.measure();
    if (measure) co_return agent::Pages::Page{.body = *measure + "\n", .type = "application/json"};
    co_return agent::Pages::Page{.status = measure.error().code == Code::unavailable ? 503 : 400,
                                 .body = measure.error().message + "\n"};
  });
  context_.admin_pages.add("/vip/history",
                           [this](std::string_view) { return json_page(history_.to_json()); });
  context_.admin_pages.add_action(
      "/vip/wish", [this](std::string body) -> Task<agent::Pages::Page> {
        const Result<WishOrder> wish = parse_control<WishOrder>(body);
        if (!wish) co_return agent::Pages::Page{.status = 400, .body = wish.error().message + "\n"};
        const Result<> done = co_await engine_.wish(*wish);
        if (done) co_return agent::Pages::Page{.body = "ok\n"};
        co_return agent::Pages::Page{.status = done.error().code == Code::unavailable ? 503 : 400,
                                     .body = done.error().message + "\n"};
      });
}

// ---- the processes

Task<void> VipNode::keep_guard() {
  runtime::BackOff back_off(kGuardAgain);
  for (;;) {
    Result<GuardHandle> guard = start_guard_(plan_.state_dir);
    if (!guard) {
      problem_ = "the guard cannot be started: " + guard.error().message;
      log::error("guard of virtual IPs not started", {{"error", guard.error().to_string()}});
      if (!co_await back_off.pause(runtime_)) co_return;
      continue;
    }
    const Instant started = runtime_.now();
    metrics_.guard_starts.add();
    Result<> alive;
    while (alive && !guard->ended()) alive = co_await runtime::sleep(runtime_, kLookAfterGuard);
    if (!alive) {  // the agent ends: the engine gives everything up, which takes the margin
      guard->close();
      co_await runtime::blocking(runtime_, [&guard] { guard->wait(kTimeToEnd); });
      co_return;
    }
    log::error("guard of virtual IPs has ended: it is started again");
    problem_ = "the guard has ended: see the agent's log";
    back_off.held(runtime_.now() - started);
    if (!co_await back_off.pause(runtime_)) co_return;
  }
}

Order VipNode::current_order() const {
  std::map<Ip, bool> healthy;
  for (const VipEntry& entry : plan_.vips)
    healthy[entry.vip.address] =
        gates_.healthy(entry.vip.address) && routes_.obstacle(entry.vip.address).empty();
  return order_of(plan_, secret_, peer_keys_.keys(), healthy);
}

Task<void> VipNode::keep_order() {
  for (;;) {
    const Order order = current_order();
    const bool news = !ordered_ || *ordered_ != order || report_.incarnation == 0 ||
                      report_.incarnation != ordered_engine_;
    Result<> told;
    if (news) told = co_await engine_.order(order);
    if (!told && told.error().code == Code::cancelled) co_return;
    if (told && news) {
      ordered_ = order;
      ordered_engine_ = report_.incarnation;
      problem_.clear();
      if (current_order() != order) continue;  // it changed meanwhile
    }
    if (!told && told.error().code == Code::invalid) {
      problem_ = told.error().message;
      log::error("engine of virtual IPs refuses its order", {{"error", problem_}});
    }
    // One that could not begin is told again, in case what it lacked is there now.
    const bool begun = report_.incarnation != 0 || !report_.problem.empty();
    runtime::TimedWait wait(runtime_, order_changed_,
                            runtime_.now() + (told && begun ? kOrderAgain : kRetry));
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
  }
}

Task<void> VipNode::follow_reports() {
  for (;;) {
    Result<Report> report = co_await engine_.report(report_.version);
    if (!report && report.error().code == Code::cancelled) co_return;
    const bool answered = report.has_value();
    if (report) {
      take_report(std::move(*report));
      if (!co_await runtime::sleep(runtime_, Duration::zero())) co_return;
    } else {
      const bool ended = report_.incarnation != 0;
      if (ended) take_report({.problem = "the engine does not answer"});
      if (ended) co_await routes_.withdraw_held();
      if (!co_await runtime::sleep(runtime_, kRetry)) co_return;
    }
    if (answered != engine_answers_) {
      engine_answers_ = answered;
      context_.readiness_changed();
    }
  }
}

void VipNode::take_report(Report report) {
  const bool begun = report.incarnation != report_.incarnation;
  const bool was_ready = readiness().ready;
  const bool others = report.members != report_.members;
  report_ = std::move(report);
  if (others && report_.incarnation != 0) follow_members();
  if (begun && report_.incarnation != 0) metrics_.engine_starts.add();
  if (begun) order_changed_.notify();
  if (history_.take(report_, [this](const Passage& passage) { passed(passage); })) {
    history_stale_ = true;
    history_changed_.notify();
  }
  tell_notifier();
  look_at_status();
  if (readiness().ready != was_ready) context_.readiness_changed();
}

// What is, not what happened: while there is no engine nothing is held.
void VipNode::tell_notifier() {
  for (const VipEntry& entry : plan_.vips) {
    const VipReport* vip = report_of(entry.vip.address);
    const bool here = vip != nullptr && vip->here;
    Epoch& told = notified_[entry.vip.address];  // of what is held, as far as was told; 0: nothing
    const Epoch epoch = here ? static_cast<Epoch>(vip->epoch) : 0;
    if (epoch == told) continue;
    notifier_.tell({.vip = entry.vip.address, .held = here, .epoch = here ? epoch : told});
    told = epoch;
  }
}

// Off the loop: a disk that hangs must not hold up gates and orders. The latest counts.
Task<void> VipNode::keep_history() {
  for (;;) {
    while (!history_stale_)
      if (!co_await history_changed_.wait()) co_return;
    history_stale_ = false;
    runtime::Files& files = runtime_.files();
    const auto save = [&files, path = history_path(), text = history_.text()] {
      return files.write_atomically(path, text, kHistoryMode);
    };
    const Result<> saved = co_await runtime::blocking(runtime_, save);
    if (!saved)
      log::warning("history of virtual IPs not written", {{"error", saved.error().to_string()}});
  }
}

void VipNode::passed(const Passage& passage) { metrics_.passed(passage); }

Task<void> VipNode::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(keep_guard());
  scope.spawn(keep_order());
  scope.spawn(follow_reports());
  scope.spawn(peer_keys_.run());
  scope.spawn(keep_history());
  scope.spawn(routes_.run());
  scope.spawn(gates_.run());
  scope.spawn(notifier_.run());
  if (api_vips_) scope.spawn(api_vips_->run());
  if (status_writer_) scope.spawn(status_writer_->run());
  co_await scope.join();
  co_await runtime::to_the_end(runtime_, notifier_.tell_the_end());
}

// ---- what others ask

agent::Readiness VipNode::readiness() const {
  if (!report_.problem.empty())
    return {.ready = false, .reason = "virtual IPs: " + report_.problem};
  if (engine_answers_ && report_.incarnation != 0) return {.ready = true, .reason = {}};
  return {
      .ready = false,
      .reason = "virtual IPs: " + (problem_.empty() ? "the engine does not run yet" : problem_)};
}

agent::Summary VipNode::summary() const {
  const std::string count = std::to_string(plan_.vips.size());
  return {.sentence = count + " virtual IPs offered, election among " +
                      std::to_string(report_.members.size()),
          .fields = {{"vips", plan_.vips.size()}, {"members", report_.members.size()}}};
}

const VipReport* VipNode::report_of(const Ip& vip) const {
  const auto at = std::ranges::find(report_.vips, vip.to_string(), &VipReport::address);
  return at == report_.vips.end() ? nullptr : &*at;
}

JsonObject VipNode::election_status() const {
  JsonArray members;
  const std::vector<PeerKeyReport> keys = peer_keys_.reports();
  for (const MemberOrder& member : report_.members) {
    const auto peer = std::ranges::find(report_.peers, member.name, &PeerReport::name);
    JsonObject one{{"name", member.name},
                   {"address", member.address},
                   {"alive", peer == report_.peers.end() || peer->alive},
                   {"problem", peer == report_.peers.end() ? report_.not_believed : peer->problem}};
    if (const auto key = std::ranges::find(keys, member.name, &PeerKeyReport::peer);
        key != keys.end())
      one["tls"] = JsonObject{{"connected", key->connected},
                              {"hasKey", key->has_key},
                              {"since", key->since},
                              {"certificateExpires", key->expires},
                              {"problem", key->problem}};
    members.push_back(std::move(one));
  }
  JsonArray notes;
  for (const std::string& note : plan_.notes) notes.emplace_back(note);
  return {{"backend", backend_name(plan_.election.backend)},
          {"engine", engine_answers_ && report_.incarnation != 0},
          {"problem", report_.problem},
          {"leader", report_.leader},
          {"term", report_.term},
          {"leaseMilliseconds", report_.lease / 1'000'000},
          {"authenticated", report_.authenticated},
          {"fence", report_.fence},
          {"members", std::move(members)},
          {"notes", std::move(notes)}};
}

JsonObject VipNode::status() const {
  JsonArray vips;
  for (const VipReport& vip : report_.vips) {
    const auto object = merged_.names.find(*Ip::parse(vip.address));
    vips.push_back(JsonObject{{"address", vip.address},
                              {"interface", vip.interface},
                              {"holder", vip.holder},
                              {"here", vip.here},
                              {"epoch", vip.epoch},
                              {"since", vip.since},
                              {"healthy", vip.healthy && vip.problem.empty()},
                              {"problem", vip.problem},
                              {"object", object == merged_.names.end() ? "" : object->second}});
  }
  for (const VipEntry& entry : plan_.vips)
    if (!entry.elected()) vips.push_back(unelected_status(entry));
  JsonObject all{{"election", election_status()}, {"virtualIPs", std::move(vips)}};
  if (JsonObject bgp = routes_.status(); !bgp.empty()) all["bgp"] = std::move(bgp);
  return all;
}

// Says what this node knows, and no more: nobody else is asked.
JsonObject VipNode::unelected_status(const VipEntry& entry) const {
  const Ip& vip = entry.vip.address;
  const bool external = entry.announce == Announce::external;
  JsonObject status{{"address", vip.to_string()},
                    {"interface", entry.vip.interface},
                    {"announce", announce_name(entry.announce)},
                    {"anycast", entry.anycast},
                    {"here", !external && routes_.announces(vip)},
                    {"healthy", gates_.healthy(vip)},
                    {"problem", routes_.error(vip)}};
  if (external) status["checked"] = kExternalChecked;
  return status;
}

const VipEntry* VipNode::entry_of(const Ip& vip) const {
  const auto at =
      std::ranges::find_if(plan_.vips, [&](const VipEntry& one) { return one.vip.address == vip; });
  return at == plan_.vips.end() ? nullptr : &*at;
}

std::vector<std::string> VipNode::sick_gates(const Ip& vip) const {
  std::vector<std::string> sick;
  for (const GateReport& gate : gates_.reports(vip))
    if (gate.state != HealthGate::State::well)
      sick.push_back(gate.name + (gate.problem.empty() ? "" : ": " + gate.problem));
  return sick;
}

Result<agent::Explanation> VipNode::why(std::string_view, std::string_view object) const {
  const auto address = Ip::parse(object);
  if (!address) return fail(Code::invalid, "must be an address: " + address.error().message);
  const VipReport* vip = report_of(*address);
  const VipEntry* entry = entry_of(*address);
  if (!vip && !entry)
    return fail(Code::not_found, address->to_string() + " is no virtual IP that this node knows");
  std::vector<std::string> sick = sick_gates(*address);
  if (entry && !entry->elected())
    return explain_unelected({.node = plan_.node,
                              .entry = *entry,
                              .announced = routes_.announces(*address),
                              .problem = routes_.error(*address),
                              .sick_gates = std::move(sick)});
  if (const std::string obstacle = routes_.obstacle(*address); !obstacle.empty())
    sick.push_back(obstacle);
  VipFacts facts{.node = plan_.node,
                 .backend = backend_name(plan_.election.backend),
                 .engine_runs = engine_answers_ && report_.incarnation != 0,
                 .engine_problem = report_.problem.empty() ? problem_ : report_.problem,
                 .vip = {},
                 .report = report_,
                 .sick_gates = std::move(sick)};
  if (vip) facts.vip = *vip;
  const auto from = merged_.names.find(*address);
  if (from != merged_.names.end() && api_vips_)
    if (const ApiVip* known = api_vips_->find(from->second))
      facts.told_by_others = words_of(*known);
  return explain_vip(facts, *address);
}

}  // namespace fairlead::vip
