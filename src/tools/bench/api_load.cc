#include "tools/bench/api_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace fairlead::bench {
namespace {

constexpr Duration kStall = 30s;     // without any answer: the load gives up
constexpr int kFailuresInARow = 20;  // of one connection, before it gives up
constexpr Duration kPauseAfterFailure = 50ms;
constexpr std::string_view kMixedListLimit = "?limit=100";

Error refusal(std::string_view what, const Answer& answer) {
  return {Code::unavailable, fmt::format("{}: the API answered {}: {}", what, answer.status,
                                         std::string_view(answer.body).substr(0, 400))};
}

}  // namespace

Task<Result<bool>> make_namespace(Connection& connection, std::string name) {
  const Call call{
      .method = "POST",
      .target = "/api/v1/namespaces",
      .body = wire::encode_json(JsonObject{
          {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name}}}})};
  FL_CO_TRY(const Answer answer, co_await connection.exchange(call));
  if (answer.status == 409) co_return false;
  if (answer.status >= 300) co_return fail(refusal("namespace " + name, answer));
  co_return true;
}

Task<Result<>> remove_namespace(Connection& connection, std::string name) {
  const Call call{.method = "DELETE", .target = "/api/v1/namespaces/" + name};
  FL_CO_TRY(const Answer answer, co_await connection.exchange(call));
  if (answer.status >= 300 && answer.status != 404 && answer.status != 409)
    co_return fail(refusal("delete namespace " + name, answer));
  co_return Result<>{};
}

// One run through an agenda by all connections.
struct ApiLoad::Phase {
  Agenda agenda;
  Pace pace;
  Instant end;
  std::string title;
  Tally tally;
  Tally second{};  // since the last line of progress
  std::size_t working = 0;
  Instant last_answer{};
};

ApiLoad::ApiLoad(runtime::Runtime& runtime, const Target& target, ApiSettings settings,
                 ObjectMaker objects)
    : runtime_(runtime),
      target_(target),
      settings_(std::move(settings)),
      objects_(std::move(objects)),
      collection_(objects_.resource().path(settings_.namespace_name, "")) {
  for (std::size_t i = 0; i < settings_.connections; ++i) {
    connections_.push_back(settings_.http2 ? make_http2_connection(runtime_, target_)
                                           : make_http1_connection(runtime_, target_));
  }
}

Call ApiLoad::make_call(Operation operation) {
  const auto one = [&] { return collection_ + "/" + objects_.name(operation.object); };
  const std::string_view version =
      operation.object < versions_.size() ? versions_[operation.object] : std::string_view{};
  switch (operation.verb) {
    case Verb::create:
      return {.method = "POST",
              .target = collection_,
              .body = wire::encode_json(objects_.object(operation.object)),
              .want_body = operation.object < versions_.size()};
    case Verb::patch:
      return {.method = "PATCH",
              .target = one(),
              .body = ObjectMaker::patch_body(++round_),
              .content_type = "application/merge-patch+json",
              .want_body = true};
    case Verb::update:
      return {.method = "PUT",
              .target = one(),
              .body = objects_.update_body(operation.object, ++round_, version),
              .want_body = true};
    case Verb::remove:
      return {.method = "DELETE", .target = one()};
    case Verb::list:
      return {.target =
                  collection_ + std::string(settings_.verb == Verb::mixed ? kMixedListLimit : "")};
    case Verb::get:
    case Verb::mixed:
      break;
  }
  return {.target = one()};
}

// What a good answer cannot be shorter than: a get shows an object, a list all of them.
std::size_t ApiLoad::least_bytes(Verb verb) const {
  if (verb == Verb::get) return settings_.size;
  if (verb == Verb::list && settings_.verb == Verb::list) return settings_.objects * settings_.size;
  return 0;
}

Task<Result<>> ApiLoad::perform(Phase& phase, std::size_t worker, Operation operation,
                                Instant started) {
  const Call call = make_call(operation);
  Result<Answer> answer = co_await connections_[worker]->exchange(call);
  const Instant now = runtime_.now();
  phase.last_answer = now;
  if (!answer) {
    phase.tally.failed(answer.error().to_string());
    phase.second.failed("");
    co_return fail(std::move(answer).error());
  }
  phase.tally.answered(operation.verb, answer->status, call.body.size(), answer->bytes,
                       now - started);
  if (answer->status < 300 && answer->bytes < least_bytes(operation.verb))
    phase.tally.wrong(fmt::format("{} with less than was stored", verb_name(operation.verb)));
  phase.second.answered(operation.verb, answer->status, 0, 0, now - started);
  if (call.want_body && operation.object < versions_.size()) {
    std::string& version = versions_[operation.object];
    if (answer->status < 300) {
      version = first_string_member(answer->body, "resourceVersion");
    } else if (answer->status == 409) {
      const Call again{.target = collection_ + "/" + objects_.name(operation.object),
                       .want_body = true};
      const Result<Answer> current = co_await connections_[worker]->exchange(again);
      if (current) version = first_string_member(current->body, "resourceVersion");
    }
  }
  co_return Result<>{};
}

