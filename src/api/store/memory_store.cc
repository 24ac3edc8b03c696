#include "api/store/memory_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/store/transaction.h"

namespace fairlead::store {

class MemoryStore::MemoryWatch final : public Watch {
 public:
  MemoryWatch(MemoryStore& store, std::string prefix, Revision after)
      : store_(store), prefix_(std::move(prefix)), after_(after) {}

  Task<Result<ChangeBatch>> next() override {
    for (;;) {
      if (after_ < store_.log_.floor())
        co_return fail(Code::gone, fmt::format("changes after revision {} were compacted", after_));
      if (after_ < store_.log_.head()) {
        ChangeBatch batch = store_.log_.read(prefix_, after_);
        after_ = batch.revision;
        co_return batch;
      }
      auto changed = store_.changed_.wait();
      FL_CO_CHECKED(co_await changed);
    }
  }

 private:
  MemoryStore& store_;
  std::string prefix_;
  Revision after_;
};

MemoryStore::MemoryStore(runtime::Runtime& runtime, MemoryOptions options)
    : runtime_(runtime), options_(options) {}

// Every call yields before it looks, so that callers meet the interleavings that a real store has.

Task<Result<Revision>> MemoryStore::revision() {
  co_await runtime::yield(runtime_);
  co_return log_.head();
}

Task<Result<std::optional<KeyValue>>> MemoryStore::get(std::string key) {
  co_await runtime::yield(runtime_);
  const KeyValue* found = find(key, log_.head());
  if (!found) co_return std::optional<KeyValue>();
  co_return std::optional<KeyValue>(*found);
}

Task<Result<Listing>> MemoryStore::list(std::string prefix, ListOptions options) {
  co_await runtime::yield(runtime_);
  const Revision at = options.at == 0 ? log_.head() : options.at;
  if (at < 0 || at > log_.head())
    co_return fail(Code::invalid,
                   fmt::format("revision {} lies in the future of {}", at, log_.head()));
  if (at < compacted_) co_return fail(Code::gone, fmt::format("revision {} was compacted", at));

  Listing listing{.revision = at, .items = {}, .more = false};
  const bool resume = options.after >= prefix && !options.after.empty();
  auto entry = resume ? versions_.upper_bound(options.after) : versions_.lower_bound(prefix);
  for (; entry != versions_.end() && entry->first.starts_with(prefix); ++entry) {
    const KeyValue* found = find(entry->first, at);
    if (!found) continue;
    if (options.limit != 0 && listing.items.size() == options.limit) {
      listing.more = true;
      break;
    }
    listing.items.push_back(*found);
  }
  co_return listing;
}

Task<Result<Committed>> MemoryStore::commit(Transaction transaction) {
  FL_CO_CHECKED(validate(transaction));
  co_await runtime::yield(runtime_);
  for (const Compare& compare : transaction.compares) {
    const Revision current = modified(compare.key);
    if (!holds(compare, current)) co_return fail(conflict_of(compare, current));
  }
  if (transaction.operations.empty()) co_return Committed{log_.head()};
  co_return apply(std::move(transaction));
}

Result<std::unique_ptr<Watch>> MemoryStore::watch(std::string prefix, Revision after) {
  if (after < 0) return fail(Code::invalid, fmt::format("watch after revision {}", after));
  return std::make_unique<MemoryWatch>(*this, std::move(prefix), after);
}

Task<Result<>> MemoryStore::compact(Revision before) {
  co_await runtime::yield(runtime_);
  if (before > log_.head())
    co_return fail(Code::invalid,
                   fmt::format("revision {} lies in the future of {}", before, log_.head()));
  forget_before(before);
  co_return Result<>{};
}

const KeyValue* MemoryStore::find(const std::string& key, Revision at) const {
  const auto entry = versions_.find(key);
  if (entry == versions_.end()) return nullptr;
  const Versions& versions = entry->second;
  const auto later = std::ranges::upper_bound(
      versions, at, {}, [](const Change& version) { return version.current.modified.revision; });
  if (later == versions.begin() || std::prev(later)->erased) return nullptr;
  return &std::prev(later)->current;
}

Revision MemoryStore::modified(const std::string& key) const {
  const KeyValue* current = find(key, log_.head());
  return current ? current->modified.revision : 0;
}

Committed MemoryStore::apply(Transaction transaction) {
  const Revision revision = log_.head() + 1;
  std::vector<Change> changes;
  for (Operation& operation : transaction.operations) {
    const bool erased = operation.kind == Operation::Kind::erase;
    const KeyValue* before = find(operation.key, log_.head());
    const Place place{revision, static_cast<std::uint32_t>(changes.size())};
    Change change{.current = {.key = std::move(operation.key),
                              .value = erased ? Bytes() : std::move(operation.value),
                              .modified = place,
                              .created = erased ? 0 : (before ? before->created : revision)},
                  .erased = erased};
    versions_[change.current.key].push_back(change);
    changes.push_back(std::move(change));
  }
  log_.append(revision, std::move(changes));
  while (log_.size() > options_.history_changes && log_.oldest() < revision)
    forget_before(log_.oldest() + 1);
  changed_.notify();
  return Committed{revision};
}

void MemoryStore::forget_before(Revision before) {
  compacted_ = std::max(compacted_, before);
  while (log_.size() > 0 && log_.oldest() < before) {
    for (const Change& forgotten : log_.forget_oldest()) forget_superseded(forgotten);
  }
}

// No list can look before this change any more: what it replaced goes, and so does an erasure.
void MemoryStore::forget_superseded(const Change& forgotten) {
  const auto entry = versions_.find(forgotten.current.key);
  if (entry == versions_.end()) return;
  Versions& versions = entry->second;
  while (!versions.empty() && (versions.front().current.modified < forgotten.current.modified ||
                               (versions.front().current.modified == forgotten.current.modified &&
                                versions.front().erased)))
    versions.pop_front();
  if (versions.empty()) versions_.erase(entry);
}

}  // namespace fairlead::store
