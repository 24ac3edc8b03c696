// Contract: transactions. Revisions and places, compares, all or nothing, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "api/store/contract/contract.h"
#include "foundation/runtime/scope.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Code code_of(const Result<Committed>& result) {
  EXPECT_FALSE(result) << "committed at revision " << result->revision;
  return result ? Code::internal : result.error().code;
}

// Each transaction gets a later revision than the one before, and that becomes the current one.
TEST_P(StoreContract, TransactionsGetGrowingRevisions) {
  Revision last = revision();
  for (int i = 0; i < 5; ++i) {
    const Revision made = write({put("/k", std::to_string(i))});
    EXPECT_GT(made, last);
    EXPECT_EQ(revision(), made);
    last = made;
  }
}

// The operations of one transaction share its revision and are told apart by their position.
TEST_P(StoreContract, OperationsOfATransactionHavePositionsInTheOrderGiven) {
  const Revision made = write({put("/b", "1"), put("/a", "2"), put("/c", "3")});
  EXPECT_EQ(get("/b")->modified, (Place{made, 0}));
  EXPECT_EQ(get("/a")->modified, (Place{made, 1}));
  EXPECT_EQ(get("/c")->modified, (Place{made, 2}));
}

// `created` stays with a key through its changes and starts anew when it was erased in between.
TEST_P(StoreContract, CreatedIsTheRevisionThatMadeTheKey) {
  const Revision first = write({put("/k", "1")});
  const Revision second = write({put("/k", "2")});
  EXPECT_EQ(get("/k")->created, first);
  EXPECT_EQ(get("/k")->modified.revision, second);
  EXPECT_EQ(get("/k")->value.view(), "2");
  write({erase("/k")}, {exists("/k")});
  EXPECT_EQ(get("/k"), std::nullopt);
  const Revision again = write({put("/k", "3")});
  EXPECT_EQ(get("/k")->created, again);
}

// A compare with 0 holds only while the key does not exist, also after it was erased.
TEST_P(StoreContract, MustNotExist) {
  write({put("/k", "1")}, {absent("/k")});
  EXPECT_EQ(code_of(commit({absent("/k")}, {put("/k", "2")})), Code::conflict);
  EXPECT_EQ(get("/k")->value.view(), "1");
  write({erase("/k")}, {exists("/k")});
  write({put("/k", "3")}, {absent("/k")});
  EXPECT_EQ(get("/k")->value.view(), "3");
}

// A compare with a revision holds only if that very change made the current value.
TEST_P(StoreContract, MustBeUnchanged) {
  const Revision first = write({put("/k", "1")});
  const Revision second = write({put("/k", "2")}, {unchanged("/k", first)});
  EXPECT_EQ(code_of(commit({unchanged("/k", first)}, {put("/k", "3")})), Code::conflict);
  EXPECT_EQ(code_of(commit({unchanged("/k", second + 1)}, {put("/k", "3")})), Code::conflict);
  EXPECT_EQ(code_of(commit({unchanged("/none", first)}, {put("/k", "3")})), Code::conflict);
  write({erase("/k")}, {unchanged("/k", second)});
  EXPECT_EQ(code_of(commit({unchanged("/k", second)}, {put("/k", "3")})), Code::conflict);
  EXPECT_EQ(get("/k"), std::nullopt);
}

// kExists holds for any revision of an existing key and for no other.
TEST_P(StoreContract, MustExist) {
  EXPECT_EQ(code_of(commit({exists("/k")}, {put("/k", "1")})), Code::conflict);
  write({put("/k", "1")});
  write({put("/k", "2")}, {exists("/k")});
  write({erase("/k")}, {exists("/k")});
  EXPECT_EQ(code_of(commit({exists("/k")}, {erase("/k")})), Code::conflict);
}

// Compares may look at keys that the transaction does not touch, and several must all hold.
TEST_P(StoreContract, EveryCompareMustHold) {
  const Revision guard = write({put("/guard", "open")});
  write({put("/a", "1")}, {unchanged("/guard", guard), absent("/a"), exists("/guard")});
  EXPECT_EQ(code_of(commit({unchanged("/guard", guard), absent("/a")}, {put("/b", "1")})),
            Code::conflict);
  EXPECT_EQ(code_of(commit({exists("/guard"), absent("/guard")}, {put("/b", "1")})),
            Code::conflict);
  EXPECT_EQ(get("/b"), std::nullopt);
}

