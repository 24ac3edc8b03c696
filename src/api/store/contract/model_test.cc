// Contract: many fibers at once against a plain model. Random transactions, lists, gets, watches
// that stop and resume, and compaction; afterwards everything that anyone saw must fit one history.
//
// The history is made from the acknowledged transactions, put in order of their revisions and
// carried out on a std::map. Then
//   - the compares of every acknowledged transaction held when its turn came;
//   - every conflict was a conflict at some moment between call and answer;
//   - every list and every watch shows exactly the model's state at the revision that it names;
//   - every get answered what was true at some moment between call and answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "api/store/contract/contract.h"
#include "api/store/transaction.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {
namespace {

struct ModelValue {
  std::string value;
  Place modified;
  Revision created = 0;
  bool operator==(const ModelValue&) const = default;
};
using State = std::map<std::string, ModelValue>;

State state_of(const std::vector<KeyValue>& items) {
  State state;
  for (const KeyValue& item : items)
    state[item.key] = {std::string(item.value.view()), item.modified, item.created};
  return state;
}

Revision modified(const State& state, const std::string& key) {
  const auto found = state.find(key);
  return found == state.end() ? 0 : found->second.modified.revision;
}

bool all_hold(const std::vector<Compare>& compares, const State& state) {
  return std::ranges::all_of(compares, [&](const Compare& compare) {
    return holds(compare, modified(state, compare.key));
  });
}

void apply(State& state, const Transaction& transaction, Place place) {
  const Revision revision = place.revision;
  for (const Operation& operation : transaction.operations) {
    const auto found = state.find(operation.key);
    const Revision created = found == state.end() ? revision : found->second.created;
    if (operation.kind == Operation::Kind::erase) {
      state.erase(operation.key);
    } else {
      state[operation.key] = {std::string(operation.value.view()), place, created};
    }
    ++place.position;
  }
}

// What the fibers did and saw. `from` and `to` bound the moment: revisions known to be reached
// before the call and asked for after the answer.
struct Attempt {
  Transaction transaction;
  Result<Committed> result;
  Revision from = 0;
  Revision to = 0;
};
struct Lookup {
  std::string key;
  std::optional<ModelValue> found;
  Revision from = 0;
  Revision to = 0;
};
struct View {
  std::string by;
  Revision revision = 0;
  State state;
};

class Fibers {
 public:
  Fibers(runtime::Runtime& runtime, Store& store, std::uint64_t seed, Revision start, State initial)
      : runtime_(runtime),
        store_(store),
        random_(seed),
        acknowledged_(start),
        start_(start),
        last_value_("end of " + std::to_string(seed)) {
    views_.push_back({"start", start, std::move(initial)});
  }

  Task<void> run() {
    runtime::Scope readers(runtime_);
    for (int i = 0; i < 3; ++i) readers.spawn(follow("watch " + std::to_string(i)));
    runtime::Scope writers(runtime_);
    for (int i = 0; i < 8; ++i) writers.spawn(write_and_read());
    writers.spawn(compact());
    co_await writers.join();
    // One last change wakes whoever waits; the readers end when they have seen it.
    Transaction transaction;
    transaction.operations.push_back(put("/m/end", last_value_));
    finishing_ = true;
    co_await attempt(std::move(transaction));
    co_await readers.join();
  }

  void check() const;

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  std::string key() { return "/m/" + std::to_string(draw(7)); }

  Transaction random_transaction() {
    Transaction transaction;
    const std::size_t count = 1 + draw(3);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = key();
      const bool used = std::ranges::any_of(
          transaction.operations, [&](const Operation& made) { return made.key == name; });
      if (used) continue;
      const bool erasing = draw(4) == 0;
      if (erasing || draw(2) == 0) transaction.compares.push_back(random_compare(name, erasing));
      transaction.operations.push_back(erasing ? erase(name)
                                               : put(name, std::to_string(serial_++)));
    }
    if (draw(3) == 0) transaction.compares.push_back(random_compare(key(), false));
    return transaction;
  }

