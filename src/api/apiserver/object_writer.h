// ObjectWriter: commits what a plan decided, against the live object it was decided on.
//
// The live object comes from the watch cache, which may lag behind a shared store; the commit
// compares its revision, and on a conflict the cache is brought up to date and the plan is asked
// again.
//
// What holds:
//   1. Every outcome other than a commit (a refusal, nothing to do, a dry run) was decided on a
//      state that was current at some time after the write began.
//   2. Such an outcome is decided once if the cache was current already: the plan is asked again
//      only if bringing the cache, or what an admission knows, up to date showed something new.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/apimachinery/status.h"
#include "api/apiserver/write_plan.h"
#include "api/identity/authorizer.h"
#include "api/store/store.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/base/bytes.h"
#include "foundation/runtime/task.h"

namespace fairlead::apiserver {

// One write of one object. `plan` gets the live object, or null when there is none; it may be
// called several times.
struct WriteItem {
  const resource::Kind* kind = nullptr;
  std::string namespace_name;
  std::string name;     // empty: a create, whose plan makes the name
  bool create = false;  // must not exist
  std::function<Answer<Change>(const Json* live)> plan;
  const identity::Attributes* attributes = nullptr;  // of the request; null: the server itself
  // Further compares of the transaction. When one fails, `plan` is called again; if the write
  // depends on what was compared, the plan must refuse it then.
  std::vector<store::Compare> conditions{};
};

struct Written {
  Change::Kind change = Change::Kind::none;
  bool created = false;
  std::string name;
  std::string uid;  // of an object that existed before
  Bytes object;     // as served: the new version; the last one of an unchanged or erased object
};

// Why a write was not carried out: an Error, whose code callers inside the server distinguish. What
// an HTTP client is told is made of it at the edge, by status().
struct Refusal : Error {
  explicit Refusal(Error error) : Error(std::move(error)) {}  // the store or the cache failed
  // A plan or an admission refused it, in Kubernetes' words.
  explicit Refusal(Status status)
      : Error(apimachinery::error_of(status)),
        words_(std::make_shared<const Status>(std::move(status))) {}

  // The object is gone, or another one by now.
  bool about_another_object() const {
    return code == Code::not_found || code == Code::conflict || code == Code::already_exists;
  }
  Status status() const { return words_ ? *words_ : apimachinery::status_of(*this); }

 private:
  std::shared_ptr<const Status> words_;  // null: those of any Error of that code
};

// Its error converts to that of a Result.
template <class T>
using WriteResult = std::expected<T, Refusal>;

// Admission: sees every write before it is committed. It may refuse the write, change what the
// server owns of the object (its status), or add compares and operations to the transaction.
class Admission {
 public:
  // What an admission reserved for a write. Destroyed when the outcome of the write is known.
  class Hold {
   public:
    virtual ~Hold() = default;
    virtual void committed() = 0;  // not called when the write failed or its outcome is unknown
  };
  using Holds = std::vector<std::unique_ptr<Hold>>;

  struct Proposal {
    const resource::Kind& kind;
    std::string_view namespace_name;
    std::string_view name;
    const identity::Attributes* attributes;
    const Json* live;      // null on create
    Json* desired;         // null on erase
    std::size_t together;  // the number of objects written in the transaction
    Holds& holds;
  };
  virtual ~Admission() = default;
  virtual Answer<> admit(const Proposal& proposal, store::Transaction& transaction) = 0;
  // Called again once the object is encoded, with its size in the store.
  virtual Answer<> admit_size(const Proposal&, std::size_t) { return {}; }
  // Called when `items` are about to be refused, before anything that admit() saw can have changed:
  // brings what admit() decides on, other than the watch cache, up to date. True: it has changed,
  // and the write is decided again.
  virtual Task<Result<bool>> catch_up(const std::vector<WriteItem>& items);
};

class ObjectWriter {
 public:
  ObjectWriter(store::Store& store, watchcache::WatchCache& cache);

  // Admissions run in the order in which they were added; not owned.
  void add_admission(Admission& admission) { admissions_.push_back(&admission); }

  Task<WriteResult<Written>> write(WriteItem item, bool dry_run = false);

  // All or nothing, in one commit. A refusal names the operation it came from: "operations[2]: …".
  Task<WriteResult<std::vector<Written>>> write_all(std::vector<WriteItem> items,
                                                    bool dry_run = false);

 private:
  struct Draft;
  struct Round;
  Answer<Draft> draft(const WriteItem& item, Round& round) const;
  Round draft_all(const std::vector<WriteItem>& items) const;
  // Brings what was drafted on up to date. True: it has changed since.
  Task<Result<bool>> catch_up(const std::vector<WriteItem>& items, bool refused,
                              store::Revision drafted_on);
  Status name_taken(const WriteItem& item, const Draft& draft) const;
  static bool is_generated(const WriteItem& item, const Draft& draft);
  // `revision` 0: nothing was committed.
  static Bytes answer_of(const Draft& draft, store::Committed committed);
  static std::vector<Written> outcome(std::vector<Draft> drafts, store::Committed committed);

  store::Store& store_;
  watchcache::WatchCache& cache_;
  std::vector<Admission*> admissions_;
};

}  // namespace fairlead::apiserver
