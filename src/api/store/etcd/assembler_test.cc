#include "api/store/etcd/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace fairlead::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Watch responses written briefly; owns the texts they point to.
class Responses {
 public:
  using Event = wire::etcd::Event;
  Event put(std::string_view key, Revision revision, std::uint32_t position) {
    return {.erased = false,
            .kv = {.key = text(keys.data(key)),
                   .create_revision = 2,
                   .mod_revision = revision,
                   .version = 1,
                   .value = text(seal_value(position, "v"))}};
  }
  Event erase(std::string_view key, Revision revision) {
    return {.erased = true, .kv = {.key = text(keys.data(key)), .mod_revision = revision}};
  }
  Event tick(Revision revision) {
    return {.erased = false,
            .kv = {.key = keys.tick(), .mod_revision = revision, .value = text("x")}};
  }
  static wire::etcd::WatchResponse of(std::vector<Event> events, bool fragment = false) {
    wire::etcd::WatchResponse response;
    response.events = std::move(events);
    response.fragment = fragment;
    return response;
  }
  EtcdKeys keys{"/r/"};

 private:
  std::string_view text(std::string value) { return texts_.emplace_back(std::move(value)); }
  std::deque<std::string> texts_;
};

std::vector<std::string> shown(const Result<std::vector<RevisionChanges>>& revisions) {
  if (!revisions) return {revisions.error().to_string()};
  std::vector<std::string> lines;
  for (const RevisionChanges& one : *revisions) {
    std::string line = std::to_string(one.revision) + ":";
    for (const Change& change : one.changes)
      line += (change.erased ? " -" : " ") + change.current.key + "@" +
              std::to_string(change.current.modified.position);
    lines.push_back(line);
  }
  return lines;
}

// An erasure is one after the event before it, across all keys of the root.
TEST(EtcdAssembler, CountsPositions) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  const auto revisions =
      assembler.take(made.of({made.put("a", 6, 0), made.erase("b", 6), made.put("c", 6, 2),
                              made.erase("d", 6), made.erase("a", 7)}));
  EXPECT_THAT(shown(revisions), ElementsAre("6: a@0 -b@1 c@2 -d@3", "7: -a@0"));
  EXPECT_EQ(assembler.position(), 7);
}

// Where a transaction of a group failed, positions are left out; erasures stay between their
// neighbours.
TEST(EtcdAssembler, PositionsMayBeLeftOut) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  const auto revisions = assembler.take(
      made.of({made.put("a", 6, 3), made.erase("b", 6), made.put("c", 6, 9), made.erase("d", 6)}));
  EXPECT_THAT(shown(revisions), ElementsAre("6: a@3 -b@4 c@9 -d@10"));
}

// What was known before the watch began is not told again.
TEST(EtcdAssembler, DropsWhatIsKnown) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  EXPECT_THAT(shown(assembler.take(made.of({made.put("a", 5, 0), made.put("b", 5, 1)}))),
              IsEmpty());
  EXPECT_THAT(shown(assembler.take(made.of({made.put("a", 5, 0), made.put("c", 8, 0)}))),
              ElementsAre("8: c@0"));
}

// A revision that is cut between two fragments is told once, whole.
TEST(EtcdAssembler, JoinsFragments) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  EXPECT_THAT(shown(assembler.take(made.of({made.put("a", 6, 0), made.put("a", 7, 0)}, true))),
              ElementsAre("6: a@0"));
  EXPECT_EQ(assembler.position(), 6);
  EXPECT_THAT(shown(assembler.take(made.of({made.erase("b", 7)}, true))), IsEmpty());
  EXPECT_THAT(shown(assembler.take(made.of({made.erase("c", 7), made.put("d", 9, 0)}))),
              ElementsAre("7: a@0 -b@1 -c@2", "9: d@0"));
}

// The store's own keys move the watch on without being changes.
TEST(EtcdAssembler, TicksAreEmptyRevisions) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  EXPECT_THAT(shown(assembler.take(made.of({made.tick(6)}))), ElementsAre("6:"));
}

// A value that someone else wrote below the root is counted and left out; the others keep their
// positions.
TEST(EtcdAssembler, LeavesOutForeignValues) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  Responses::Event foreign = made.put("x", 6, 0);
  foreign.kv.value = "not ours";
  EXPECT_THAT(shown(assembler.take(made.of({foreign, made.erase("b", 6)}))),
              ElementsAre("6: -b@1"));
  EXPECT_EQ(assembler.foreign_values(), 1U);
}

// Events that go back in history are never passed on.
TEST(EtcdAssembler, RefusesToGoBack) {
  Responses made;
  EtcdAssembler assembler(made.keys, 5);
  const auto back = assembler.take(made.of({made.put("a", 9, 0), made.put("b", 8, 0)}));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Code::corrupt);
}

}  // namespace
}  // namespace fairlead::store
