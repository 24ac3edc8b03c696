#include "api/apiserver/object_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/apimachinery/generate_name.h"
#include "api/store/transaction.h"
#include "foundation/base/check.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::group_resource;
using apimachinery::refuse;
using watchcache::ObjectRef;

// One conflict costs one look at the store. Under contention every round lets one writer through,
// so this many rounds serve that many rivals; whoever loses them all is told to come back.
constexpr int kMaxAttempts = 200;

// What a live object takes as a value, and a copy of it with changes.
constexpr std::size_t kMemoryPerByte = 6;

template <class Why>
std::unexpected<Refusal> failed(Why why) {
  return std::unexpected(Refusal(std::move(why)));
}

}  // namespace

struct ObjectWriter::Draft {
  std::unique_ptr<JsonArena> memory{};  // of live_json, and of what a plan makes beside it
  ObjectRef live{};                     // null if there is none
  std::optional<Json> live_json{};
  Change change{};
  Bytes stored{};                           // put
  std::optional<std::uint32_t> position{};  // of its operation in the transaction
  std::string name;
  bool name_taken = false;  // create: an object of that name exists
};

// One look at all items: what to commit, or why not.
struct ObjectWriter::Round {
  std::size_t items;
  store::Transaction transaction;
  Admission::Holds holds;
  std::vector<Draft> drafts;
  std::optional<Status> refusal;
  bool name_generated = false;  // the refusal is a name that was drawn: draw another
};

Task<Result<bool>> Admission::catch_up(const std::vector<WriteItem>&) { co_return false; }

ObjectWriter::ObjectWriter(store::Store& store, watchcache::WatchCache& cache)
    : store_(store), cache_(cache) {}

// Adds the item's compares and operations to the round's transaction, as the cache sees the world
// now.
Answer<ObjectWriter::Draft> ObjectWriter::draft(const WriteItem& item, Round& round) const {
  store::Transaction& transaction = round.transaction;
  const resource::Kind& kind = *item.kind;
  const watchcache::KindCache& objects = cache_.of(kind);
  const auto find = [&](std::string_view name) {
    return objects.find(watchcache::object_key(kind, item.namespace_name, name));
  };

  const ObjectRef live = item.create ? nullptr : find(item.name);
  std::unique_ptr<JsonArena> memory;
  std::optional<Json> live_json;
  if (live) {
    memory = std::make_unique<JsonArena>(kMemoryPerByte * live->json.size());
    live_json.emplace(live->decode(memory.get()));
  }
  Answer<Change> change = item.plan(live_json ? &*live_json : nullptr);
  if (!change) return refuse(change.error());

  Draft draft{.memory = std::move(memory),
              .live = live,
              .live_json = std::move(live_json),
              .change = std::move(*change),
              .name = item.name};
  if (draft.change.creates) {
    draft.name = wire::find_string(draft.change.object, "metadata.name");
    if (find(draft.name)) {
      draft.name_taken = true;
      return draft;
    }
  }
  if (draft.change.kind == Change::Kind::none) return draft;

  const bool erases = draft.change.kind == Change::Kind::erase;
  const std::string key = watchcache::store_key(kind, item.namespace_name, draft.name);
  transaction.compares.push_back({key, live ? live->place.revision : 0});
  // The items of one transaction are decided on one state: a second compare of a key says the same.
  for (const store::Compare& condition : item.conditions)
    if (!store::compares(transaction, condition.key)) transaction.compares.push_back(condition);
  draft.position = static_cast<std::uint32_t>(transaction.operations.size());
  transaction.operations.push_back(
      {erases ? store::Operation::Kind::erase : store::Operation::Kind::put, key, {}});
  const Admission::Proposal proposal{
      .kind = kind,
      .namespace_name = item.namespace_name,
      .name = draft.name,
      .attributes = item.attributes,
      .live = draft.live_json ? &*draft.live_json : nullptr,
      .desired = erases ? nullptr : &draft.change.object,
      .together = round.items,
      .holds = round.holds,
  };
  for (Admission* admission : admissions_)
    if (Answer<> admitted = admission->admit(proposal, transaction); !admitted)
      return refuse(admitted.error());
  if (!erases) {
    draft.stored = watchcache::encode_stored(draft.change.object);
    for (Admission* admission : admissions_)
      if (Answer<> admitted = admission->admit_size(proposal, draft.stored.size()); !admitted)
        return refuse(admitted.error());
    transaction.operations[*draft.position].value = draft.stored;
  }
  return draft;
}

