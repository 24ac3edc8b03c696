#include "sim/checkers/checkers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::sim {
namespace {

std::string describe(const HistoryEvent& event) {
  return fmt::format("{} {} at {}", event.value ? "value of" : "erasure of", event.key,
                     event.version);
}

// The first differences between what should be and what is.
void compare_contents(const HistoryChecker::Contents& expected,
                      const HistoryChecker::Contents& actual, const std::string& where,
                      Violations& violations) {
  constexpr std::size_t kShown = 5;
  const std::size_t limit = violations.size() + kShown;
  for (const auto& [key, value] : expected) {
    if (violations.size() >= limit) return;
    const auto found = actual.find(key);
    if (found == actual.end()) {
      violations.push_back(where + ": " + key + " is missing");
    } else if (found->second != value) {
      violations.push_back(where + ": " + key + " has a wrong value");
    }
  }
  for (const auto& [key, value] : actual) {
    if (violations.size() >= limit) return;
    if (!expected.contains(key)) violations.push_back(where + ": " + key + " should not exist");
  }
}

}  // namespace

Result<> as_result(const Violations& violations) {
  if (violations.empty()) return {};
  std::string text;
  for (const std::string& violation : violations) {
    if (!text.empty()) text += "\n";
    text += violation;
  }
  return fail(Code::internal, std::move(text));
}

void HistoryChecker::Watcher::listed(std::uint64_t version, Contents contents) {
  steps_.push_back({Step::Kind::list, version, {}, std::move(contents)});
}
void HistoryChecker::Watcher::watching(std::uint64_t after) {
  steps_.push_back({Step::Kind::watch, after, {}, {}});
}
void HistoryChecker::Watcher::saw(HistoryEvent event) {
  steps_.push_back({Step::Kind::event, event.version, std::move(event), {}});
}
void HistoryChecker::Watcher::bookmark(std::uint64_t version) {
  steps_.push_back({Step::Kind::bookmark, version, {}, {}});
}
void HistoryChecker::Watcher::gone() { steps_.push_back({Step::Kind::gone, 0, {}, {}}); }
void HistoryChecker::Watcher::at_rest(Contents contents) {
  steps_.push_back({Step::Kind::rest, 0, {}, std::move(contents)});
}

void HistoryChecker::happened(HistoryEvent event) { truth_.push_back(std::move(event)); }

HistoryChecker::Watcher& HistoryChecker::watcher(std::string name, Filter filter) {
  watchers_.emplace_back();
  watchers_.back().name_ = std::move(name);
  watchers_.back().filter_ = std::move(filter);
  return watchers_.back();
}

// Walks one watcher's steps beside the part of the true history that it should have seen.
class HistoryChecker::Replay {
 public:
  Replay(const std::vector<HistoryEvent>& truth, const Watcher& watcher, Violations& violations)
      : watcher_(watcher), violations_(violations) {
    for (const HistoryEvent& event : truth)
      if (!watcher.filter_ || watcher.filter_(event.key)) truth_.push_back(&event);
  }

  void run() {
    for (const Watcher::Step& step : watcher_.steps_) {
      switch (step.kind) {
        case Watcher::Step::Kind::list:
          list(step);
          break;
        case Watcher::Step::Kind::watch:
          watch(step.version);
          break;
        case Watcher::Step::Kind::event:
          event(step.event);
          break;
        case Watcher::Step::Kind::bookmark:
          bookmark(step.version);
          break;
        case Watcher::Step::Kind::gone:
          needs_list_ = true;
          break;
        case Watcher::Step::Kind::rest:
          rest(step.contents);
          break;
      }
      if (!violations_.empty()) return;  // what follows a violation follows from it
    }
  }

 private:
  std::string where() const { return "watcher " + watcher_.name(); }
  void violated(std::string what) { violations_.push_back(where() + ": " + std::move(what)); }

  // The place in history after everything up to `version`.
  std::size_t after(std::uint64_t version) const {
    const auto found = std::ranges::upper_bound(
        truth_, version, {}, [](const HistoryEvent* event) { return event->version; });
    return static_cast<std::size_t>(found - truth_.begin());
  }

