// Contract: lists. Order, prefixes, paging, old revisions, compaction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/store/contract/contract.h"

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Code code_of(const Result<Listing>& listing) {
  EXPECT_FALSE(listing) << "listed " << listing->items.size() << " items";
  return listing ? Code::internal : listing.error().code;
}

std::vector<std::string> keys(const Result<Listing>& listing) {
  std::vector<std::string> keys;
  EXPECT_TRUE(listing) << listing.error().to_string();
  if (!listing) return keys;
  for (const KeyValue& item : listing->items) keys.push_back(item.key);
  return keys;
}

// An empty store lists nothing, and a key that never was is not found.
TEST_P(StoreContract, AnEmptyStoreHoldsNothing) {
  const Result<Listing> all = list("");
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_THAT(all->items, IsEmpty());
  EXPECT_FALSE(all->more);
  EXPECT_EQ(all->revision, revision());
  EXPECT_EQ(get("/k"), std::nullopt);
}

// Keys come in byte order, bytes above 0x7f last, each with where and when it was made.
TEST_P(StoreContract, ListsAreInByteOrder) {
  const Revision first = write({put("/b", "1"), put("/a/b", "2"), put("/a", "3")});
  const Revision second = write({put("/a\xff", "4"), put("/a/b", "5"), put("/a-b", "6")});
  const Result<Listing> all = list("/");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->revision, second);
  EXPECT_THAT(texts(all->items),
              ElementsAre("/a=3@2", "/a-b=6@2", "/a/b=5@1", "/a\xff=4@0", "/b=1@0"));
  EXPECT_EQ(all->items[2].created, first);
  EXPECT_EQ(all->items[2].modified.revision, second);
  EXPECT_EQ(all->items[4].modified.revision, first);
}

// A prefix takes exactly the keys that begin with it, the key equal to it included.
TEST_P(StoreContract, PrefixesAreExact) {
  write({put("/a", "1"), put("/a/", "2"), put("/a/x", "3"), put("/a0", "4"), put("/b", "5")});
  EXPECT_THAT(keys(list("/a/")), ElementsAre("/a/", "/a/x"));
  EXPECT_THAT(keys(list("/a")), ElementsAre("/a", "/a/", "/a/x", "/a0"));
  EXPECT_THAT(keys(list("/a/x")), ElementsAre("/a/x"));
  EXPECT_THAT(keys(list("/c")), IsEmpty());
  EXPECT_THAT(keys(list("")), SizeIs(5));
}

// Prefixes that end in 0xff have no simple successor; they must still be exact.
TEST_P(StoreContract, PrefixesOfHighBytesAreExact) {
  write({put("\xfe\xff", "1"), put("\xff", "2"), put("\xff\xff", "3"), put("\xff\xff\x01", "4"),
         put(std::string("\xff\xff\0", 3), "5"), put("a\xff", "6"), put("a\xff\xff", "7"),
         put("b", "8")});
  EXPECT_THAT(keys(list("\xff\xff")),
              ElementsAre("\xff\xff", std::string("\xff\xff\0", 3), "\xff\xff\x01"));
  EXPECT_THAT(keys(list("\xff")),
              ElementsAre("\xff", "\xff\xff", std::string("\xff\xff\0", 3), "\xff\xff\x01"));
  EXPECT_THAT(keys(list("a\xff")), ElementsAre("a\xff", "a\xff\xff"));
  EXPECT_THAT(keys(list("\xfe")), ElementsAre("\xfe\xff"));
  EXPECT_THAT(keys(list("")), SizeIs(8));
}

// Pages of any size put together are the whole list, and only the last says there is no more.
TEST_P(StoreContract, PagesAddUp) {
  std::vector<Operation> operations;
  std::vector<std::string> expected;
  for (int i = 10; i < 33; ++i) {
    expected.push_back("/p/" + std::to_string(i));
    operations.push_back(put(expected.back(), "v"));
  }
  operations.push_back(put("/o", "before"));
  operations.push_back(put("/q", "behind"));
  const Revision made = write(operations);
  for (const std::size_t limit : {1u, 2u, 7u, 22u, 23u, 24u}) {
    std::vector<std::string> seen;
    std::string after;
    for (bool more = true; more;) {
      const Result<Listing> page = list("/p/", {.at = made, .after = after, .limit = limit});
      ASSERT_TRUE(page) << page.error().to_string();
      ASSERT_THAT(page->items, testing::Not(IsEmpty()));
      EXPECT_LE(page->items.size(), limit);
      EXPECT_EQ(page->revision, made);
      for (const KeyValue& item : page->items) seen.push_back(item.key);
      after = seen.back();
      more = page->more;
      if (more) EXPECT_EQ(page->items.size(), limit);
    }
    EXPECT_EQ(seen, expected) << "limit " << limit;
  }
}

// `after` need not be a key that exists, nor lie within the prefix.
TEST_P(StoreContract, AfterMayBeAnyText) {
  write({put("/p/a", "1"), put("/p/b", "2"), put("/p/b\xff", "3"), put("/p/c", "4")});
  EXPECT_THAT(keys(list("/p/", {.after = "/p/aa"})), ElementsAre("/p/b", "/p/b\xff", "/p/c"));
  EXPECT_THAT(keys(list("/p/", {.after = "/p/b"})), ElementsAre("/p/b\xff", "/p/c"));
  EXPECT_THAT(keys(list("/p/", {.after = "/a"})), SizeIs(4));
  EXPECT_THAT(keys(list("/p/", {.after = "/p/c"})), IsEmpty());
  EXPECT_THAT(keys(list("/p/", {.after = "/q"})), IsEmpty());
  EXPECT_THAT(keys(list("/p/", {.after = "\xff\xff"})), IsEmpty());
}

