#include "tools/bench/watch_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "foundation/base/encoding.h"
#include "tools/bench/api_load.h"
#include "tools/bench/http2_client.h"

namespace fairlead::bench {
namespace {

constexpr Duration kOpening = 60s;     // for all watchers together
constexpr Duration kDelivering = 10s;  // after the last event was delivered

}  // namespace

WatchLoad::WatchLoad(runtime::Runtime& runtime, const Target& target, WatchSettings settings,
                     ObjectMaker objects)
    : runtime_(runtime),
      target_(target),
      settings_(std::move(settings)),
      selector_(*SelectorTemplate::parse(settings_.selector_template)),
      objects_(std::move(objects)),
      collection_(objects_.resource().path(settings_.namespace_name, "")),
      control_(make_http1_connection(runtime_, target_)) {
  for (std::size_t i = 0; i < settings_.writers; ++i)
    writers_.push_back(make_http1_connection(runtime_, target_));
  for (std::size_t i = 0; i < settings_.connections; ++i)
    clients_.push_back(make_http2_client(runtime_, target_));
  for (auto* times : {&sent_, &acknowledged_, &received_}) times->resize(settings_.events);
  counts_.asked_for = settings_.events;
  counts_.somebody_matches = settings_.matching != 0;
}

// Every writer has objects of its own, and every matching watcher at least one to see.
std::size_t WatchLoad::object_count() const {
  return settings_.writers * std::max<std::size_t>(1, settings_.matching);
}

// Matching watchers are numbered first; numbers from the total on are nobody's.
std::size_t WatchLoad::selector_of(std::size_t object) const {
  if (settings_.matching == 0) return settings_.watchers + object;
  return object % settings_.matching;
}

Task<Result<>> WatchLoad::prepare() {
  FL_CO_TRY(made_namespace_, co_await make_namespace(*control_, settings_.namespace_name));
  for (std::size_t i = 0; i < object_count(); ++i) {
    Json object = objects_.object(i);
    ObjectMaker::satisfy(object, selector_, selector_of(i));
    const Call call{.method = "POST", .target = collection_, .body = wire::encode_json(object)};
    FL_CO_TRY(const Answer answer, co_await control_->exchange(call));
    if (answer.status >= 300)
      co_return fail(Code::unavailable, fmt::format("create {}: the API answered {}: {}",
                                                    objects_.name(i), answer.status, answer.body));
  }
  co_return Result<>{};
}

Task<Result<std::string>> WatchLoad::list_version() {
  const Call call{.target = collection_ + "?limit=1", .want_body = true};
  FL_CO_TRY(const Answer answer, co_await control_->exchange(call));
  Result<wire::ParsedJson> list = wire::parse_json(answer.body);
  if (answer.status != 200 || !list)
    co_return fail(Code::unavailable, fmt::format("list: the API answered {}", answer.status));
  co_return std::string(wire::find_string(list->value, "metadata.resourceVersion"));
}

void WatchLoad::take_line(std::string_view line, std::size_t watcher) {
  const std::string_view text = first_string_member(line, kRoundAnnotation);
  std::uint64_t round = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), round).ec != std::errc{}) return;
  if (round == 0 || round > received_.size()) return;  // as it was created
  if (watcher >= settings_.matching) {
    ++counts_.unexpected;
    return;
  }
  Instant& received = received_[round - 1];
  if (received != Instant{}) {
    ++counts_.twice;
    return;
  }
  received = runtime_.now();
  ++counts_.delivered;
  if (counts_.delivered == settings_.events) changed_.notify();
}

