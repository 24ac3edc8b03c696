#include "features/vip/control/engine_service.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
#include "foundation/runtime/scope.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr Duration kLongestPoll = 1s;  // an engine that is stopped is noticed as soon
constexpr Duration kMeasure = 2s;
constexpr Duration kBetweenWrites = 100ms;
constexpr Duration kLookAgain = 250ms;  // for what is not told by a signal: leaders, peers, packets
constexpr Duration kAwaitArrivals = 60s;  // of a first packet
constexpr std::size_t kPassagesKept = 1'024;
constexpr http::Limits kLimits{.body_bytes = kMostControlBytes, .connections = 16};

http::Response text_response(int status, std::string text) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body.push_back(Bytes(std::move(text) + "\n"));
  return response;
}

http::Response outcome_response(const Result<>& outcome) {
  if (outcome) return text_response(200, "ok");
  return text_response(outcome.error().code == Code::unavailable ? 503 : 400,
                       outcome.error().message);
}

// N of "/report?after=N"; 0 if there is none.
std::int64_t version_in(std::string_view target) {
  constexpr std::string_view kAfter = "?after=";
  const std::size_t at = target.find(kAfter);
  std::int64_t version = 0;
  if (at == std::string_view::npos) return version;
  const std::string_view digits = target.substr(at + kAfter.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), version);
  return version;
}

// Numbers in JSON have a sign.
std::int64_t signed_number(std::uint64_t number) {
  return static_cast<std::int64_t>(number & std::numeric_limits<std::int64_t>::max());
}

std::int64_t microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace

runtime::Endpoint engine_socket(const std::string& state) {
  return {.kind = runtime::Endpoint::Kind::unix_socket, .host = state + "/engine.sock"};
}

EngineService::EngineService(runtime::Runtime& runtime, Options options)
    : runtime_(runtime), options_(std::move(options)) {}
EngineService::~EngineService() = default;

std::string EngineService::wall_text() const { return rfc3339_micro(runtime_.wall_now()); }

void EngineService::stop() {
  stopping_ = true;
  changed_.notify();
}

// ---- the socket

Task<void> EngineService::serve(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  http::Response response;
  if (request.method == "PUT" && path == "/order") {
    response = take_order(request.body);
  } else if (request.method == "GET" && path == "/report") {
    response = co_await answer_report(request.target);
  } else if (request.method == "POST" && path == "/wish") {
    response = co_await answer_wish(request.body);
  } else if (request.method == "POST" && path == "/measure") {
    response = co_await answer_measure();
  } else {
    response = text_response(404, "PUT /order, GET /report, POST /wish, POST /measure");
  }
  (void)co_await exchange.respond(std::move(response));
}

http::Response EngineService::take_order(const std::string& body) {
  if (stopping_) return text_response(503, "the engine is stopping");
  Result<Order> order = parse_control<Order>(body);
  if (!order) return text_response(400, order.error().message);
  if (Result<EngineOptions> options = engine_options(*order, options_.state); !options)
    return text_response(400, options.error().message);
  if (Result<std::vector<VipConfig>> vips = vip_configs(*order); !vips)
    return text_response(400, vips.error().message);
  if (Result<std::map<std::string, std::string>> keys = peer_keys(*order); !keys)
    return text_response(400, keys.error().message);
  order_ = std::move(*order);
  changed_.notify();
  return text_response(200, "ok");
}

Task<http::Response> EngineService::answer_report(std::string target) {
  const std::int64_t after = version_in(target);
  const Instant until = runtime_.now() + kLongestPoll;
  while (refreshed().version == after && runtime_.now() < until) {
    runtime::TimedWait wait(runtime_, changed_, runtime_.now() + kLookAgain);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) break;
  }
  http::Response response;
  response.headers.add("Content-Type", "application/json");
  response.body.push_back(Bytes(wire::encode_json(resource::encode(last_)) + "\n"));
  co_return response;
}

Task<http::Response> EngineService::answer_wish(const std::string& body) {
  const Result<WishOrder> order = parse_control<WishOrder>(body);
  if (!order) co_return text_response(400, order.error().message);
  Result<Wish> wish = parse_wish(*order);
  if (!wish) co_return text_response(400, wish.error().message);
  if (!engine_ || stopping_) co_return text_response(503, "the engine does not run");
  co_return outcome_response(co_await engine_->wish(std::move(*wish)));
}

// The longest write of a small file while `election` measures, ten times a second, on a thread: the
// only load that this makes, heartbeats are sent anyway.
Task<Result<Duration>> EngineService::measure_disk() {
  Duration longest{};
  runtime::Files& files = runtime_.files();
  const std::string path = options_.state + "/tune.probe";
  const Instant until = runtime_.now() + kMeasure;
  Result<> written;
  while (written && runtime_.now() < until) {
    const Instant began = runtime_.now();
    written = co_await runtime::blocking(runtime_, [&files, path] {
      return files.write_atomically(path, std::string(512, 'x'), 0600);
    });
    longest = std::max(longest, runtime_.now() - began);
    if (!co_await runtime::sleep(runtime_, kBetweenWrites)) break;
  }
  (void)co_await runtime::blocking(runtime_, [&files, path] { return files.remove(path); });
  if (!written) co_return fail(written.error());
  co_return longest;
}

