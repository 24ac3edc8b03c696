// Turns: runs heavy pieces of work one at a time, first come first served, and lets all other
// fibers run in between.
//
// The server has one loop. If three hundred long lists each encoded their next piece as soon as
// they could, every other connection would wait for three hundred pieces; with turns it waits for
// one. Runs on one loop.
#pragma once

#include <list>
#include <string>

#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

class Turns {
 public:
  explicit Turns(runtime::Runtime& runtime) : runtime_(runtime) {}

  // Runs `work` when it is this caller's turn and returns its value. Fails only when cancelled
  // before that.
  template <class Work>
  Task<Result<std::string>> take(Work& work) {
    if (taken_ || !waiting_.empty()) {
      Place place(*this);
      while (taken_ || waiting_.front() != &place) {
        FL_CO_CHECKED(co_await place.called.wait());
      }
    }
    const Holder holder(*this);
    std::string made = work();
    co_await runtime::yield(runtime_);  // all other fibers first, then the next turn
    co_return made;
  }

 private:
  // A place in the queue, given up when its owner goes on or is cancelled.
  struct Place {
    explicit Place(Turns& owner)
        : turns(owner), at(turns.waiting_.insert(turns.waiting_.end(), this)) {}
    Place(const Place&) = delete;
    ~Place() {
      turns.waiting_.erase(at);
      turns.call_next();
    }
    Turns& turns;
    std::list<Place*>::iterator at;
    runtime::Signal called;
  };
  struct Holder {
    explicit Holder(Turns& owner) : turns(owner) { turns.taken_ = true; }
    Holder(const Holder&) = delete;
    ~Holder() {
      turns.taken_ = false;
      turns.call_next();
    }
    Turns& turns;
  };
  void call_next() {
    if (!taken_ && !waiting_.empty()) waiting_.front()->called.notify();
  }

  runtime::Runtime& runtime_;
  bool taken_ = false;
  std::list<Place*> waiting_;
};

}  // namespace fairlead::apiserver