  Contents contents_at(std::size_t end) const {
    Contents contents;
    for (std::size_t i = 0; i < end; ++i) {
      if (truth_[i]->value) {
        contents[truth_[i]->key] = *truth_[i]->value;
      } else {
        contents.erase(truth_[i]->key);
      }
    }
    return contents;
  }

  void list(const Watcher::Step& step) {
    if (step.version < seen_) {
      violated(fmt::format("listed version {} after having seen {}", step.version, seen_));
    }
    needs_list_ = false;
    next_ = after(step.version);
    seen_ = step.version;
    compare_contents(contents_at(next_), step.contents,
                     fmt::format("{}: list at {}", where(), step.version), violations_);
  }

  void watch(std::uint64_t from) {
    if (needs_list_) return violated("watches on after 410 without a new list");
    // Resuming earlier than what was seen would repeat history, later would skip some.
    const std::size_t start = after(from);
    if (start < next_) return violated(fmt::format("resumed at {}, seen {}", from, seen_));
    if (start > next_) {
      return violated(fmt::format("resumed at {} without {}", from, describe(*truth_[next_])));
    }
    seen_ = std::max(seen_, from);
  }

  void event(const HistoryEvent& event) {
    if (needs_list_) return violated("event after 410 without a new list");
    if (event.version <= seen_ && next_ > 0 && event.version <= truth_[next_ - 1]->version)
      return violated(fmt::format("{} again or late, having seen {}", describe(event), seen_));
    if (next_ >= truth_.size()) return violated(describe(event) + " never happened");
    const HistoryEvent& expected = *truth_[next_];
    if (event.version > expected.version)
      return violated(fmt::format("gap: {} before {}", describe(event), describe(expected)));
    if (event != expected)
      return violated(fmt::format("{} instead of {}", describe(event), describe(expected)));
    ++next_;
    seen_ = event.version;
  }

  void bookmark(std::uint64_t version) {
    if (version < seen_)
      return violated(fmt::format("bookmark {} after having seen {}", version, seen_));
    if (after(version) > next_)
      return violated(fmt::format("bookmark {} without {}", version, describe(*truth_[next_])));
    seen_ = version;
  }

  void rest(const Contents& contents) {
    compare_contents(contents_at(truth_.size()), contents, where() + ": cache at rest",
                     violations_);
  }

  const Watcher& watcher_;
  Violations& violations_;
  std::vector<const HistoryEvent*> truth_;
  std::size_t next_ = 0;    // the first event not yet seen
  std::uint64_t seen_ = 0;  // everything up to here was seen
  bool needs_list_ = false;
};

