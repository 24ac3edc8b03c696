#include "api/apimachinery/apply/field_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/apimachinery/request/quoted.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::size_t kMaxDepth = 100;

int rank(std::string_view element) {
  switch (element.front()) {
    case 'f':
      return 0;
    case 'k':
      return 1;
    case 'v':
      return 2;
    default:
      return 3;
  }
}

bool before(std::string_view a, std::string_view b) {
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  return rank_a != rank_b ? rank_a < rank_b : a < b;
}

bool node_before(const FieldNode& a, const FieldNode& b) { return before(a.element, b.element); }

// Brings the JSON inside k: and v: into the one form that comparing texts relies on.
Result<std::string> canonical_element(std::string_view text) {
  if (text.size() < 2 || text[1] != ':') {
    return fail(Code::invalid, fmt::format("bad path element {}", quoted(text)));
  }
  switch (text[0]) {
    case 'f':
      return std::string(text);
    case 'i': {
      int index = 0;
      const std::string_view digits = text.substr(2);
      const auto [end, status] =
          std::from_chars(digits.data(), digits.data() + digits.size(), index);
      if (status != std::errc{} || end != digits.data() + digits.size()) break;
      return fmt::format("i:{}", index);
    }
    case 'k': {
      auto parsed = wire::parse_json(text.substr(2));
      if (!parsed || !parsed->value.is_object()) break;
      return key_element(parsed->value.get_object());
    }
    case 'v': {
      auto parsed = wire::parse_json(text.substr(2));
      if (!parsed) break;
      return "v:" + wire::encode_json(parsed->value);
    }
    default:
      break;
  }
  return fail(Code::invalid, fmt::format("bad path element {}", quoted(text)));
}

Result<FieldSet> parse_level(const JsonObject& object, std::size_t depth);

Result<FieldNode> parse_node(std::string_view key, const Json& value, std::size_t depth) {
  FieldNode node;
  FL_TRY(node.element, canonical_element(key));
  const JsonObject* children = value.if_object();
  if (!children) return fail(Code::invalid, "a field set holds objects only");
  node.member = children->empty() || children->contains(".");
  FL_TRY(node.below, parse_level(*children, depth + 1));
  return node;
}

Result<FieldSet> parse_level(const JsonObject& object, std::size_t depth) {
  if (depth > kMaxDepth) return fail(Code::invalid, "field set is too deep");
  std::vector<FieldNode> nodes;
  nodes.reserve(object.size());
  for (const auto& member : object) {
    if (member.key() == ".") continue;
    FL_TRY(FieldNode node, parse_node(member.key(), member.value(), depth));
    nodes.push_back(std::move(node));
  }
  return FieldSet::from_nodes(std::move(nodes));
}

void collect_paths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& out) {
  for (const FieldNode& node : set.nodes()) {
    if (node.member) out.push_back(prefix + element_text(node.element));
  }
  for (const FieldNode& node : set.nodes()) {
    if (!node.below.empty()) collect_paths(node.below, prefix + element_text(node.element), out);
  }
}

// Walks two sorted levels at once; `visit` sees each element with the node of either side, if any.
template <class Visit>
void zip(const std::vector<FieldNode>& a, const std::vector<FieldNode>& b, Visit visit) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && before(a[i].element, b[j].element))) {
      visit(&a[i++], nullptr);
    } else if (i == a.size() || before(b[j].element, a[i].element)) {
      visit(nullptr, &b[j++]);
    } else {
      visit(&a[i++], &b[j++]);
    }
  }
}

void push_if_any(std::vector<FieldNode>& nodes, FieldNode node) {
  if (!node.empty()) nodes.push_back(std::move(node));
}

}  // namespace

FieldSet::FieldSet() = default;
FieldSet::~FieldSet() = default;
FieldSet::FieldSet(const FieldSet&) = default;
FieldSet::FieldSet(FieldSet&&) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet&) = default;
FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;

bool FieldSet::operator==(const FieldSet& other) const { return nodes_ == other.nodes_; }

Result<FieldSet> FieldSet::parse(const Json& fields_v1) {
  const JsonObject* object = fields_v1.if_object();
  if (!object) return fail(Code::invalid, "fieldsV1 must be an object");
  return parse_level(*object, 0);
}

JsonObject FieldSet::encode() const {
  JsonObject object;
  object.reserve(nodes_.size() + 1);
  for (const FieldNode& node : nodes_) {
    JsonObject below;
    if (!node.below.empty()) {
      // "." comes first, so that a reader sees at once that the parent is owned too.
      if (node.member) below.emplace(".", JsonObject());
      JsonObject children = node.below.encode();
      for (auto& child : children) below.emplace(child.key(), std::move(child.value()));
    }
    object.emplace(node.element, std::move(below));
  }
  return object;
}

FieldSet FieldSet::from_nodes(std::vector<FieldNode> nodes) {
  std::erase_if(nodes, [](const FieldNode& node) { return node.empty(); });
  if (!std::is_sorted(nodes.begin(), nodes.end(), node_before)) {
    std::sort(nodes.begin(), nodes.end(), node_before);
  }
  FieldSet set;
  set.nodes_ = std::move(nodes);
  set.join_equal_nodes();
  return set;
}

