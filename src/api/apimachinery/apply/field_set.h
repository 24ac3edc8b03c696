// FieldSet: a set of field paths as managedFields keep them (FieldsV1), as a trie.
//
// An element is kept in its encoded form: `f:spec` a named field, `k:{"name":"x"}` the list item
// with that key, `v:"x"` the set member, `i:0` the item at an index. A path may be in the set
// without its parents or its children being in it. Pure value.
//
// Invariant: children are sorted by (f < k < v < i, then text), unique, and none is empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

struct FieldNode;

class FieldSet {
 public:
  FieldSet();
  ~FieldSet();
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;

  // fieldsV1 of a managedFields entry. Fails with invalid; at most 100 levels.
  static Result<FieldSet> parse(const Json& fields_v1);
  JsonObject encode() const;

  bool empty() const { return nodes_.empty(); }
  bool operator==(const FieldSet& other) const;

  void insert(const std::vector<std::string>& path);
  bool contains(const std::vector<std::string>& path) const;

  FieldSet unite(const FieldSet& other) const;
  FieldSet intersect(const FieldSet& other) const;
  // Paths of this set that are not in `other`; children of a path in `other` stay.
  FieldSet subtract(const FieldSet& other) const;
  // The same without what lies at or below a path of `other`.
  FieldSet subtract_below(const FieldSet& other) const;

  // ".spec.ports[port=80,protocol=\"TCP\"].name", in the order of the trie, parents before
  // children.
  std::vector<std::string> paths() const;

  // For walkers that build or follow a set level by level. from_nodes sorts and drops empty nodes.
  // REQUIRES: elements are unique.
  static FieldSet from_nodes(std::vector<FieldNode> nodes);
  const FieldNode* find(std::string_view element) const;
  const std::vector<FieldNode>& nodes() const { return nodes_; }

 private:
  void join_equal_nodes();
  std::vector<FieldNode> nodes_;
};

struct FieldNode {
  std::string element;
  bool member = false;  // the path that ends here is in the set
  FieldSet below;

  bool empty() const { return !member && below.empty(); }
  bool operator==(const FieldNode&) const = default;
};

// `k:{…}` for a list item with these key fields, in the one form that sets compare.
std::string key_element(const JsonObject& keys);

// One element for people: `.spec`, `[name="x"]`, `[="x"]`, `[0]`.
std::string element_text(std::string_view element);

}  // namespace fairlead::apimachinery
