// AnswerCache: answers of a host cluster, each good for the same short time, in bounded memory.
//
// Pure: time is a parameter. Keys are digests, so nothing secret is kept and an entry's size does
// not depend on the request. All answers of one cache live equally long; positive and negative
// answers need two caches, so that a flood of negative ones evicts no positive one.
//
// Invariants
//   1. At most `limit` answers; the oldest is evicted.
//   2. No answer is found `life` after it was put.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

#include "api/identity/digest.h"
#include "foundation/base/check.h"
#include "foundation/runtime/time.h"

namespace fairlead::delegation {

template <class Answer>
class AnswerCache {
 public:
  AnswerCache(std::size_t limit, Duration life) : limit_(limit), life_(life) { CHECK(limit > 0); }

  // Valid until the next put(); null when there is none that still holds.
  const Answer* find(const identity::Digest& key, Instant now) const {
    const auto at = index_.find(key);
    return at != index_.end() && now < at->second->until ? &at->second->answer : nullptr;
  }

  // Replaces an older answer. REQUIRES: `now` never goes back.
  void put(const identity::Digest& key, Answer answer, Instant now) {
    erase(key);
    while (!entries_.empty() && (entries_.size() >= limit_ || entries_.front().until <= now)) {
      index_.erase(entries_.front().key);
      entries_.pop_front();
    }
    entries_.push_back({key, std::move(answer), now + life_});
    index_.emplace(key, std::prev(entries_.end()));
  }

  void erase(const identity::Digest& key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return;
    entries_.erase(at->second);
    index_.erase(at);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    identity::Digest key;
    Answer answer;
    Instant until;
  };
  std::size_t limit_;
  Duration life_;
  std::list<Entry> entries_;  // oldest first, hence also the next to end first
  std::unordered_map<identity::Digest, typename std::list<Entry>::iterator, identity::DigestHash>
      index_;
};

}  // namespace fairlead::delegation
