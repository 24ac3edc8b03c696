#include "sim/checkers/checkers.h"

#include <gtest/gtest.h>

namespace fairlead::sim {
namespace {

using Contents = HistoryChecker::Contents;

// a=1 at 10, b=1 at 11, a=2 at 12, b erased at 13
HistoryChecker with_history() {
  HistoryChecker checker;
  checker.happened({10, "a", "1"});
  checker.happened({11, "b", "1"});
  checker.happened({12, "a", "2"});
  checker.happened({13, "b", std::nullopt});
  return checker;
}

// List, watch, cut, resume, 410, list again: all of it is a kept promise.
TEST(HistoryChecker, AcceptsAProperWatcher) {
  HistoryChecker checker = with_history();
  HistoryChecker::Watcher& watcher = checker.watcher("w");
  watcher.listed(10, {{"a", "1"}});
  watcher.watching(10);
  watcher.saw({11, "b", "1"});
  watcher.watching(11);
  watcher.saw({12, "a", "2"});
  watcher.bookmark(12);
  watcher.gone();
  watcher.listed(13, {{"a", "2"}});
  watcher.watching(13);
  watcher.at_rest({{"a", "2"}});
  EXPECT_EQ(checker.check(), Violations{});
}

// A watcher of some keys need not see the others.
TEST(HistoryChecker, AppliesFilters) {
  HistoryChecker checker = with_history();
  HistoryChecker::Watcher& watcher =
      checker.watcher("b only", [](const std::string& key) { return key == "b"; });
  watcher.watching(0);
  watcher.saw({11, "b", "1"});
  watcher.bookmark(12);
  watcher.saw({13, "b", std::nullopt});
  watcher.at_rest({});
  EXPECT_EQ(checker.check(), Violations{});
}

// Every way to break the promise is noticed.
TEST(HistoryChecker, FindsEachViolation) {
  const auto violations = [](const std::function<void(HistoryChecker::Watcher&)>& story) {
    HistoryChecker checker = with_history();
    story(checker.watcher("w"));
    return checker.check().size();
  };
  EXPECT_EQ(violations([](auto& w) {
              w.watching(10);
              w.saw({12, "a", "2"});
            }),
            1u)
      << "gap";
  EXPECT_EQ(violations([](auto& w) {
              w.watching(0);
              w.saw({10, "a", "1"});
              w.saw({10, "a", "1"});
            }),
            1u)
      << "repetition";
  EXPECT_EQ(violations([](auto& w) {
              w.watching(0);
              w.saw({10, "a", "9"});
            }),
            1u)
      << "wrong value";
  EXPECT_EQ(violations([](auto& w) {
              w.watching(13);
              w.saw({14, "c", "1"});
            }),
            1u)
      << "invented";
  EXPECT_EQ(violations([](auto& w) { w.listed(11, {{"a", "1"}}); }), 1u) << "incomplete list";
  EXPECT_EQ(violations([](auto& w) {
              w.watching(0);
              w.bookmark(10);
            }),
            1u)
      << "early bookmark";
  EXPECT_EQ(violations([](auto& w) {
              w.watching(0);
              w.saw({10, "a", "1"});
              w.watching(11);
            }),
            1u)
      << "resume with a gap";
  EXPECT_EQ(violations([](auto& w) {
              w.gone();
              w.watching(11);
            }),
            1u)
      << "on after 410";
  EXPECT_EQ(violations([](auto& w) { w.at_rest({{"a", "1"}}); }), 1u) << "stale cache";
}

// The last acknowledged value, or a later one of unknown fate, may be stored.
TEST(DurabilityChecker, AcceptsWhatWasAcknowledgedOrUnknown) {
  DurabilityChecker checker;
  checker.acknowledged(checker.attempt("a", "1"), 1);
  checker.acknowledged(checker.attempt("a", "2"), 2);
  checker.attempt("a", "3");
  checker.refused(checker.attempt("b", "1"));
  checker.acknowledged(checker.attempt("c", "1"), 3);
  checker.acknowledged(checker.attempt("c", std::nullopt), 4);
  EXPECT_EQ(checker.check({{"a", {2, "2"}}}), Violations{});
  EXPECT_EQ(checker.check({{"a", {5, "3"}}}), Violations{});
}

// Loss, rollback, resurrection, phantoms and inventions are each noticed.
TEST(DurabilityChecker, FindsEachViolation) {
  DurabilityChecker checker;
  checker.acknowledged(checker.attempt("a", "1"), 1);
  checker.acknowledged(checker.attempt("a", "2"), 2);
  EXPECT_EQ(checker.check({}).size(), 1u) << "lost";
  EXPECT_EQ(checker.check({{"a", {1, "1"}}}).size(), 1u) << "rolled back";
  EXPECT_EQ(checker.check({{"a", {2, "1"}}}).size(), 1u) << "wrong value";
  EXPECT_EQ(checker.check({{"a", {2, "2"}}, {"z", {3, "1"}}}).size(), 1u) << "from nowhere";
  checker.refused(checker.attempt("b", "1"));
  EXPECT_EQ(checker.check({{"a", {2, "2"}}, {"b", {3, "1"}}}).size(), 1u) << "refused, yet there";
  checker.acknowledged(checker.attempt("c", "1"), 2);
  EXPECT_EQ(checker.check({{"a", {2, "2"}}, {"c", {2, "1"}}}).size(), 1u) << "version given twice";
}

// A list anew needs a reason: a server that started later, a compaction, too many changes.
TEST(RelistChecker, WantsAReason) {
  const auto violations = [](void (*tell)(RelistChecker&)) {
    RelistChecker checker;
    checker.set_history(3);
    for (std::uint64_t version = 10; version <= 100; version += 10) checker.happened(version);
    tell(checker);
    return checker.check().size();
  };
  EXPECT_EQ(violations([](RelistChecker& checker) { checker.relisted("w", 90, 100); }), 1U);
  EXPECT_EQ(violations([](RelistChecker& checker) { checker.relisted("w", 70, 100); }), 1U);
  EXPECT_EQ(violations([](RelistChecker& checker) { checker.relisted("w", 60, 100); }), 0U);
  EXPECT_EQ(violations([](RelistChecker& checker) {
              checker.server_started(95);
              checker.relisted("w", 90, 100);
              checker.relisted("w", 100, 100);  // once is enough
            }),
            1U);
  EXPECT_EQ(violations([](RelistChecker& checker) {
              checker.set_compacted([] { return std::uint64_t{80}; });
              checker.relisted("w", 75, 100);
              checker.relisted("w", 85, 100);
            }),
            1U);
}

// Transactions are whole or absent, in one place.
TEST(AtomicityChecker, FindsHalfATransaction) {
  AtomicityChecker checker;
  const auto whole = checker.attempt(2);
  checker.attempt(3);  // never made
  checker.happened(whole, 7);
  EXPECT_EQ(checker.check().size(), 1U);
  checker.happened(whole, 7);
  EXPECT_TRUE(checker.check().empty());
  EXPECT_EQ(checker.whole_count(), 1U);
  const auto scattered = checker.attempt(2);
  checker.happened(scattered, 8);
  checker.happened(scattered, 9);
  EXPECT_EQ(checker.check().size(), 1U);
}

}  // namespace
}  // namespace fairlead::sim