Task<http::Response> EngineService::answer_measure() {
  if (!engine_ || stopping_) co_return text_response(503, "the engine does not run");
  if (measuring_) co_return text_response(503, "somebody else measures: try again in some seconds");
  measuring_ = true;
  Election& election = engine_->election();
  election.measure(runtime_.now());
  Measure measure;
  const Result<Duration> write = co_await measure_disk();
  measuring_ = false;
  const std::optional<Sounding> sounding = election.measured(runtime_.now());
  if (!sounding)
    co_return text_response(400, "there are no peers to measure: the election is in a store");
  if (!write) co_return text_response(503, write.error().message);
  measure.write = write->count();
  measure.pause = sounding->longest_pause.count();
  for (const PeerSounding& one : sounding->peers)
    measure.peers.push_back({.peer = one.peer,
                             .sent = signed_number(one.sent),
                             .answered = signed_number(one.answered),
                             .total = one.total.count(),
                             .longest = one.longest.count()});
  const Timing& timing = election.timing();
  measure.lease = timing.lease.count(), measure.renew = timing.renew.count();
  measure.margin = timing.margin.count(), measure.drift_ppm = timing.drift_ppm;
  http::Response response;
  response.headers.add("Content-Type", "application/json");
  response.body.push_back(Bytes(wire::encode_json(resource::encode(measure)) + "\n"));
  co_return response;
}

// ---- the engine

Result<> EngineService::begin() {
  FL_TRY(EngineHost host, options_.open_host(*order_));
  host_ = std::move(host);
  FL_TRY(std::unique_ptr<Electorate> electorate,
         open_electorate(runtime_, *order_, options_.state));
  // With a store the election itself knows when the store is away.
  const bool keep = order_->keep_without_quorum && order_->backend == "raft";
  engine_ = std::make_unique<Engine>(Engine::Parts{.runtime = runtime_,
                                                   .fence = *host_->fence,
                                                   .interfaces = *host_->interfaces,
                                                   .events = this},
                                     std::move(electorate), keep);
  running_ = order_;
  return {};
}

void EngineService::follow_order() {
  running_ = order_;
  engine_->set_keys(*peer_keys(*order_));
  std::vector<VipConfig> vips = *vip_configs(*order_);
  if (host_->follow) host_->follow(vips);
  engine_->offer(std::move(vips));
}

Task<void> EngineService::tell_farewells() {
  for (;;) {
    options_.farewells_changed(engine_->margin(), engine_->farewells());
    if (!co_await engine_->farewells_changed().wait()) co_return;
  }
}

Task<void> EngineService::run_engine() {
  runtime::Scope scope(runtime_);
  scope.spawn(host_->keep());
  scope.spawn(engine_->run());
  scope.spawn(tell_farewells());
  scope.spawn(tell_arrivals());
  co_await scope.join();
}

Task<Result<>> EngineService::run() {
  auto listener = runtime_.listen(engine_socket(options_.state), nullptr);
  if (!listener) co_return fail(std::move(listener).error());
  http::Server server(runtime_, *this, kLimits);
  runtime::Scope serving(runtime_);
  serving.spawn(server.serve(std::move(*listener)));
  Result<> outcome;
  while (!stopping_ && !engine_) {
    if (order_) {
      Result<> begun = begin();
      const std::string before = std::exchange(problem_, begun ? "" : begun.error().message);
      if (begun) break;
      if (problem_ != before)
        log::error("engine of virtual IPs does not run", {{"error", problem_}});
      order_.reset();  // the agent tells again
    }
    if (Result<> woken = co_await changed_.wait(); !woken) stopping_ = true;
  }
  if (engine_) {
    runtime::Scope scope(runtime_);
    scope.spawn(run_engine());
    follow_order();
    while (!stopping_) {
      if (Result<> woken = co_await changed_.wait(); !woken) break;
      if (stopping_ || *order_ == *running_) continue;
      if (!only_vips_differ(*running_, *order_)) break;
      follow_order();
    }
    co_await engine_->retire();
    co_await scope.close();
  }
  co_await server.stop(Duration::zero());
  co_await serving.close();
  co_return outcome;
}

// ---- reports

