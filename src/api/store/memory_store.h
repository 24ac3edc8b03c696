// MemoryStore: the model of a Store. Used in simulation and in tests; it keeps nothing on disk.
//
// Its history is bounded: beyond `history_changes` the oldest revisions are compacted
// automatically, so that a watch that lags behind meets `gone` as with the real stores.
//
// REQUIRES: the store outlives its watches and every call.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/store/change_log.h"
#include "api/store/store.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

struct MemoryOptions {
  std::size_t history_changes = 10'000;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(runtime::Runtime& runtime, MemoryOptions options = {});

  Task<Result<Revision>> revision() override;
  Task<Result<std::optional<KeyValue>>> get(std::string key) override;
  Task<Result<Listing>> list(std::string prefix, ListOptions options) override;
  Task<Result<Committed>> commit(Transaction transaction) override;
  Result<std::unique_ptr<Watch>> watch(std::string prefix, Revision after) override;
  Task<Result<>> compact(Revision before) override;

 private:
  class MemoryWatch;
  // The values a key had, oldest first; the last is the current one. Without changes in the log
  // that need older ones, exactly one is left, or the key is.
  using Versions = std::deque<Change>;

  const KeyValue* find(const std::string& key, Revision at) const;
  Revision modified(const std::string& key) const;
  Committed apply(Transaction transaction);
  void forget_before(Revision before);
  void forget_superseded(const Change& forgotten);

  runtime::Runtime& runtime_;
  MemoryOptions options_;
  std::map<std::string, Versions> versions_;
  ChangeLog log_{0};
  Revision compacted_ = 0;  // the oldest revision that can still be listed
  runtime::Signal changed_;
};

}  // namespace fairlead::store