Task<WriteResult<Written>> ObjectWriter::write(WriteItem item, bool dry_run) {
  std::vector<WriteItem> items;
  items.push_back(std::move(item));
  FL_CO_TRY(std::vector<Written> written, co_await write_all(std::move(items), dry_run));
  co_return std::move(written.front());
}

// Everything as the cache sees it now; stops at the first refusal.
ObjectWriter::Round ObjectWriter::draft_all(const std::vector<WriteItem>& items) const {
  Round round{.items = items.size()};
  for (std::size_t i = 0; i < items.size() && !round.refusal; ++i) {
    Answer<Draft> drafted = draft(items[i], round);
    if (!drafted) {
      round.refusal = std::move(drafted).error();
    } else if (drafted->name_taken) {
      round.name_generated = is_generated(items[i], *drafted);
      round.refusal = name_taken(items[i], *drafted);
    } else {
      round.drafts.push_back(std::move(*drafted));
    }
    if (round.refusal && items.size() > 1)
      round.refusal->message = "operations[" + std::to_string(i) + "]: " + round.refusal->message;
  }
  return round;
}

bool ObjectWriter::is_generated(const WriteItem& item, const Draft& draft) {
  return item.create && !wire::find_string(draft.change.object, "metadata.generateName").empty();
}

Status ObjectWriter::name_taken(const WriteItem& item, const Draft& draft) const {
  const auto resource = group_resource(*item.kind);
  if (is_generated(item, draft)) return apimachinery::generate_name_conflict(resource, draft.name);
  const ObjectRef rival =
      cache_.of(*item.kind)
          .find(watchcache::object_key(*item.kind, item.namespace_name, draft.name));
  return rival->deleting ? apimachinery::being_deleted(resource, draft.name)
                         : apimachinery::already_exists(resource, draft.name);
}

Bytes ObjectWriter::answer_of(const Draft& draft, store::Committed committed) {
  if (draft.change.kind == Change::Kind::put && committed.revision > 0)
    return Bytes(watchcache::served_text(
        draft.stored, {committed.revision, committed.position + *draft.position}));
  if (draft.change.object.is_null() && draft.live) return served_bytes(draft.live);
  return Bytes(wire::encode_json(draft.change.object));
}

std::vector<Written> ObjectWriter::outcome(std::vector<Draft> drafts, store::Committed committed) {
  std::vector<Written> written;
  for (Draft& draft : drafts) {
    written.push_back({.change = draft.change.kind,
                       .created = draft.change.creates,
                       .name = std::move(draft.name),
                       .uid = draft.live ? draft.live->uid : "",
                       .object = answer_of(draft, committed)});
  }
  return written;
}

// For a refusal, what admissions know comes first: they look at what they refused on before that
// changes in any other way.
Task<Result<bool>> ObjectWriter::catch_up(const std::vector<WriteItem>& items, bool refused,
                                          store::Revision drafted_on) {
  bool changed = false;
  for (std::size_t i = 0; refused && i < admissions_.size(); ++i) {
    FL_CO_TRY(const bool news, co_await admissions_[i]->catch_up(items));
    changed = changed || news;
  }
  FL_CO_CHECKED(co_await cache_.fresh());
  co_return changed || cache_.revision() != drafted_on;
}

Task<WriteResult<std::vector<Written>>> ObjectWriter::write_all(std::vector<WriteItem> items,
                                                                bool dry_run) {
  bool fresh = false, refused = false;
  int names_tried = 0;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const store::Revision drafted_on = cache_.revision();
    Round round = draft_all(items);
    if (round.name_generated && ++names_tried < apimachinery::kGenerateNameAttempts) continue;
    const bool commits = !round.refusal && !dry_run && !round.transaction.operations.empty();
    if (!commits && (!fresh || (round.refusal && !refused))) {
      round.holds.clear();
      refused = round.refusal.has_value();
      const Result<bool> changed = co_await catch_up(items, refused, drafted_on);
      if (!changed) co_return failed(changed.error());
      fresh = true;
      if (*changed) continue;
    }
    if (round.refusal) co_return failed(std::move(*round.refusal));
    if (!commits) co_return outcome(std::move(round.drafts), {});

    Result<store::Committed> committed = co_await store_.commit(std::move(round.transaction));
    if (committed) {
      for (const auto& hold : round.holds) hold->committed();
      co_return outcome(std::move(round.drafts), *committed);
    }
    if (committed.error().code != Code::conflict) co_return failed(committed.error());
    round.holds.clear();
    const Result<> synced = co_await cache_.fresh();
    if (!synced) co_return failed(synced.error());
    fresh = true;
  }
  co_return failed(apimachinery::server_timeout(group_resource(*items.front().kind), "write", 1));
}

}  // namespace fairlead::apiserver