// Two spellings of one key become one node; only sets parsed from a client's text can hold them.
void FieldSet::join_equal_nodes() {
  const auto same = [](const FieldNode& a, const FieldNode& b) { return a.element == b.element; };
  if (std::adjacent_find(nodes_.begin(), nodes_.end(), same) == nodes_.end()) return;
  std::vector<FieldNode> joined;
  for (FieldNode& node : nodes_) {
    if (joined.empty() || joined.back().element != node.element) {
      joined.push_back(std::move(node));
    } else {
      joined.back().member |= node.member;
      joined.back().below = joined.back().below.unite(node.below);
    }
  }
  nodes_ = std::move(joined);
}

const FieldNode* FieldSet::find(std::string_view element) const {
  const auto it = std::lower_bound(
      nodes_.begin(), nodes_.end(), element,
      [](const FieldNode& node, std::string_view wanted) { return before(node.element, wanted); });
  return it != nodes_.end() && it->element == element ? &*it : nullptr;
}

void FieldSet::insert(const std::vector<std::string>& path) {
  FieldSet* set = this;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto it = std::lower_bound(set->nodes_.begin(), set->nodes_.end(), path[i],
                                     [](const FieldNode& node, const std::string& wanted) {
                                       return before(node.element, wanted);
                                     });
    const bool found = it != set->nodes_.end() && it->element == path[i];
    FieldNode& node = found ? *it : *set->nodes_.insert(it, FieldNode{path[i], false, {}});
    if (i + 1 == path.size()) node.member = true;
    set = &node.below;
  }
}

bool FieldSet::contains(const std::vector<std::string>& path) const {
  const FieldSet* set = this;
  const FieldNode* node = nullptr;
  for (const std::string& element : path) {
    node = set->find(element);
    if (!node) return false;
    set = &node->below;
  }
  return node && node->member;
}

FieldSet FieldSet::unite(const FieldSet& other) const {
  FieldSet out;
  out.nodes_.reserve(std::max(nodes_.size(), other.nodes_.size()));
  zip(nodes_, other.nodes_, [&](const FieldNode* a, const FieldNode* b) {
    if (a && b) {
      out.nodes_.push_back({a->element, a->member || b->member, a->below.unite(b->below)});
    } else {
      out.nodes_.push_back(a ? *a : *b);
    }
  });
  return out;
}

FieldSet FieldSet::intersect(const FieldSet& other) const {
  FieldSet out;
  zip(nodes_, other.nodes_, [&](const FieldNode* a, const FieldNode* b) {
    if (!a || !b) return;
    push_if_any(out.nodes_, {a->element, a->member && b->member, a->below.intersect(b->below)});
  });
  return out;
}

FieldSet FieldSet::subtract(const FieldSet& other) const {
  FieldSet out;
  zip(nodes_, other.nodes_, [&](const FieldNode* a, const FieldNode* b) {
    if (!a) return;
    if (!b) {
      out.nodes_.push_back(*a);
    } else {
      push_if_any(out.nodes_, {a->element, a->member && !b->member, a->below.subtract(b->below)});
    }
  });
  return out;
}

FieldSet FieldSet::subtract_below(const FieldSet& other) const {
  FieldSet out;
  zip(nodes_, other.nodes_, [&](const FieldNode* a, const FieldNode* b) {
    if (!a || (b && b->member)) return;
    if (!b) {
      out.nodes_.push_back(*a);
    } else {
      push_if_any(out.nodes_, {a->element, a->member, a->below.subtract_below(b->below)});
    }
  });
  return out;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  collect_paths(*this, "", out);
  return out;
}

std::string key_element(const JsonObject& keys) {
  std::vector<std::pair<std::string_view, const Json*>> sorted;
  for (const auto& key : keys) sorted.emplace_back(key.key(), &key.value());
  std::sort(sorted.begin(), sorted.end());
  std::string out = "k:{";
  for (const auto& [name, value] : sorted) {
    if (out.size() > 3) out += ',';
    out += wire::encode_json(Json(name)) + ":" + wire::encode_json(*value);
  }
  return out + "}";
}

std::string element_text(std::string_view element) {
  const std::string_view rest = element.substr(2);
  switch (element.front()) {
    case 'f':
      return fmt::format(".{}", rest);
    case 'v':
      return fmt::format("[={}]", rest);
    case 'i':
      return fmt::format("[{}]", rest);
    default:
      break;
  }
  const auto parsed = wire::parse_json(rest);
  if (!parsed || !parsed->value.is_object()) return fmt::format("[{}]", rest);
  std::string out;
  for (const auto& key : parsed->value.get_object()) {
    out += out.empty() ? "[" : ",";
    out += fmt::format("{}={}", std::string_view(key.key()), wire::encode_json(key.value()));
  }
  return out + "]";
}

}  // namespace fairlead::apimachinery