Task<Result<>> WatchLoad::follow_stream(std::size_t watcher, std::string version) {
  const Call call{.target = fmt::format(
                      "{}?watch=true&resourceVersion={}&timeoutSeconds=3600&{}={}", collection_,
                      version, selector_.field ? "fieldSelector" : "labelSelector",
                      encode_percent(selector_.selector(watcher)))};
  http::Client& client = *clients_[watcher % clients_.size()];
  FL_CO_TRY(const std::unique_ptr<http::ClientStream> stream,
            co_await client.open(make_request(target_, call)));
  FL_CO_TRY(const http::ResponseHead head, co_await stream->head());
  if (head.status != 200) {
    const auto piece = co_await stream->read();
    co_return fail(Code::unavailable,
                   fmt::format("the API answered {}: {}", head.status,
                               piece && *piece ? (*piece)->view() : std::string_view{}));
  }
  ++open_watchers_;
  changed_.notify();
  std::string rest;
  for (;;) {
    FL_CO_TRY(const std::optional<Bytes> piece, co_await stream->read());
    if (!piece) co_return fail(Code::unavailable, "the server ended the watch");
    rest.append(piece->view());
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos;
         end = rest.find('\n', begin)) {
      take_line(std::string_view(rest).substr(begin, end - begin), watcher);
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
}

Task<void> WatchLoad::watch(std::size_t watcher, std::string version) {
  const Result<> ended = co_await follow_stream(watcher, std::move(version));
  if (ended.error().code == Code::cancelled) co_return;
  ++counts_.watch_errors;
  stopped_ = true;  // what is written from now on proves nothing
  if (counts_.first_failure.empty()) counts_.first_failure = ended.error().to_string();
  changed_.notify();
}

Task<Result<>> WatchLoad::wait_for_watchers() {
  const std::size_t total = settings_.watchers + settings_.matching;
  while (open_watchers_ < total && counts_.watch_errors == 0) {
    FL_CO_CHECKED(co_await changed_.wait());
  }
  if (counts_.watch_errors != 0)
    co_return fail(Code::unavailable, "watch: " + counts_.first_failure);
  co_return Result<>{};
}

Task<void> WatchLoad::write_events(std::size_t writer) {
  const std::size_t own = object_count() / settings_.writers;
  for (std::size_t turn = 0; !stopped_ && next_event_ < settings_.events; ++turn) {
    const std::uint64_t event = next_event_++;
    Instant started = runtime_.now();
    if (pace_.open_loop()) {
      started = pace_.next();
      if (!co_await runtime::sleep_until(runtime_, started)) co_return;
    }
    // The objects of a writer lie next to one another: consecutive ones are for different watchers.
    const Call call{.method = "PATCH",
                    .target = collection_ + "/" + objects_.name(writer * own + turn % own),
                    .body = ObjectMaker::patch_body(event + 1),
                    .content_type = "application/merge-patch+json"};
    sent_[event] = started;
    const Result<Answer> answer = co_await writers_[writer]->exchange(call);
    if (!answer || answer->status >= 300) {
      ++counts_.write_errors;
      if (counts_.first_failure.empty())
        counts_.first_failure = answer ? answer->body.substr(0, 400) : answer.error().to_string();
      if (!answer) (void)co_await runtime::sleep(runtime_, 50ms);
      continue;
    }
    acknowledged_[event] = runtime_.now();
    ++counts_.written;
    write_latency_.add(acknowledged_[event] - started);
  }
}

Task<void> WatchLoad::show_progress() {
  std::uint64_t written = 0;
  std::uint64_t delivered = 0;
  for (int second = 1;; ++second) {
    if (!co_await runtime::sleep(runtime_, 1s)) co_return;
    std::fprintf(stderr, "watch %3d s  written %llu/s  delivered %llu/s  watchers %zu\n", second,
                 static_cast<unsigned long long>(counts_.written - written),
                 static_cast<unsigned long long>(counts_.delivered - delivered), open_watchers_);
    written = counts_.written;
    delivered = counts_.delivered;
  }
}

// Until everything acknowledged has arrived, or nothing has for a while.
Task<void> WatchLoad::wait_for_deliveries() {
  if (settings_.matching == 0) co_return;
  std::uint64_t seen = counts_.delivered;
  Instant last = runtime_.now();
  while (counts_.delivered < counts_.written && runtime_.now() - last < kDelivering) {
    if (!co_await runtime::sleep(runtime_, 5ms)) co_return;
    if (counts_.delivered != seen) last = runtime_.now();
    seen = counts_.delivered;
  }
}

void WatchLoad::collect() {
  for (std::size_t i = 0; i < received_.size(); ++i) {
    if (acknowledged_[i] == Instant{} || received_[i] == Instant{}) continue;
    delivery_.add(received_[i] - acknowledged_[i]);  // before its acknowledgement counts as 0
    end_to_end_.add(received_[i] - sent_[i]);
  }
}

Task<Result<>> WatchLoad::measure() {
  FL_CO_TRY(const std::string version, co_await list_version());
  runtime::Scope watchers(runtime_);
  runtime::Scope writers(runtime_);
  runtime::Scope progress(runtime_);
  for (std::size_t i = 0; i < settings_.watchers + settings_.matching; ++i)
    watchers.spawn(watch(i, version));
  Task<Result<>> opening = wait_for_watchers();
  Result<> opened = co_await runtime::with_timeout(runtime_, kOpening, std::move(opening));
  if (opened) {
    ProcessFigures before;
    if (settings_.server_pid != 0) {
      Result<ProcessFigures> figures = observe_process(runtime_.files(), settings_.server_pid);
      if (figures) before = *figures;
    }
    const Instant start = runtime_.now();
    pace_ = Pace(start, settings_.rate);
    progress.spawn(show_progress());
    for (std::size_t i = 0; i < settings_.writers; ++i) writers.spawn(write_events(i));
    co_await writers.join();
    co_await wait_for_deliveries();
    took_ = runtime_.now() - start;
    if (settings_.server_pid != 0) {
      Result<ProcessFigures> figures = observe_process(runtime_.files(), settings_.server_pid);
      if (figures) {
        server_cpu_ = figures->cpu - before.cpu;
        server_resident_ = figures->resident;
      }
    }
    collect();
  }
  co_await progress.close();
  co_await watchers.close();
  for (const auto& client : clients_) client->close();
  co_return opened;
}

Task<Result<>> WatchLoad::clean_up() {
  if (settings_.keep) co_return Result<>{};
  for (std::size_t i = 0; i < object_count(); ++i) {
    const Call call{.method = "DELETE", .target = collection_ + "/" + objects_.name(i)};
    FL_CO_CHECKED(co_await control_->exchange(call));
  }
  if (!made_namespace_) co_return Result<>{};
  co_return co_await remove_namespace(*control_, settings_.namespace_name);
}

std::vector<std::string> WatchCounts::problems() const {
  std::vector<std::string> problems;
  if (write_errors != 0 || watch_errors != 0)
    problems.push_back(fmt::format("{} writes and {} watches failed, the first: {}", write_errors,
                                   watch_errors, first_failure));
  if (written + write_errors < asked_for)
    problems.push_back(fmt::format("only {} of {} events were written", written, asked_for));
  if (somebody_matches && delivered < written)
    problems.push_back(fmt::format("{} events never arrived", written - delivered));
  if (twice != 0) problems.push_back(fmt::format("{} events arrived twice", twice));
  if (unexpected != 0)
    problems.push_back(fmt::format("{} events at watchers they do not match", unexpected));
  return problems;
}

std::string WatchLoad::text() const {
  const double seconds = std::max(seconds_of(took_), 1e-9);
  std::string text = fmt::format(
      "watch {}: {} watchers that match and {} that do not, over {} connections\n"
      "  {} events written ({}/s), {} delivered ({}/s) in {:.1f} s\n"
      "  write     {}\n",
      settings_.kind, settings_.matching, settings_.watchers, settings_.connections,
      counts_.written, figure(static_cast<double>(counts_.written) / seconds), counts_.delivered,
      figure(static_cast<double>(counts_.delivered) / seconds), seconds,
      percentiles_text(write_latency_));
  if (delivery_.count() != 0)
    text += fmt::format("  delivery  {}  (after the write was acknowledged)\n  whole     {}\n",
                        percentiles_text(delivery_), percentiles_text(end_to_end_));
  if (settings_.server_pid != 0 && counts_.written != 0)
    text += fmt::format("  server    {:.1f} us CPU per event, {:.1f} MB resident\n",
                        1e6 * seconds_of(server_cpu_) / static_cast<double>(counts_.written),
                        static_cast<double>(server_resident_) / 1e6);
  for (const std::string& problem : problems()) text += "  error     " + problem + "\n";
  return text;
}

Json WatchLoad::json() const {
  const double seconds = std::max(seconds_of(took_), 1e-9);
  const auto events = static_cast<double>(std::max<std::uint64_t>(1, counts_.written));
  JsonObject json{{"kind", settings_.kind},
                  {"watchers", settings_.watchers},
                  {"matching", settings_.matching},
                  {"connections", settings_.connections},
                  {"seconds", seconds},
                  {"written", counts_.written},
                  {"writtenPerSecond", static_cast<double>(counts_.written) / seconds},
                  {"delivered", counts_.delivered},
                  {"deliveredPerSecond", static_cast<double>(counts_.delivered) / seconds},
                  {"unexpected", counts_.unexpected},
                  {"writeErrors", counts_.write_errors},
                  {"watchErrors", counts_.watch_errors},
                  {"writeMilliseconds", percentiles_json(write_latency_)},
                  {"deliveryMilliseconds", percentiles_json(delivery_)},
                  {"endToEndMilliseconds", percentiles_json(end_to_end_)}};
  if (settings_.server_pid != 0) {
    json["serverCpuSeconds"] = seconds_of(server_cpu_);
    json["serverCpuMicrosecondsPerEvent"] = 1e6 * seconds_of(server_cpu_) / events;
    json["serverResidentBytes"] = server_resident_;
  }
  return json;
}

}  // namespace fairlead::bench