  // Mostly right as far as this side knows, so that transactions succeed and fail in turn.
  Compare random_compare(const std::string& name, bool must_exist) {
    const Revision current = modified(last_seen_, name);
    if (draw(3) == 0) return exists(name);
    if (current == 0 && must_exist) return exists(name);
    return {.key = name, .modified = current};
  }

  Task<void> write_and_read() {
    for (int i = 0; i < 30; ++i) {
      const std::size_t dice = draw(10);
      if (dice < 6) {
        Transaction transaction = random_transaction();
        co_await attempt(std::move(transaction));
      } else if (dice < 8) {
        co_await list();
      } else {
        co_await get();
      }
    }
  }

  Task<void> attempt(Transaction transaction) {
    Attempt made{.transaction = transaction, .result = {}, .from = acknowledged_, .to = 0};
    made.result = co_await store_.commit(std::move(transaction));
    if (made.result) acknowledged_ = std::max(acknowledged_, made.result->revision);
    const Result<Revision> now = co_await store_.revision();
    made.to = now.value_or(0);
    attempts_.push_back(std::move(made));
  }

  Task<void> list() {
    ListOptions options;
    const Revision known = acknowledged_;
    if (draw(2) == 0)
      options.at =
          start_ + static_cast<Revision>(draw(static_cast<std::size_t>(known - start_) + 1));
    Result<Listing> listing = co_await store_.list("/m/", options);
    if (!listing) {
      EXPECT_EQ(listing.error().code, Code::gone) << listing.error().to_string();
      EXPECT_LT(options.at, compacted_);
      EXPECT_NE(options.at, 0);
      co_return;
    }
    if (options.at == 0) {
      EXPECT_GE(listing->revision, known);
      last_seen_ = state_of(listing->items);
    }
    views_.push_back({"list", listing->revision, state_of(listing->items)});
  }

  Task<void> get() {
    Lookup lookup{.key = key(), .found = {}, .from = acknowledged_, .to = 0};
    const Result<std::optional<KeyValue>> found = co_await store_.get(lookup.key);
    EXPECT_TRUE(found);
    if (found && *found)
      lookup.found = {std::string((*found)->value.view()), (*found)->modified, (*found)->created};
    const Result<Revision> now = co_await store_.revision();
    lookup.to = now.value_or(0);
    lookups_.push_back(std::move(lookup));
  }

  Task<void> compact() {
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 40; ++j) co_await runtime::yield(runtime_);
      const Result<Revision> now = co_await store_.revision();
      if (!now || *now - 15 <= start_) continue;
      compacted_ = *now - 15;
      const Result<> done = co_await store_.compact(compacted_);
      EXPECT_TRUE(done) << done.error().to_string();
    }
  }

  bool finished(const State& cache) const {
    const auto end = cache.find("/m/end");
    return end != cache.end() && end->second.value == last_value_;
  }

  // A cache as a client keeps one: list, follow, open the watch anew now and then, list when gone.
  Task<void> follow(std::string name) {
    State cache;
    Revision reached = 0;
    bool listed = false;
    while (!listed || !finished(cache)) {
      if (!listed) {
        const Result<Listing> listing = co_await store_.list("/m/", ListOptions());
        EXPECT_TRUE(listing);
        if (!listing) co_return;
        cache = state_of(listing->items);
        reached = listing->revision;
        listed = true;
      }
      const std::size_t batches = 1 + draw(6);
      const Result<> followed = co_await follow_some(name, batches, cache, reached);
      if (!followed) {
        EXPECT_EQ(followed.error().code, Code::gone) << followed.error().to_string();
        EXPECT_LT(reached, compacted_);
        listed = false;
      }
    }
  }

  Task<Result<>> follow_some(std::string name, std::size_t batches, State& cache,
                             Revision& reached) {
    FL_CO_TRY(const std::unique_ptr<Watch> watch, store_.watch("/m/", reached));
    for (std::size_t i = 0; i < batches && !finished(cache); ++i) {
      FL_CO_TRY(const ChangeBatch batch, co_await watch->next());
      for (const Change& change : batch.changes) {
        const KeyValue& item = change.current;
        if (change.erased) {
          EXPECT_EQ(cache.erase(item.key), 1u) << name << " saw an erasure of nothing";
        } else {
          cache[item.key] = {std::string(item.value.view()), item.modified, item.created};
        }
      }
      EXPECT_GE(batch.revision, reached);
      reached = batch.revision;
      views_.push_back({name, reached, cache});
      // Falling behind is part of it.
      const std::size_t pause = finishing_ ? 0 : draw(30);
      for (std::size_t j = 0; j < pause; ++j) co_await runtime::yield(runtime_);
    }
    co_return Result<>{};
  }

  std::map<Revision, State> make_history() const;

  runtime::Runtime& runtime_;
  Store& store_;
  std::mt19937_64 random_;
  Revision acknowledged_;
  Revision start_;
  std::string last_value_;
  Revision compacted_ = 0;
  bool finishing_ = false;
  int serial_ = 0;
  State last_seen_;
  std::vector<Attempt> attempts_;
  std::vector<Lookup> lookups_;
  std::vector<View> views_;
};

