// The promises of the product as code, over plain values, so that simulation, tests on real servers
// and tools use the same judges.
//
//   HistoryChecker     promise 3: every watcher sees a gap-free, ordered history or a clean 410;
//                      caches equal the store at rest
//   RelistChecker      promise 3: a watcher lists anew only for a reason; it can resume after a
//                      cut, after a restart and on another server while history reaches back
//   DurabilityChecker  promise 5: nothing acknowledged is lost
//   AtomicityChecker   promise 5: of a transaction all is there, or nothing
//
// Tell them what happened as it happens; ask check() at the end. An empty list means that the
// promise was kept.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead::sim {

using Violations = std::vector<std::string>;

// One violation per line, or success.
Result<> as_result(const Violations& violations);

struct HistoryEvent {
  std::uint64_t version = 0;  // its own, growing: resourceVersion
  std::string key;
  std::optional<std::string> value;  // empty: erased

  bool operator==(const HistoryEvent&) const = default;
};

class HistoryChecker {
 public:
  using Contents = std::map<std::string, std::string>;
  using Filter = std::function<bool(const std::string& key)>;

  // What one watcher saw, from one list or resume to the next.
  class Watcher {
   public:
    // A list at that version: the watcher starts over with these contents.
    void listed(std::uint64_t version, Contents contents);
    // A watch began: events after that version follow.
    void watching(std::uint64_t after);
    void saw(HistoryEvent event);
    // The server says that everything up to there was delivered.
    void bookmark(std::uint64_t version);
    // A clean 410: history from where it stood is gone, a list has to follow.
    void gone();
    // What its cache holds when all is quiet.
    void at_rest(Contents contents);

    const std::string& name() const { return name_; }

   private:
    friend class HistoryChecker;
    struct Step {
      enum class Kind { list, watch, event, bookmark, gone, rest };
      Kind kind;
      std::uint64_t version = 0;
      HistoryEvent event;
      Contents contents;
    };
    std::string name_;
    Filter filter_;
    std::vector<Step> steps_;
  };

  // The true history, in order of version; usually read from the store at the end.
  void happened(HistoryEvent event);
  // The reference stays valid. Without a filter it watches every key.
  Watcher& watcher(std::string name, Filter filter = {});

  Violations check() const;

 private:
  class Replay;
  std::vector<HistoryEvent> truth_;
  std::list<Watcher> watchers_;
};

// Watchers that list again. What excuses it: a server knows no history from before its start, a
// store none from before its compaction, and of many changes only the last are kept.
class RelistChecker {
 public:
  // How many changes servers keep.
  void set_history(std::size_t changes) { history_ = changes; }
  // Asked at every list: history up to this version may have been compacted away.
  void set_compacted(std::function<std::uint64_t()> compacted) {
    compacted_ = std::move(compacted);
  }
  // A server has started and knows nothing of what happened up to that version.
  void server_started(std::uint64_t version);
  // A watcher that stood at `from` has listed anew and stands at `to`.
  void relisted(const std::string& watcher, std::uint64_t from, std::uint64_t to);
  // Every change of what is watched, in order; may be told in the end.
  void happened(std::uint64_t version) { changes_.push_back(version); }

  Violations check() const;
  std::size_t relists() const { return relists_; }

 private:
  struct Unexplained {
    std::string watcher;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  std::size_t history_ = std::numeric_limits<std::size_t>::max();
  std::function<std::uint64_t()> compacted_;
  std::uint64_t started_ = 0;
  std::size_t relists_ = 0;
  std::vector<Unexplained> unexplained_;
  std::vector<std::uint64_t> changes_;
};

class DurabilityChecker {
 public:
  using OperationId = std::size_t;
  struct Stored {
    std::uint64_t version = 0;
    std::string value;
  };

  // A write was sent: a value for a key, or its erasure.
  OperationId attempt(std::string key, std::optional<std::string> value);
  // It was acknowledged as that version. Writes of one transaction may share a version.
  void acknowledged(OperationId operation, std::uint64_t version);
  // It surely had no effect (conflict, invalid). Neither call: nobody knows.
  void refused(OperationId operation);

  // Everything that is in the store after the faults.
  Violations check(const std::map<std::string, Stored>& contents) const;
  std::size_t acknowledged_count() const { return acknowledged_count_; }

 private:
  enum class Fate { unknown, acknowledged, refused };
  struct Operation {
    std::string key;
    std::optional<std::string> value;
    Fate fate = Fate::unknown;
    std::uint64_t version = 0;
    std::uint64_t versions_before = 0;  // highest acknowledged when it was sent
  };
  void check_key(const std::string& key, const std::vector<const Operation*>& operations,
                 const std::map<std::string, Stored>& contents, Violations& violations) const;

  std::vector<Operation> operations_;
  std::size_t acknowledged_count_ = 0;
  std::uint64_t highest_ = 0;
};

class AtomicityChecker {
 public:
  using TransactionId = std::size_t;

  // A transaction of that many changes was sent. Whoever sends it marks its values with the id.
  TransactionId attempt(std::size_t changes);
  // The true history has one of its changes, at that revision.
  void happened(TransactionId transaction, std::int64_t revision);

  Violations check() const;
  std::size_t whole_count() const;  // transactions of several changes, all of which happened

 private:
  struct Sent {
    std::size_t changes = 0;
    std::size_t happened = 0;
    std::int64_t revision = 0;
    bool scattered = false;
  };
  std::vector<Sent> sent_;
};

}  // namespace fairlead::sim
