// SubscriberIndex: finds the watchers that an event may match. A watcher is indexed once, under the
// most specific term of its selection (name, else a selected field with one value, else the
// namespace, else none). An event is looked up by the terms of its old and its new object, so its
// cost depends on the matches, not on the number of watchers. The rest of a selection runs on those
// candidates only.
//
// Pure; candidates come in order of subscription.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/watchcache/stored_object.h"

namespace fairlead::watchcache {

struct FieldTerm {
  static constexpr int kName = -1;       // metadata.name
  static constexpr int kNamespace = -2;  // metadata.namespace
  int field = kName;                     // else an index into kind.selectable
  std::string value;
  bool equals = true;
};

// Which objects of one kind a list or watch is about.
struct Selection {
  std::string namespace_name;  // empty: all namespaces
  std::string name;            // empty: any name
  std::vector<FieldTerm> fields;
  std::function<bool(const Object&)> labels;  // null: any labels

  bool matches(const Object& object) const;
};

class SubscriberIndex {
 public:
  using Id = std::uint64_t;

  // REQUIRES: `id` is larger than every one added before.
  void add(Id id, const Selection& selection);
  void remove(Id id, const Selection& selection);

  // Watchers whose filed term fits `before` or `after` (either may be null), ascending, none twice.
  std::vector<Id> candidates(const Object* before, const Object* after) const;
  std::size_t size() const { return size_; }

 private:
  // Where a watcher is filed: under a name, a field's value, a namespace or everything.
  enum class Term : std::uint8_t { everything, namespace_name, name, field };
  struct TermKey {
    Term term = Term::everything;
    int field = 0;
    std::string value;
    auto operator<=>(const TermKey&) const = default;
  };
  struct TermView {
    Term term;
    int field;
    std::string_view value;
  };
  struct Less {
    using is_transparent = void;
    static std::tuple<Term, int, std::string_view> tie(const TermKey& key) {
      return {key.term, key.field, key.value};
    }
    static std::tuple<Term, int, std::string_view> tie(const TermView& key) {
      return {key.term, key.field, key.value};
    }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return tie(a) < tie(b);
    }
  };
  static TermKey filed_under(const Selection& selection);
  void collect(const Object& object, std::vector<Id>& into) const;
  void collect(TermView term, std::vector<Id>& into) const;

  std::map<TermKey, std::vector<Id>, Less> filed_;
  std::map<int, std::size_t>
      fields_in_use_;  // only fields some watcher is filed under are looked up
  std::size_t size_ = 0;
};

}  // namespace fairlead::watchcache
