#include "api/watchcache/kind_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/resource/test_kinds.h"

namespace fairlead::watchcache {
namespace {

const resource::Kind& moorings() {
  return *resource::test_catalog().find("fairlead.dev", "v1alpha1", "moorings");
}

int field(std::string_view path) {
  const auto& selectable = moorings().selectable;
  const auto at = std::ranges::find(selectable, path);
  EXPECT_NE(at, selectable.end());
  return static_cast<int>(at - selectable.begin());
}

ObjectRef mooring(std::string_view name, std::string_view node, store::Place place,
                  std::string_view label = "") {
  JsonObject metadata{{"name", name}, {"namespace", "ns"}, {"uid", name}};
  if (!label.empty()) metadata["labels"] = JsonObject{{"l", label}};
  const Json object =
      JsonObject{{"metadata", std::move(metadata)}, {"spec", JsonObject{{"node", node}}}};
  return decode_stored(moorings(), encode_stored(object).view(), place).value();
}

Selection on_node(std::string node) {
  Selection selection;
  selection.fields.push_back({field("spec.node"), std::move(node), true});
  return selection;
}

// What a subscription has to say, as "TYPE name@version".
std::vector<std::string> drain(Subscription& subscription) {
  std::vector<std::string> seen;
  while (auto item = subscription.take()) {
    const ObjectRef& shown = item->event->shown(item->type);
    seen.push_back(std::string(event_type_name(item->type)) + " " + shown->name + "@" +
                   std::to_string(shown->place.revision));
  }
  return seen;
}

using Seen = std::vector<std::string>;

// A change into or out of a selection is an addition or a deletion to whoever selected.
TEST(KindCache, SelectionsTurnChangesIntoWhatTheyMean) {
  KindCache cache(moorings(), {});
  cache.reset({}, 10);
  auto on_a = cache.subscribe(on_node("a"), store::Place::end_of(10)).value();
  auto everything = cache.subscribe({}, store::Place::end_of(10)).value();
  cache.apply_put(mooring("x", "a", {11, 0}));
  cache.apply_put(mooring("x", "b", {12, 0}));
  cache.apply_put(mooring("x", "a", {13, 0}));
  cache.apply_erase("ns/x", {14, 0});
  EXPECT_EQ(drain(*on_a), (Seen{"ADDED x@11", "DELETED x@12", "ADDED x@13", "DELETED x@14"}));
  EXPECT_EQ(drain(*everything),
            (Seen{"ADDED x@11", "MODIFIED x@12", "MODIFIED x@13", "DELETED x@14"}));
}

// A watch that is cut after any event goes on from exactly there: nothing lost, nothing twice.
TEST(KindCache, AWatchResumesAfterEveryEvent) {
  KindCache cache(moorings(), {});
  cache.reset({}, 1);
  // Two changes share revision 2, as in one transaction.
  cache.apply_put(mooring("x", "a", {2, 0}));
  cache.apply_put(mooring("y", "a", {2, 1}));
  cache.apply_put(mooring("x", "b", {3, 0}));
  cache.apply_erase("ns/y", {4, 0});
  std::vector<store::Place> places;
  auto first = cache.subscribe({}, store::Place::end_of(1)).value();
  Seen whole;
  while (auto item = first->take()) {
    places.push_back(item->event->place());
    whole.emplace_back(item->event->frame(item->type).view());
  }
  ASSERT_EQ(whole.size(), 4u);
  for (std::size_t cut = 0; cut < places.size(); ++cut) {
    auto rest = cache.subscribe({}, places[cut]).value();
    Seen frames(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut) + 1);
    while (auto item = rest->take()) frames.emplace_back(item->event->frame(item->type).view());
    EXPECT_EQ(frames, whole) << "cut after event " << cut;
  }
}

// History is bounded; what lies before it is gone, for watches and for lists alike.
TEST(KindCache, OldPlacesAreGone) {
  KindCache cache(moorings(), {.events = 3});
  cache.reset({}, 0);
  for (int i = 1; i <= 10; ++i) cache.apply_put(mooring("x", std::to_string(i), {i, 0}));
  EXPECT_EQ(cache.history_size(), 3u);
  EXPECT_EQ(cache.subscribe({}, {6, 0}).error().code, Code::gone);
  EXPECT_EQ(cache.list({}, {.at = store::Place{6, 0}}).error().code, Code::gone);
  EXPECT_EQ(drain(*cache.subscribe({}, {8, 0}).value()), (Seen{"MODIFIED x@9", "MODIFIED x@10"}));
}

// A page read later shows the objects as they were when the first page was read.
TEST(KindCache, PagesShowOneMoment) {
  KindCache cache(moorings(), {});
  std::vector<ObjectRef> objects;
  for (const char* name : {"a", "b", "c", "d", "e"}) objects.push_back(mooring(name, "n", {1, 0}));
  cache.reset(std::move(objects), 1);
  const store::Place then = store::Place::end_of(1);
  Page page = cache.list({}, {.at = then, .limit = 2}).value();
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.remaining, 3u);