const State& at(const std::map<Revision, State>& history, Revision revision) {
  return std::prev(history.upper_bound(revision))->second;
}

// Whether `holds` is true of the state at some moment in [from, to].
template <class Predicate>
bool sometime(const std::map<Revision, State>& history, Revision from, Revision to,
              Predicate predicate) {
  for (auto state = std::prev(history.upper_bound(from));
       state != history.end() && state->first <= to; ++state)
    if (predicate(state->second)) return true;
  return false;
}

std::map<Revision, State> Fibers::make_history() const {
  std::map<Place, const Attempt*> made;
  for (const Attempt& attempt : attempts_) {
    if (!attempt.result || attempt.transaction.operations.empty()) continue;
    const Place first{attempt.result->revision, attempt.result->position};
    EXPECT_TRUE(made.emplace(first, &attempt).second)
        << "revision " << first.revision << " position " << first.position << " was given twice";
    EXPECT_GT(attempt.result->revision, attempt.from);
    EXPECT_LE(attempt.result->revision, attempt.to);
  }
  std::map<Revision, State> history;
  State state = views_.front().state;
  history[start_] = state;
  for (const auto& [first, attempt] : made) {
    EXPECT_TRUE(all_hold(attempt->transaction.compares, state))
        << "revision " << first.revision << " was committed although a compare did not hold";
    apply(state, attempt->transaction, first);
    history[first.revision] = state;
  }
  return history;
}

void Fibers::check() const {
  const std::map<Revision, State> history = make_history();
  int conflicts = 0;
  for (const Attempt& attempt : attempts_) {
    if (attempt.result) continue;
    EXPECT_EQ(attempt.result.error().code, Code::conflict) << attempt.result.error().to_string();
    ++conflicts;
    EXPECT_TRUE(sometime(history, attempt.from, attempt.to, [&](const State& state) {
      return !all_hold(attempt.transaction.compares, state);
    })) << attempt.result.error().to_string();
  }
  for (const Lookup& lookup : lookups_) {
    EXPECT_TRUE(sometime(history, lookup.from, lookup.to,
                         [&](const State& state) {
                           const auto found = state.find(lookup.key);
                           return found == state.end() ? !lookup.found
                                                       : lookup.found == found->second;
                         }))
        << "get of " << lookup.key << " fits no moment of the call";
  }
  for (const View& view : views_)
    EXPECT_EQ(view.state == at(history, view.revision), true)
        << view.by << " is wrong about revision " << view.revision;
  // The story must have had some content.
  EXPECT_GT(history.size(), 40u);
  EXPECT_GT(conflicts, 5);
}

// Whatever the interleaving, there is one history that explains everything anyone saw.
TEST_P(StoreContract, ManyFibersFitOneHistory) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Result<Listing> initial = list("/m/");
    ASSERT_TRUE(initial);
    Fibers fibers(runtime(), store(), seed, initial->revision, state_of(initial->items));
    run(fibers.run());
    fibers.check();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace fairlead::store
