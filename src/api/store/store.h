// Store: a revisioned map from keys to bytes, with transactions over several keys and watches.
//
// Three implementations pass one contract suite (api/store/contract/contract.h): MemoryStore (the
// model, used in simulation; not durable), SqliteStore (the embedded default) and EtcdStore. In the
// server, WatchCache reads and watches it, ObjectWriter commits to it, the backup lists it, and
// program/open_store.cc compacts it; nothing else uses it.
//
// Revisions: a transaction that changes something gets a later revision than everything that was
// acknowledged before commit() was called. Its operations share the revision, and their positions
// grow in the order given. A change's place in history is therefore (revision, position), see
// Place. Transactions that were under way at the same time may share a revision, at different
// positions.
//
// All calls run on the loop of the Runtime that the store was made with.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/bytes.h"
#include "foundation/base/result.h"
#include "foundation/runtime/task.h"

namespace fairlead::store {

using Revision = std::int64_t;  // 0: before everything

// Where in history a change is. As one number (what the API shows as resourceVersion) it is
// revision × 1024 + position; the end of a revision, after all its changes, is position 1023.
struct Place {
  Revision revision = 0;
  std::uint32_t position = 0;

  static constexpr std::uint32_t kEnd = 1023;
  static Place end_of(Revision revision) { return {revision, kEnd}; }
  static Place from_number(std::uint64_t number) {
    return {static_cast<Revision>(number >> 10), static_cast<std::uint32_t>(number & 1023)};
  }
  std::uint64_t number() const { return (static_cast<std::uint64_t>(revision) << 10) | position; }
  auto operator<=>(const Place&) const = default;
};

struct KeyValue {
  std::string key;
  Bytes value;
  Place modified;        // the change that made this value
  Revision created = 0;  // revision of the change that made the key
};

// Holds if the key's current value was last changed at exactly that revision; 0: the key must not
// exist; kExists: it must exist, whatever its revision.
struct Compare {
  static constexpr Revision kExists = -1;
  std::string key;
  Revision modified = 0;
};

struct Operation {
  enum class Kind { put, erase };
  Kind kind = Kind::put;
  std::string key;
  Bytes value;  // put only
};

// At most kMaxOperations operations and as many compares, at most kMaxBytes of keys and values of
// the operations, no key operated on twice, and for every erased key a compare that makes sure it
// exists, so that every operation is exactly one change. Violations are `invalid` (transaction.h).
struct Transaction {
  static constexpr std::size_t kMaxOperations = 128;
  static constexpr std::size_t kMaxBytes = 1 << 20;
  std::vector<Compare> compares;
  std::vector<Operation> operations;
};

struct Committed {
  Revision revision = 0;
  std::uint32_t position = 0;  // of its first operation
};

struct ListOptions {
  Revision at = 0;        // 0: now
  std::string after{};    // keys > after only; empty: from the start of the prefix
  std::size_t limit = 0;  // 0: all
};

struct Listing {
  Revision revision = 0;  // what the listing shows
  std::vector<KeyValue> items;
  bool more = false;
};

struct Change {
  KeyValue current;  // erase: key and place of the erasure, empty value, created 0
  bool erased = false;
};

// All changes (below the watch's prefix) of one or more whole revisions, never a part of one. An
// empty batch says that there are no further changes up to `revision`.
struct ChangeBatch {
  Revision revision = 0;  // the last one in the batch
  std::vector<Change> changes;
};

class Watch {
 public:
  virtual ~Watch() = default;  // ends the watch
  // The next batch. Fails with gone when the history that follows was compacted: list, then open a
  // new watch. After any error but cancelled the watch is of no further use. The loss of a
  // connection to etcd is repaired inside, without gaps or repetition.
  virtual Task<Result<ChangeBatch>> next() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // The current revision, linearizable: not older than any transaction acknowledged before the
  // call.
  virtual Task<Result<Revision>> revision() = 0;
  // The same without waiting, where this process is the only writer.
  virtual std::optional<Revision> revision_now() const { return std::nullopt; }

  virtual Task<Result<std::optional<KeyValue>>> get(std::string key) = 0;

  // Keys with the prefix in byte order, all as of one revision. Fails with gone if `at` was
  // compacted and invalid if it lies in the future.
  virtual Task<Result<Listing>> list(std::string prefix, ListOptions options) = 0;

  // All or nothing. Fails with conflict when a compare does not hold and with exhausted when there
  // is no room for it (disk, database, writes that wait). timeout means that it may or may not have
  // been applied. Once acknowledged it survives kill -9 and power loss, except in MemoryStore.
  virtual Task<Result<Committed>> commit(Transaction transaction) = 0;

  // Changes with place.revision > `after`, in order, gap-free, for keys with the prefix.
  virtual Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision after) = 0;

  // Forgets history before `before`: lists at and watches from earlier revisions fail with gone.
  virtual Task<Result<>> compact(Revision before) = 0;
};

}  // namespace fairlead::store
