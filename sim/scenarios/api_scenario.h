// What scenarios around the real API server share: the server itself on any store, clients that
// write and say what they were told, informers that say what they saw, and the truth to hold them
// to.
//
//   ApiStory& story = world.own<ApiStory>();
//   server.start([…](Machine& m) { … co_await serve_api(m, store, {}, serving); });
//   writer.start([&story](Machine& m) { return write_keys(m, story, {.server = "server"}); });
//   … world.run_for(30s) …
//   Truth truth(story.history); for (every change of the store) truth.happened(…);
//   story.durability.check(truth.contents()); truth.check(story.answers); story.history.check();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/client/reflector.h"
#include "api/client/rest_client.h"
#include "api/store/store.h"
#include "api/watchcache/kind_cache.h"
#include "sim/checkers/checkers.h"
#include "sim/world/machine.h"

namespace fairlead::sim {

// What a writer was told of one write whose fate it knows.
struct ApiAnswer {
  std::string key;
  std::string value;          // of this one write only
  std::uint64_t version = 0;  // as acknowledged; 0: refused
  // A deletion was acknowledged of the object that had `version`, or of a later one.
  bool erased = false;
};

// What the programs tell the judges; kept across crashes of the machines.
struct ApiStory {
  DurabilityChecker durability;
  HistoryChecker history;
  RelistChecker relists;
  std::vector<ApiAnswer> answers;
  bool writing = true;
  std::uint64_t newest = 0;  // the highest version that was acknowledged to anybody
  Violations stale_reads;
  std::size_t reads = 0;
  bool healed = false;  // nothing is wrong any more: what fails now has no excuse
  Violations failed_without_reason;
  std::size_t acknowledged_when_healed = 0;
  std::size_t acknowledged_deletions = 0;
};

struct ApiParts {
  watchcache::HistoryLimits history;
  bool networks = false;             // with the controllers of virtual networks
  RelistChecker* relists = nullptr;  // is told when the server starts
};

// API server, watch cache and garbage collector on that store, on port 80 of the machine; calls
// `serving` once requests are taken. Runs until the machine stops.
Task<void> serve_api(Machine& machine, store::Store& store, ApiParts parts,
                     std::function<void()> serving);

std::unique_ptr<client::RestClient> connect(Machine& machine, const std::string& server);
// The way to the first of the servers that answers, with the rights of that node (n0 to n9 are
// known).
struct Access {
  identity::ClientConfig config;
  client::RestOptions rest;
};
Access node_access(const std::string& node, const std::vector<std::string>& servers);
// As an administrator, likewise.
std::unique_ptr<client::RestClient> connect_admin(Machine& machine,
                                                  const std::vector<std::string>& servers);

// Creates, replaces and deletes a few ConfigMaps while the story says so.
struct Writing {
  std::string server;
  std::string keys;  // names are KEYS-0, KEYS-1, …; writers that share them are rivals
};
Task<void> write_keys(Machine& machine, ApiStory& story, Writing writing);

// Lists again and again: a list shows everything that was acknowledged, by any server, before.
Task<void> read_freshly(Machine& machine, ApiStory& story, std::string server);

// data.value of a ConfigMap: what makes one version of it differ from another.
std::string value_of(const Json& object);

// Tells the checker everything that a reflector tells it, and keeps the cache it stands for.
class RecordingSink final : public client::ObjectSink {
 public:
  using Value = std::function<std::string(const Json& object)>;
  explicit RecordingSink(HistoryChecker::Watcher& watcher, Value value = value_of)
      : watcher_(watcher), value_(std::move(value)) {}
  RecordingSink(HistoryChecker::Watcher& watcher, RelistChecker& relists)
      : watcher_(watcher), value_(value_of), relists_(&relists) {}
  // A new process, which has to list.
  void started() { version_.reset(); }
  void replace(std::vector<Json> objects, const std::string& version) override;
  void put(const Json& object) override;
  void erase(const Json& last_state) override;
  void reached(const std::string& version) override;
  void rest() { watcher_.at_rest(contents_); }
  const HistoryChecker::Contents& contents() const { return contents_; }
  std::size_t lists() const { return lists_; }

 private:
  HistoryChecker::Watcher& watcher_;
  Value value_;
  RelistChecker* relists_ = nullptr;
  std::optional<std::uint64_t> version_;  // of the last list, event or bookmark of this process
  HistoryChecker::Contents contents_;
  std::size_t lists_ = 0;
};

// Follows every ConfigMap.
Task<void> inform(Machine& machine, RecordingSink& sink, std::string server);

// The changes of ConfigMaps, told one by one from the store itself.
class Truth {
 public:
  static constexpr std::string_view kPrefix = "core/configmaps/";
  using Contents = std::map<std::string, DurabilityChecker::Stored>;

  explicit Truth(HistoryChecker& history) : history_(history) {}
  // Other keys than those of ConfigMaps are passed over. Without `stored`: erased.
  void happened(std::string_view key, store::Place place, std::optional<std::string_view> stored);
  const Contents& contents() const { return contents_; }
  // What was acknowledged was made, as that version, and what was refused was not; also of writes
  // that later ones have covered up.
  Violations check(const std::vector<ApiAnswer>& answers) const;

 private:
  HistoryChecker& history_;
  Contents contents_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> made_;  // key and value to version
  std::map<std::string, std::uint64_t> last_erased_;                   // key to version
};

}  // namespace fairlead::sim