VipReport EngineService::report_of(const Ip& vip, const std::map<Ip, HoldReport>& held) const {
  VipReport report{.address = vip.to_string()};
  if (const auto here = held.find(vip); here != held.end()) {
    report.put_back = signed_number(here->second.put_back);
    report.conflicts = signed_number(here->second.conflicts);
    report.rival = here->second.rival ? here->second.rival->to_string() : "";
  }
  const Election& election = engine_->election();
  if (const auto row = election.table().find(vip); row != election.table().end()) {
    report.holder = row->second.node;
    report.epoch = signed_number(row->second.epoch);
  }
  report.here = engine_->holds(vip);
  if (const auto own = engine_->vips().find(vip); own != engine_->vips().end()) {
    report.interface = own->second.interface;
    report.healthy = own->second.healthy;
  }
  report.problem = engine_->problem(vip);
  if (const auto since = since_.find(vip); since != since_.end()) report.since = since->second.at;
  return report;
}

void EngineService::add_offers(const PlacementView& view, Report& report) {
  for (VipReport& vip : report.vips) {
    const Ip address = *Ip::parse(vip.address);
    for (const auto& [name, node] : view.nodes) {
      const auto offer = node.candidates.find(address);
      if (name == report.node || offer == node.candidates.end()) continue;
      vip.others.push_back(
          {.node = name, .healthy = offer->second.healthy, .priority = offer->second.priority});
    }
  }
}

Report EngineService::report() const {
  Report report{.version = last_.version,
                .node = order_ ? order_->node : "",
                .problem = problem_,
                .passages = {passages_.begin(), passages_.end()}};
  if (!engine_) return report;
  const Election& election = engine_->election();
  report.incarnation = signed_number(election.incarnation());
  report.leader = election.assigner();
  report.term = signed_number(election.term());
  report.lease = election.timing().lease.count();
  report.authenticated = engine_->authenticated();
  report.fence = host_->fence_description;
  for (const Participant& one : election.participants(runtime_.now())) {
    report.members.push_back({.name = one.name, .address = one.address});
    if (one.name == report.node)
      report.not_believed = one.problem;
    else
      report.peers.push_back(
          {.name = one.name, .address = one.address, .alive = one.alive, .problem = one.problem});
  }
  std::map<Ip, bool> known;  // those of the table and those of this node
  for (const auto& [vip, row] : election.table()) known[vip] = true;
  for (const auto& [vip, config] : engine_->vips()) known[vip] = true;
  const std::map<Ip, HoldReport> held = host_->interfaces->report();
  for (const auto& [vip, is] : known) report.vips.push_back(report_of(vip, held));
  report.knows_others = order_->backend != "raft" || report.leader == report.node;
  if (report.knows_others) add_offers(election.view(runtime_.now()), report);
  return report;
}

const Report& EngineService::refreshed() {
  Report now = report();
  for (VipReport& vip : now.vips) {
    Since& since = since_[*Ip::parse(vip.address)];
    if (since.at.empty() || since.holder != vip.holder || since.epoch != vip.epoch ||
        since.here != vip.here)
      since = {.holder = vip.holder, .epoch = vip.epoch, .here = vip.here, .at = wall_text()};
    vip.since = since.at;
  }
  if (now != last_) {
    ++now.version;
    last_ = std::move(now);
  }
  return last_;
}

void EngineService::record(Passage passage) {
  passage.number = ++passage_count_;
  passage.at = wall_text();
  passages_.push_back(std::move(passage));
  if (passages_.size() > kPassagesKept) passages_.pop_front();
  changed_.notify();
}

// The kernel notes the time of the first packet: when that is read does not matter.
Task<void> EngineService::tell_arrivals() {
  for (;;) {
    const Instant now = runtime_.now();
    const std::map<Ip, HoldReport> held = host_->interfaces->report();
    std::erase_if(awaited_, [&](const auto& one) {
      const auto& [vip, awaited] = one;
      const auto here = held.find(vip);
      if (here == held.end() || now >= awaited.until) return true;
      const HoldReport& report = here->second;
      if (!report.first_packet || !report.announced_at) return false;
      record({.vip = vip.to_string(),
              .what = "reached",
              .epoch = signed_number(awaited.epoch),
              .reach = std::max<std::int64_t>(
                  microseconds(*report.first_packet - *report.announced_at), 1)});
      return true;
    });
    if (awaited_.empty()) {
      if (!co_await changed_.wait()) co_return;
    } else {
      if (!co_await runtime::sleep(runtime_, kLookAgain)) co_return;
    }
  }
}

void EngineService::held(const TakeOver& take_over) {
  awaited_[take_over.claim.vip] = {take_over.claim.epoch, runtime_.now() + kAwaitArrivals};
  record({.vip = take_over.claim.vip.to_string(),
          .what = "held",
          .epoch = signed_number(take_over.claim.epoch),
          .elect = microseconds(take_over.granted - take_over.assigned),
          .announce = microseconds(take_over.announced - take_over.granted)});
}

void EngineService::given_up(const Claim& claim) {
  record({.vip = claim.vip.to_string(), .what = "released", .epoch = signed_number(claim.epoch)});
}

void EngineService::expired(const Claim& claim) {
  record({.vip = claim.vip.to_string(), .what = "lost", .epoch = signed_number(claim.epoch)});
}

}  // namespace fairlead::vip