// A list at an old revision shows the store as it was: values, erased keys, and places of then.
TEST_P(StoreContract, ListsShowThePast) {
  const Revision first = write({put("/a", "1"), put("/b", "1")});
  const Revision second = write({put("/a", "2"), erase("/b"), put("/c", "2")}, {exists("/b")});
  const Revision third = write({put("/b", "3"), erase("/c")}, {exists("/c")});

  const Result<Listing> at_first = list("/", {.at = first});
  ASSERT_TRUE(at_first) << at_first.error().to_string();
  EXPECT_EQ(at_first->revision, first);
  EXPECT_THAT(texts(at_first->items), ElementsAre("/a=1@0", "/b=1@1"));
  EXPECT_EQ(at_first->items[0].modified.revision, first);

  const Result<Listing> at_second = list("/", {.at = second});
  ASSERT_TRUE(at_second);
  EXPECT_EQ(at_second->revision, second);
  EXPECT_THAT(texts(at_second->items), ElementsAre("/a=2@0", "/c=2@2"));
  EXPECT_EQ(at_second->items[0].created, first);

  const Result<Listing> at_third = list("/", {.at = third});
  ASSERT_TRUE(at_third);
  EXPECT_THAT(texts(at_third->items), ElementsAre("/a=2@0", "/b=3@0"));
  EXPECT_EQ(at_third->items[1].created, third);
}

// Paging at an old revision is not disturbed by what is written between the pages.
TEST_P(StoreContract, PagesAtOneRevisionDoNotMove) {
  const Revision made = write({put("/a", "1"), put("/b", "1"), put("/c", "1"), put("/d", "1")});
  const Result<Listing> first = list("/", {.at = made, .limit = 2});
  ASSERT_TRUE(first);
  write({put("/b1", "2"), put("/c", "2"), erase("/d"), erase("/a")}, {exists("/a"), exists("/d")});
  const Result<Listing> second = list("/", {.at = made, .after = "/b", .limit = 2});
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_THAT(texts(first->items), ElementsAre("/a=1@0", "/b=1@1"));
  EXPECT_THAT(texts(second->items), ElementsAre("/c=1@2", "/d=1@3"));
  EXPECT_TRUE(first->more);
  EXPECT_FALSE(second->more);
}

// Nobody can list the future.
TEST_P(StoreContract, ListsOfTheFutureAreInvalid) {
  const Revision made = write({put("/a", "1")});
  EXPECT_EQ(code_of(list("/", {.at = made + 1'000'000})), Code::invalid);
  EXPECT_EQ(code_of(list("/", {.at = -1})), Code::invalid);
}

// After compaction, earlier revisions are gone, later ones and the present are complete.
TEST_P(StoreContract, CompactionForgetsThePast) {
  const Revision first = write({put("/a", "1"), put("/b", "1"), put("/z", "1")});
  write({put("/a", "2"), erase("/b")}, {exists("/b")});
  const Revision third = write({put("/c", "3")});
  const Revision fourth = write({put("/a", "4"), put("/b", "4")});
  ASSERT_TRUE(compact(third));
  EXPECT_EQ(code_of(list("/", {.at = first})), Code::gone);
  EXPECT_EQ(code_of(list("/", {.at = third - 1})), Code::gone);
  const Result<Listing> at_third = list("/", {.at = third});
  ASSERT_TRUE(at_third) << at_third.error().to_string();
  EXPECT_THAT(texts(at_third->items), ElementsAre("/a=2@0", "/c=3@0", "/z=1@2"));
  const Result<Listing> now = list("/");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->revision, fourth);
  EXPECT_THAT(texts(now->items), ElementsAre("/a=4@0", "/b=4@1", "/c=3@0", "/z=1@2"));
  EXPECT_EQ(get("/a")->created, first);
  EXPECT_EQ(get("/z")->value.view(), "1");
  // Compares still work on values whose history is gone.
  EXPECT_TRUE(commit({unchanged("/z", first)}, {put("/z", "5")}));
}

// Compacting up to the present keeps the present; compacting the past again is harmless.
TEST_P(StoreContract, CompactionMayBeRepeatedButNotForeseen) {
  const Revision first = write({put("/a", "1")});
  const Revision second = write({put("/a", "2"), put("/b", "2")});
  ASSERT_TRUE(compact(second));
  EXPECT_TRUE(compact(second));
  EXPECT_TRUE(compact(first));
  EXPECT_EQ(code_of(list("/", {.at = first})), Code::gone);
  const Result<Listing> now = list("/", {.at = second});
  ASSERT_TRUE(now) << now.error().to_string();
  EXPECT_THAT(texts(now->items), ElementsAre("/a=2@0", "/b=2@1"));
  const Result<> future = compact(second + 1'000'000);
  ASSERT_FALSE(future);
  EXPECT_EQ(future.error().code, Code::invalid);
  EXPECT_GT(write({put("/a", "3")}), second);
}

// Larger than any buffer or page inside: a thousand values of odd sizes come back whole.
TEST_P(StoreContract, LargeListsAreComplete) {
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 1'000;) {
    std::vector<Operation> operations;
    for (int j = 0; j < 100; ++j, ++i) {
      const std::string key = "/" + std::to_string(i * 7919 % 1'000);
      expected[key] = std::string(static_cast<std::size_t>(i * 31 % 2'500), 'x') + key;
      operations.push_back(put(key, expected[key]));
    }
    write(operations);
  }
  const Result<Listing> all = list("/");
  ASSERT_TRUE(all) << all.error().to_string();
  std::map<std::string, std::string> seen;
  for (const KeyValue& item : all->items) seen[item.key] = std::string(item.value.view());
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(all->items.size(), expected.size());
}

}  // namespace
}  // namespace fairlead::store