  cache.apply_erase("ns/c", {2, 0});
  cache.apply_put(mooring("d", "moved", {3, 0}));
  cache.apply_put(mooring("bb", "n", {4, 0}));
  std::vector<std::string> names;
  for (const ObjectRef& object : page.objects) names.push_back(object->name);
  while (page.more) {
    page = cache.list({}, {.at = then, .after = page.last_key, .limit = 2}).value();
    for (const ObjectRef& object : page.objects) {
      names.push_back(object->name);
      EXPECT_EQ(object->fields[static_cast<std::size_t>(field("spec.node"))], "n");
    }
  }
  EXPECT_EQ(names, (Seen{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(cache.list({}, {}).value().objects.size(), 5u);
}

// Someone who does not keep up is cut, and hears of it; the others are not held up.
TEST(KindCache, SlowWatchersAreCut) {
  KindCache cache(moorings(), {.watcher_events = 4});
  cache.reset({}, 0);
  auto slow = cache.subscribe({}, store::Place::end_of(0)).value();
  auto quick = cache.subscribe({}, store::Place::end_of(0)).value();
  std::size_t heard = 0;
  for (int i = 1; i <= 10; ++i) {
    cache.apply_put(mooring("x", "n", {i, 0}));
    heard += drain(*quick).size();
  }
  EXPECT_EQ(heard, 10u);
  EXPECT_FALSE(quick->cut());
  EXPECT_TRUE(slow->cut());
  EXPECT_EQ(drain(*slow).size(), 4u);
}

// A few large events are as much as many small ones; but one alone always gets through.
TEST(KindCache, WatchersAreCutByBytesToo) {
  const std::size_t one = Event(nullptr, mooring("x", "n", {1, 0}), {1, 0}).bytes();
  KindCache cache(moorings(), {.watcher_bytes = 3 * one});
  KindCache tiny(moorings(), {.watcher_bytes = 1});
  cache.reset({}, 0);
  tiny.reset({}, 0);
  auto slow = cache.subscribe({}, store::Place::end_of(0)).value();
  auto quick = tiny.subscribe({}, store::Place::end_of(0)).value();
  for (int i = 1; i <= 10; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    cache.apply_put(mooring(name, "n", {i, 0}));
    tiny.apply_put(mooring(name, "n", {i, 0}));
    EXPECT_EQ(drain(*quick).size(), 1u);
  }
  EXPECT_FALSE(quick->cut());
  EXPECT_TRUE(slow->cut());
  EXPECT_EQ(drain(*slow).size(), 3u);
  // Who resumes gets the whole history at once, whatever its size, and is not cut for that.
  auto resumed = cache.subscribe({}, store::Place::end_of(1)).value();
  EXPECT_FALSE(resumed->cut());
  EXPECT_EQ(drain(*resumed).size(), 9u);
}

// What nobody has ever watched is remembered for the pages of lists only; once somebody has, who
// loses the connection finds all of it, also when all of them lost it.
TEST(KindCache, LessIsRememberedOfWhatNobodyWatches) {
  const std::size_t one = Event(nullptr, mooring("x", "n", {1, 0}), {1, 0}).bytes();
  KindCache cache(moorings(), {.bytes = 8 * one + 64});
  cache.reset({}, 0);
  std::int64_t revision = 0;
  const auto put = [&](int count) {
    for (int i = 0; i < count; ++i) {
      cache.apply_put(mooring("x", "n", {++revision, 0}));
      cache.apply_erase("ns/x", {++revision, 0});
    }
  };
  put(10);
  EXPECT_EQ(cache.history_size(), 2U);
  {
    auto watched = cache.subscribe({}, store::Place::end_of(revision)).value();
  }
  put(10);
  EXPECT_EQ(cache.history_size(), 8U);
}

// What never was an object, written and erased below the store's root by somebody else, is no event
// and does no harm.
TEST(KindCache, AnErasureOfWhatWasNeverKnownIsNothing) {
  KindCache cache(moorings(), {});
  cache.reset({mooring("x", "n", {1, 0})}, 1);
  auto watcher = cache.subscribe({}, store::Place::end_of(1)).value();
  EXPECT_FALSE(cache.apply_erase("ns/foreign", {2, 0}));
  EXPECT_TRUE(watcher->empty());
  EXPECT_EQ(cache.history_size(), 0U);
  EXPECT_TRUE(cache.apply_erase("ns/x", {3, 0}));
  EXPECT_FALSE(watcher->empty());
}

// The index finds exactly the watchers whose term fits the old or the new object.
TEST(SubscriberIndex, CandidatesAreThoseThatMayMatch) {
  SubscriberIndex index;
  Selection named, everywhere, elsewhere;
  named.name = "x";
  elsewhere.namespace_name = "other";
  index.add(1, on_node("a"));
  index.add(2, on_node("b"));
  index.add(3, on_node("c"));
  index.add(4, named);
  index.add(5, everywhere);
  index.add(6, elsewhere);
  const ObjectRef before = mooring("x", "a", {1, 0});
  const ObjectRef after = mooring("x", "b", {2, 0});
  using Ids = std::vector<SubscriberIndex::Id>;
  EXPECT_EQ(index.candidates(before.get(), after.get()), (Ids{1, 2, 4, 5}));
  EXPECT_EQ(index.candidates(nullptr, after.get()), (Ids{2, 4, 5}));
  index.remove(2, on_node("b"));
  EXPECT_EQ(index.candidates(nullptr, after.get()), (Ids{4, 5}));
}

// Labels and inequalities narrow what the index found.
TEST(SubscriberIndex, TheRestOfASelectionIsChecked) {
  Selection selection = on_node("a");
  selection.fields.push_back({field("status.line"), "", false});
  EXPECT_FALSE(selection.matches(*mooring("x", "a", {1, 0})));
  Selection labelled;
  labelled.labels = [](const Object& object) { return object.label("l") == "1"; };
  EXPECT_TRUE(labelled.matches(*mooring("x", "a", {1, 0}, "1")));
  EXPECT_FALSE(labelled.matches(*mooring("x", "a", {1, 0}, "2")));
}

}  // namespace
}  // namespace fairlead::watchcache