// A transaction whose last compare fails leaves no trace: no value, no erasure, no revision.
TEST_P(StoreContract, AConflictChangesNothing) {
  const Revision first = write({put("/a", "1"), put("/b", "1")});
  EXPECT_EQ(code_of(commit({unchanged("/a", first), exists("/b"), exists("/none")},
                           {put("/a", "2"), erase("/b"), put("/c", "2")})),
            Code::conflict);
  EXPECT_EQ(revision(), first);
  const Result<Listing> now = list("/");
  ASSERT_TRUE(now);
  EXPECT_THAT(texts(now->items), ElementsAre("/a=1@0", "/b=1@1"));
}

// Puts and erases of one transaction happen together.
TEST_P(StoreContract, ATransactionMayPutAndErase) {
  write({put("/a", "1"), put("/b", "1")});
  write({erase("/a"), put("/b", "2"), put("/c", "2")}, {exists("/a")});
  const Result<Listing> now = list("/");
  ASSERT_TRUE(now);
  EXPECT_THAT(texts(now->items), ElementsAre("/b=2@1", "/c=2@2"));
}

// Without operations a transaction is a question: it answers the revision or a conflict.
TEST_P(StoreContract, ATransactionWithoutOperationsOnlyCompares) {
  const Revision made = write({put("/k", "1")});
  const Result<Committed> held = commit({unchanged("/k", made)}, {});
  ASSERT_TRUE(held) << held.error().to_string();
  EXPECT_EQ(held->revision, made);
  EXPECT_EQ(code_of(commit({absent("/k")}, {})), Code::conflict);
  EXPECT_EQ(revision(), made);
}

// What can never be right is refused as invalid and changes nothing.
TEST_P(StoreContract, InvalidTransactionsAreRefused) {
  const Revision made = write({put("/k", "1")});
  EXPECT_EQ(code_of(commit({}, {put("/a", "1"), put("/a", "2")})), Code::invalid);
  EXPECT_EQ(code_of(commit({exists("/k")}, {erase("/k"), put("/k", "2")})), Code::invalid);
  EXPECT_EQ(code_of(commit({}, {erase("/k")})), Code::invalid);
  EXPECT_EQ(code_of(commit({absent("/k")}, {erase("/k")})), Code::invalid);
  EXPECT_EQ(code_of(commit({exists("/other")}, {erase("/k")})), Code::invalid);
  EXPECT_EQ(code_of(commit({}, {put("", "1")})), Code::invalid);
  EXPECT_EQ(code_of(commit({absent("")}, {put("/a", "1")})), Code::invalid);
  EXPECT_EQ(code_of(commit({unchanged("/k", -2)}, {put("/a", "1")})), Code::invalid);
  EXPECT_EQ(revision(), made);
}

// The largest number of operations is carried out; one more is refused.
TEST_P(StoreContract, OperationsAreLimited) {
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < Transaction::kMaxOperations; ++i)
    operations.push_back(put("/" + std::to_string(i), "x"));
  const Revision made = write(operations);
  EXPECT_EQ(get("/127")->modified, (Place{made, 127}));
  operations.push_back(put("/one-more", "x"));
  EXPECT_EQ(code_of(commit({}, operations)), Code::invalid);
  std::vector<Compare> compares;
  for (const Operation& operation : operations) compares.push_back(absent(operation.key));
  EXPECT_EQ(code_of(commit(compares, {put("/a", "x")})), Code::invalid);
}

// A transaction of exactly the largest size is carried out; one byte more is refused.
TEST_P(StoreContract, SizeIsLimited) {
  const std::string half(Transaction::kMaxBytes / 2 - 2, 'v');
  write({put("/a", half), put("/b", half)});
  EXPECT_EQ(get("/b")->value.size(), half.size());
  EXPECT_EQ(code_of(commit({}, {put("/a", half), put("/b", half + "v")})), Code::invalid);
  EXPECT_EQ(get("/b")->value.size(), half.size());
}

// Values are bytes: empty ones, zero bytes and invalid UTF-8 come back as they were.
TEST_P(StoreContract, ValuesAndKeysAreOpaqueBytes) {
  const std::string bytes("\0\xff\n\xc3\x28\0", 6);
  const std::string key("/\0\xff\x01k", 5);
  write({put(key, bytes), put("/empty", "")});
  ASSERT_TRUE(get(key));
  EXPECT_EQ(get(key)->value.view(), bytes);
  EXPECT_EQ(get(key)->key, key);
  ASSERT_TRUE(get("/empty"));
  EXPECT_EQ(get("/empty")->value.view(), "");
}