Task<void> ApiLoad::work(Phase& phase, std::size_t worker) {
  int failures = 0;
  while (!stopped_ && failures < kFailuresInARow) {
    Instant started = runtime_.now();
    if (started >= phase.end) break;
    const std::optional<Operation> operation = phase.agenda.next(worker);
    if (!operation) break;
    if (phase.pace.open_loop()) {
      const Instant due = phase.pace.next();
      if (due >= phase.end) break;
      if (due > started && !co_await runtime::sleep_until(runtime_, due)) break;
      started = due;
    }
    const Result<> performed = co_await perform(phase, worker, *operation, started);
    if (performed) {
      failures = 0;
    } else {
      ++failures;
      (void)co_await runtime::sleep(runtime_, kPauseAfterFailure);
    }
  }
  --phase.working;
}

// A line of progress every second; ends a load that gets no answers any more.
Task<void> ApiLoad::follow(Phase& phase) {
  Instant last = runtime_.now();
  for (int second = 1; phase.working != 0; ++second) {
    if (!co_await runtime::sleep_until(runtime_, last + 1s)) co_return;
    const Instant now = runtime_.now();
    const double share = seconds_of(now - last);
    std::fprintf(stderr, "%s %3d s  %s requests/s  p50 %.2f ms  p99 %.2f ms  errors %llu\n",
                 phase.title.c_str(), second,
                 figure(static_cast<double>(phase.second.requests()) / share).c_str(),
                 1e3 * seconds_of(phase.second.latency().percentile(0.5)),
                 1e3 * seconds_of(phase.second.latency().percentile(0.99)),
                 static_cast<unsigned long long>(phase.second.errors()));
    phase.second.clear();
    last = now;
    if (now - phase.last_answer > kStall) {
      std::fprintf(stderr, "no answer for 30 seconds: giving up\n");
      for (const auto& connection : connections_) connection->close();
      co_return;
    }
  }
}

Task<Result<>> ApiLoad::run_phase(ApiSettings settings, std::string_view title, bool tolerant) {
  const Instant start = runtime_.now();
  Phase phase{.agenda = Agenda(settings),
              .pace = Pace(start, settings.rate),
              .end = settings.count ? Instant::max() : start + settings.duration,
              .title = std::string(title)};
  phase.last_answer = start;
  phase.working = connections_.size();
  runtime::Scope workers(runtime_);
  runtime::Scope follower(runtime_);
  for (std::size_t i = 0; i < connections_.size(); ++i) workers.spawn(work(phase, i));
  follower.spawn(follow(phase));
  co_await workers.join();
  took_ = runtime_.now() - start;
  co_await follower.close();
  object_end_ = std::max(object_end_, phase.agenda.end());
  total_ = phase.tally;
  if (total_.requests() == 0 && total_.errors() != 0)
    co_return fail(Code::unavailable, total_.error_counts().begin()->first);
  if (!tolerant && total_.errors() != 0)
    co_return fail(Code::unavailable,
                   fmt::format("{} of {} requests failed, first {}", total_.errors(),
                               total_.requests(), total_.error_counts().begin()->first));
  co_return Result<>{};
}

Task<Result<>> ApiLoad::prepare() {
  FL_CO_TRY(made_namespace_, co_await make_namespace(*connections_[0], settings_.namespace_name));
  if (settings_.objects == 0) co_return Result<>{};
  versions_.resize(settings_.objects);
  ApiSettings creating = settings_;
  creating.verb = Verb::create;
  creating.count = std::exchange(creating.objects, 0);
  creating.rate = 0;
  co_return co_await run_phase(std::move(creating), "prepare", false);
}

Task<Result<>> ApiLoad::measure() {
  co_return co_await run_phase(settings_, verb_name(settings_.verb), true);
}

Task<Result<>> ApiLoad::clean_up() {
  if (settings_.keep) co_return Result<>{};
  const Tally measured = total_;
  const Duration took = took_;
  stopped_ = false;
  ApiSettings removing = settings_;
  removing.verb = Verb::remove;
  removing.objects = object_end_;
  removing.count = std::numeric_limits<std::uint64_t>::max();
  removing.rate = 0;
  Result<> removed = co_await run_phase(std::move(removing), "clean up", true);
  total_ = measured;
  took_ = took;
  FL_CO_CHECKED(std::move(removed));
  if (!made_namespace_) co_return Result<>{};
  co_return co_await remove_namespace(*connections_[0], settings_.namespace_name);
}

std::string ApiLoad::text() const {
  return fmt::format("{} {}: {} requests in {:.1f} s over {} connections ({})\n{}",
                     verb_name(settings_.verb), settings_.kind, total_.requests(),
                     seconds_of(took_), settings_.connections,
                     settings_.http2 ? "HTTP/2" : "HTTP/1.1", total_.text(took_));
}

Json ApiLoad::json() const {
  Json json = total_.json(took_);
  JsonObject& object = json.as_object();
  object["verb"] = verb_name(settings_.verb);
  object["kind"] = settings_.kind;
  object["connections"] = settings_.connections;
  object["protocol"] = settings_.http2 ? "HTTP/2" : "HTTP/1.1";
  object["objects"] = settings_.objects;
  object["size"] = settings_.size;
  if (settings_.rate > 0) object["rate"] = settings_.rate;
  return json;
}

}  // namespace fairlead::bench