Violations HistoryChecker::check() const {
  Violations all;
  for (std::size_t i = 1; i < truth_.size(); ++i)
    if (truth_[i].version <= truth_[i - 1].version)
      all.push_back("history: " + describe(truth_[i]) + " follows " + describe(truth_[i - 1]));
  if (!all.empty()) return all;
  for (const Watcher& watcher : watchers_) {
    Violations own;
    Replay(truth_, watcher, own).run();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void RelistChecker::server_started(std::uint64_t version) {
  started_ = std::max(started_, version);
}

void RelistChecker::relisted(const std::string& watcher, std::uint64_t from, std::uint64_t to) {
  ++relists_;
  if (from < started_ || (compacted_ && from < compacted_())) return;
  unexplained_.push_back({watcher, from, to});
}

Violations RelistChecker::check() const {
  Violations violations;
  for (const Unexplained& relist : unexplained_) {
    const auto missed = std::upper_bound(changes_.begin(), changes_.end(), relist.to) -
                        std::upper_bound(changes_.begin(), changes_.end(), relist.from);
    if (missed >= 0 && static_cast<std::size_t>(missed) > history_) continue;
    violations.push_back(fmt::format(
        "{} listed anew at {} although history reached back to where it stood, {}, {} changes ago",
        relist.watcher, relist.to, relist.from, missed));
  }
  return violations;
}

DurabilityChecker::OperationId DurabilityChecker::attempt(std::string key,
                                                          std::optional<std::string> value) {
  operations_.push_back({.key = std::move(key),
                         .value = std::move(value),
                         .fate = Fate::unknown,
                         .version = 0,
                         .versions_before = highest_});
  return operations_.size() - 1;
}

void DurabilityChecker::acknowledged(OperationId operation, std::uint64_t version) {
  CHECK(operations_[operation].fate == Fate::unknown);
  operations_[operation].fate = Fate::acknowledged;
  operations_[operation].version = version;
  ++acknowledged_count_;
  highest_ = std::max(highest_, version);
}

void DurabilityChecker::refused(OperationId operation) {
  CHECK(operations_[operation].fate == Fate::unknown);
  operations_[operation].fate = Fate::refused;
}

Violations DurabilityChecker::check(const std::map<std::string, Stored>& contents) const {
  Violations violations;
  std::map<std::string, std::vector<const Operation*>> by_key;
  for (const Operation& operation : operations_) {
    by_key[operation.key].push_back(&operation);
    if (operation.fate != Fate::acknowledged) continue;
    // A version handed out again means that history was lost and written anew.
    if (operation.version <= operation.versions_before)
      violations.push_back(fmt::format("{} got version {}, but {} was acknowledged before it",
                                       operation.key, operation.version,
                                       operation.versions_before));
  }
  for (const auto& [key, operations] : by_key) check_key(key, operations, contents, violations);
  for (const auto& [key, stored] : contents)
    if (!by_key.contains(key)) violations.push_back(key + " came from nowhere");
  return violations;
}

void DurabilityChecker::check_key(const std::string& key,
                                  const std::vector<const Operation*>& operations,
                                  const std::map<std::string, Stored>& contents,
                                  Violations& violations) const {
  const Operation* last = nullptr;  // the latest that was acknowledged
  for (const Operation* operation : operations)
    if (operation->fate == Fate::acknowledged && (!last || operation->version > last->version))
      last = operation;
  const auto found = contents.find(key);
  const bool exists = found != contents.end();
  const std::optional<std::string> value =
      exists ? std::optional(found->second.value) : std::nullopt;
  if (last && last->value == value && (!exists || found->second.version == last->version)) return;
  if (!last && !exists) return;
  if (last && exists && found->second.version < last->version) {
    violations.push_back(fmt::format("{}: version {} was acknowledged, but {} is stored", key,
                                     last->version, found->second.version));
    return;
  }
  // Something else is there: only a write whose outcome nobody knows can explain it.
  const bool explained = std::ranges::any_of(operations, [&](const Operation* operation) {
    return operation->fate == Fate::unknown && operation->value == value;
  });
  if (explained) return;
  const bool was_refused = std::ranges::any_of(operations, [&](const Operation* operation) {
    return operation->fate == Fate::refused && operation->value == value;
  });
  if (was_refused) {
    violations.push_back(key + ": a refused write is stored");
  } else if (!exists) {
    violations.push_back(
        fmt::format("{}: acknowledged as version {} and lost", key, last ? last->version : 0));
  } else {
    violations.push_back(
        fmt::format("{}: the stored value (version {}) is none that was written "
                    "last",
                    key, found->second.version));
  }
}

AtomicityChecker::TransactionId AtomicityChecker::attempt(std::size_t changes) {
  sent_.push_back({.changes = changes});
  return sent_.size() - 1;
}

void AtomicityChecker::happened(TransactionId transaction, std::int64_t revision) {
  CHECK(transaction < sent_.size());
  Sent& sent = sent_[transaction];
  if (sent.happened++ > 0 && sent.revision != revision) sent.scattered = true;
  sent.revision = revision;
}

Violations AtomicityChecker::check() const {
  Violations violations;
  for (std::size_t id = 0; id < sent_.size(); ++id) {
    const Sent& sent = sent_[id];
    if (sent.happened != 0 && sent.happened != sent.changes)
      violations.push_back(fmt::format("transaction {}: {} of its {} changes were made", id,
                                       sent.happened, sent.changes));
    if (sent.scattered)
      violations.push_back(fmt::format("transaction {} was made at several revisions", id));
  }
  return violations;
}

std::size_t AtomicityChecker::whole_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sent_, [](const Sent& sent) { return sent.changes > 1 && sent.happened == sent.changes; }));
}

}  // namespace fairlead::sim