// Of many transactions that all demand to be first, exactly one is.
TEST_P(StoreContract, ExactlyOneOfCompetingCreatesWins) {
  struct Race {
    static Task<void> create(Store& store, int number, int& winners, int& losers) {
      Transaction transaction;
      transaction.compares.push_back(absent("/prize"));
      transaction.operations.push_back(put("/prize", std::to_string(number)));
      const Result<Committed> committed = co_await store.commit(std::move(transaction));
      if (committed) {
        ++winners;
      } else if (committed.error().code == Code::conflict) {
        ++losers;
      }
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, int& winners, int& losers) {
      runtime::Scope scope(runtime);
      for (int i = 0; i < 40; ++i) scope.spawn(create(store, i, winners, losers));
      co_await scope.join();
    }
  };
  int winners = 0;
  int losers = 0;
  run(Race::all(runtime(), store(), winners, losers));
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(losers, 39);
}

// Transactions that are under way together: each succeeds or fails for itself, says the place that
// its changes have, and lists and watches tell the same.
TEST_P(StoreContract, TransactionsUnderWayTogetherKeepTheirPlaces) {
  struct Story {
    static Task<void> one(Store& store, int number, std::map<std::string, Place>& made,
                          std::vector<std::string>& refused) {
      const std::string key = "/n/" + std::to_string(number);
      Transaction transaction;
      if (number % 5 == 3) {  // this one cannot succeed
        transaction.compares.push_back(absent("/taken"));
        transaction.operations.push_back(put("/taken", "again"));
      } else if (number % 5 == 4) {
        transaction.compares.push_back(exists("/old/" + std::to_string(number)));
        transaction.operations.push_back(erase("/old/" + std::to_string(number)));
      }
      transaction.compares.push_back(absent(key));
      transaction.operations.push_back(put(key, "v"));
      transaction.operations.push_back(put(key + "/second", "v"));
      const auto before = static_cast<std::uint32_t>(transaction.operations.size() - 2);
      const Result<Committed> committed = co_await store.commit(std::move(transaction));
      if (!committed) {
        refused.push_back(key);
        co_return;
      }
      // An erasure before it in the transaction does not move it: positions are those asked for.
      made[key] = {committed->revision, committed->position + before};
      made[key + "/second"] = {committed->revision, committed->position + before + 1};
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store,
                          std::map<std::string, Place>& made, std::vector<std::string>& refused) {
      runtime::Scope scope(runtime);
      for (int i = 0; i < 100; ++i) scope.spawn(one(store, i, made, refused));
      co_await scope.join();
    }
  };
  write({put("/taken", "0")});
  for (int i = 4; i < 100; i += 5) write({put("/old/" + std::to_string(i), "0")});
  const Revision start = revision();
  const std::unique_ptr<Watch> watcher = watch("/", start);
  std::map<std::string, Place> made;
  std::vector<std::string> refused;
  run(Story::all(runtime(), store(), made, refused));
  EXPECT_EQ(made.size(), 160U);
  EXPECT_EQ(refused.size(), 20U);
  const Result<Listing> listing = list("/n/");
  ASSERT_TRUE(listing);
  std::map<std::string, Place> listed;
  for (const KeyValue& item : listing->items) listed[item.key] = item.modified;
  EXPECT_EQ(listed, made);
  std::map<std::string, Place> told;
  Place last{start, Place::kEnd};
  for (const Change& change : changes_until(*watcher, revision())) {
    EXPECT_LT(last, change.current.modified) << change.current.key;
    last = change.current.modified;
    if (!change.erased) told[change.current.key] = change.current.modified;
  }
  EXPECT_EQ(told, made);
  EXPECT_EQ(get("/taken")->value.view(), "0");
  EXPECT_TRUE(list("/old/")->items.empty());
}

// Counting up with compare-and-put from many fibers loses no step.
TEST_P(StoreContract, ConcurrentIncrementsAreNotLost) {
  struct Count {
    static Task<void> up(Store& store, int times, int& failures) {
      for (int done = 0; done < times;) {
        const Result<std::optional<KeyValue>> found = co_await store.get("/count");
        if (!found || !*found) {
          ++failures;
          co_return;
        }
        const int value = std::stoi(std::string((*found)->value.view()));
        Transaction transaction;
        transaction.compares.push_back(unchanged("/count", (*found)->modified.revision));
        transaction.operations.push_back(put("/count", std::to_string(value + 1)));
        const Result<Committed> committed = co_await store.commit(std::move(transaction));
        if (committed) ++done;
        if (!committed && committed.error().code != Code::conflict) ++failures;
      }
    }
    static Task<void> all(runtime::Runtime& runtime, Store& store, int& failures) {
      runtime::Scope scope(runtime);
      for (int i = 0; i < 8; ++i) scope.spawn(up(store, 10, failures));
      co_await scope.join();
    }
  };
  write({put("/count", "0")});
  int failures = 0;
  run(Count::all(runtime(), store(), failures));
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(get("/count")->value.view(), "80");
}

}  // namespace
}  // namespace fairlead::store
