#include "sim/scenarios/api_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/apiserver/api_server.h"
#include "api/apiserver/cluster_defaults.h"
#include "api/controllers/garbage_collector.h"
#include "api/controllers/node_lifecycle.h"
#include "api/watchcache/watch_cache.h"
#include "features/networks/ipam/virtual_networks.h"
#include "features/networks/kinds/test_catalog.h"

namespace fairlead::sim {
namespace {

constexpr std::string_view kToken = "a-token-of-the-virtual-world";
constexpr unsigned kKeys = 4;
const client::ResourceName kConfigMaps{"", "v1", "configmaps", true};

std::string node_token(const std::string& node) { return "a-token-of-" + node; }

identity::TokenTable known_tokens() {
  identity::TokenTable tokens;
  tokens.add(kToken, std::make_shared<identity::User>(identity::User{
                         .name = "admin", .groups = {std::string(identity::kMastersGroup)}}));
  for (int i = 0; i < 10; ++i) {
    const std::string node = fmt::format("n{}", i);
    tokens.add(node_token(node), std::make_shared<identity::User>(identity::node_user(node)));
  }
  return tokens;
}

Task<void> follow(watchcache::WatchCache& cache) { (void)co_await cache.run(); }

std::uint64_t version_of(const Json& object) {
  return std::stoull(std::string(wire::find_string(object, "metadata.resourceVersion")));
}

Json config_map(const std::string& name, const std::string& value) {
  return JsonObject{{"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                    {"data", JsonObject{{"value", value}}}};
}

std::string key_of(const Json& object) {
  return fmt::format("{}/{}", wire::find_string(object, "metadata.namespace"),
                     wire::find_string(object, "metadata.name"));
}

Access access_with(std::string token, const std::vector<std::string>& servers) {
  Access access{
      .config = {.server = "http://" + servers.front() + ":80", .token = std::move(token)},
      .rest = {.request_time = 8s, .http2_without_tls = true}};
  for (std::size_t i = 1; i < servers.size(); ++i)
    access.rest.endpoints.push_back({.host = servers[i], .port = 80});
  return access;
}

// A write whose answer never came, or that says it may have happened, stays unknown to the checker.
bool surely_refused(const Error& error) {
  return error.code == Code::conflict || error.code == Code::already_exists ||
         error.code == Code::not_found || error.code == Code::invalid;
}

// Rivals may be in the way at any time; everything else needs a reason.
void note_outcome(ApiStory& story, bool healed, const std::string& what, const Error* error) {
  if (!error && healed) ++story.acknowledged_when_healed;
  if (error && healed && !surely_refused(*error))
    story.failed_without_reason.push_back(what +
                                          " failed when nothing was wrong: " + error->to_string());
}

// One write of a key: created, replaced or deleted, by what the server has.
Task<void> write_once(client::RestClient& api, ApiStory& story, std::string name, std::string value,
                      bool erase) {
  const bool healed = story.healed;
  const Result<Json> current = co_await api.get(kConfigMaps, "default", name);
  if (!current && current.error().code != Code::not_found) {
    note_outcome(story, healed, "get " + name, &current.error());
    co_return;
  }
  if (erase && current) {
    const auto operation = story.durability.attempt("default/" + name, std::nullopt);
    const Result<> removed = co_await api.remove(kConfigMaps, "default", name);
    // A deletion's answer carries no version. To the checker of durability it stays unknown unless
    // it was refused; that it was carried out, later than what was there before, Truth checks.
    if (!removed && surely_refused(removed.error())) story.durability.refused(operation);
    if (removed) {
      ++story.acknowledged_deletions;
      story.answers.push_back(
          {.key = "default/" + name, .value = "", .version = version_of(*current), .erased = true});
    }
    note_outcome(story, healed, "delete " + name, removed ? nullptr : &removed.error());
    co_return;
  }
  const auto operation = story.durability.attempt("default/" + name, value);
  Result<Json> written;
  if (current) {
    Json object = *current;
    object.at("data").get_object()["value"] = value;
    written = co_await api.update(kConfigMaps, std::move(object));
  } else {
    written = co_await api.create(kConfigMaps, "default", config_map(name, value));
  }
  if (written) {
    const std::uint64_t version = version_of(*written);
    story.durability.acknowledged(operation, version);
    story.newest = std::max(story.newest, version);
    story.answers.push_back({.key = "default/" + name, .value = value, .version = version});
  } else if (surely_refused(written.error())) {
    story.durability.refused(operation);
    story.answers.push_back({.key = "default/" + name, .value = value});
  }
  note_outcome(story, healed, "write " + name, written ? nullptr : &written.error());
}

}  // namespace

std::string value_of(const Json& object) {
  return std::string(wire::find_string(object, "data.value"));
}

Task<void> serve_api(Machine& machine, store::Store& store, ApiParts parts,
                     std::function<void()> serving) {
  const resource::Catalog& catalog = networks::test_catalog();
  metrics::Registry metrics;
  watchcache::WatchCache cache(machine, store, catalog, parts.history);
  apiserver::NodeIndex nodes(catalog, cache);
  std::vector<std::shared_ptr<identity::Authenticator>> members{
      std::make_shared<identity::TokenAuthenticator>(known_tokens())};
  identity::UnionAuthenticator authenticator(std::move(members), false);
  identity::RoleAuthorizer authorizer(catalog, &nodes);
  apiserver::ApiServer api({.runtime = machine,
                            .store = store,
                            .cache = cache,
                            .catalog = catalog,
                            .nodes = nodes,
                            .authenticator = authenticator,
                            .authorizer = authorizer,
                            .metrics = metrics});
  controllers::ServerEvents events(machine, catalog, api.writer(), metrics);
  const std::unique_ptr<control::EventRecorder> node_events =
      events.recorder("fairlead-node-lifecycle");
  std::optional<ipam::VirtualNetworks> networks;
  std::optional<controllers::NodeLifecycle> lifecycle;
  if (parts.networks) {
    const controllers::ServerFeatureParts feature_parts{machine,      catalog, cache,
                                                        api.writer(), events,  metrics};
    networks.emplace(feature_parts);
    lifecycle.emplace(machine, catalog, cache, api.writer(), *node_events, metrics);
  }
  controllers::GarbageCollector garbage(machine, catalog, cache, api.writer());
  http::Server server(machine, api);
  runtime::Scope scope(machine);
  scope.spawn(follow(cache));
  const Result<> ready = co_await apiserver::ensure_defaults(machine, cache, catalog, api.writer());
  if (!ready) co_return;
  scope.spawn(garbage.run());
  if (networks) scope.spawn(networks->run());
  if (lifecycle) scope.spawn(lifecycle->run());
  scope.spawn(node_events->run());
  auto listener = machine.listen({.host = "0.0.0.0", .port = 80}, nullptr);
  CHECK(listener.has_value());
  scope.spawn(server.serve(std::move(*listener)));
  if (parts.relists) parts.relists->server_started(store::Place::end_of(cache.revision()).number());
  serving();
  co_await scope.join();
}

// Patient enough to hear from the server when its store gives up (5 s): that, too, must be true.
std::unique_ptr<client::RestClient> connect(Machine& machine, const std::string& server) {
  auto opened = client::RestClient::open(
      machine, {.server = "http://" + server + ":80", .token = std::string(kToken)},
      {.request_time = 8s, .http2_without_tls = true});
  CHECK(opened.has_value());
  return std::move(*opened);
}

Access node_access(const std::string& node, const std::vector<std::string>& servers) {
  return access_with(node_token(node), servers);
}

std::unique_ptr<client::RestClient> connect_admin(Machine& machine,
                                                  const std::vector<std::string>& servers) {
  Access access = access_with(std::string(kToken), servers);
  auto opened = client::RestClient::open(machine, std::move(access.config), std::move(access.rest));
  CHECK(opened.has_value());
  return std::move(*opened);
}

Task<void> write_keys(Machine& machine, ApiStory& story, Writing writing) {
  const std::unique_ptr<client::RestClient> api = connect(machine, writing.server);
  for (unsigned i = 0; story.writing; ++i) {
    const std::string name = fmt::format("{}-{}", writing.keys, i % kKeys);
    const std::string value = fmt::format("{}-{}-{}", machine.name(), machine.boot(), i);
    co_await write_once(*api, story, name, value, i % 7 == 6);
    const Result<> slept = co_await runtime::sleep(machine, 150ms);
    if (!slept) co_return;
  }
}

Task<void> read_freshly(Machine& machine, ApiStory& story, std::string server) {
  const std::unique_ptr<client::RestClient> api = connect(machine, server);
  while (story.writing) {
    const std::uint64_t newest = story.newest;
    const Result<client::ListResult> listed = co_await api->list(kConfigMaps, {});
    if (listed) {
      ++story.reads;
      if (std::stoull(listed->resource_version) < newest)
        story.stale_reads.push_back(fmt::format("{} listed at {} when {} was acknowledged", server,
                                                listed->resource_version, newest));
    }
    const Duration pause = 20ms + Duration(1ms) * (machine.random() % 160);
    const Result<> slept = co_await runtime::sleep(machine, pause);
    if (!slept) co_return;
  }
}

void RecordingSink::replace(std::vector<Json> objects, const std::string& version) {
  ++lists_;
  const std::uint64_t number = std::stoull(version);
  if (relists_ && version_) relists_->relisted(watcher_.name(), *version_, number);
  version_ = number;
  contents_.clear();
  for (const Json& object : objects) contents_[key_of(object)] = value_(object);
  watcher_.listed(number, contents_);
  watcher_.watching(number);
}

void RecordingSink::reached(const std::string& version) {
  version_ = std::stoull(version);
  watcher_.bookmark(*version_);
}

void RecordingSink::put(const Json& object) {
  version_ = version_of(object);
  contents_[key_of(object)] = value_(object);
  watcher_.saw({*version_, key_of(object), value_(object)});
}

void RecordingSink::erase(const Json& last_state) {
  version_ = version_of(last_state);
  contents_.erase(key_of(last_state));
  watcher_.saw({*version_, key_of(last_state), std::nullopt});
}

Task<void> inform(Machine& machine, RecordingSink& sink, std::string server) {
  sink.started();
  const std::unique_ptr<client::RestClient> api = connect(machine, server);
  client::Reflector reflector(machine, *api, {.resource = kConfigMaps, .page = 3}, sink);
  co_await reflector.run();
}

void Truth::happened(std::string_view key, store::Place place,
                     std::optional<std::string_view> stored) {
  if (!key.starts_with(kPrefix)) return;
  key.remove_prefix(kPrefix.size());
  HistoryEvent event{place.number(), std::string(key), std::nullopt};
  if (stored) {
    const resource::Kind& kind = *networks::test_catalog().find("", "v1", "configmaps");
    const auto object = watchcache::decode_stored(kind, *stored, place);
    CHECK(object.has_value());
    event.value = value_of((*object)->decode());
    contents_[event.key] = {event.version, *event.value};
    made_[{event.key, *event.value}] = event.version;
  } else {
    contents_.erase(event.key);
    last_erased_[event.key] = event.version;
  }
  history_.happened(std::move(event));
}

Violations Truth::check(const std::vector<ApiAnswer>& answers) const {
  Violations violations;
  for (const ApiAnswer& answer : answers) {
    if (answer.erased) {
      const auto erased = last_erased_.find(answer.key);
      if (erased == last_erased_.end() || erased->second <= answer.version)
        violations.push_back(
            fmt::format("deletion of {} after version {} acknowledged and not made", answer.key,
                        answer.version));
      continue;
    }
    const auto found = made_.find({answer.key, answer.value});
    const std::uint64_t made = found == made_.end() ? 0 : found->second;
    if (made == answer.version) continue;
    violations.push_back(fmt::format("{}: {} = {}, told {}, made {}",
                                     answer.version == 0 ? "refused and made"
                                     : made == 0         ? "acknowledged and not made"
                                                         : "acknowledged as another version",
                                     answer.key, answer.value, answer.version, made));
  }
  return violations;
}

}  // namespace fairlead::sim
