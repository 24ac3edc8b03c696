#include "api/watchcache/subscriber_index.h"

#include <algorithm>

#include "foundation/base/check.h"

namespace fairlead::watchcache {
namespace {

std::string_view value_of(const Object& object, int field) {
  if (field == FieldTerm::kName) return object.name;
  if (field == FieldTerm::kNamespace) return object.namespace_name;
  return object.fields.at(static_cast<std::size_t>(field));
}

}  // namespace

bool Selection::matches(const Object& object) const {
  if (!namespace_name.empty() && object.namespace_name != namespace_name) return false;
  if (!name.empty() && object.name != name) return false;
  for (const FieldTerm& term : fields)
    if ((value_of(object, term.field) == term.value) != term.equals) return false;
  return !labels || labels(object);
}

SubscriberIndex::TermKey SubscriberIndex::filed_under(const Selection& selection) {
  if (!selection.name.empty()) return {Term::name, 0, selection.name};
  for (const FieldTerm& term : selection.fields)
    if (term.equals && term.field >= 0) return {Term::field, term.field, term.value};
  if (!selection.namespace_name.empty()) return {Term::namespace_name, 0, selection.namespace_name};
  return {};
}

void SubscriberIndex::add(Id id, const Selection& selection) {
  TermKey key = filed_under(selection);
  if (key.term == Term::field) ++fields_in_use_[key.field];
  std::vector<Id>& ids = filed_[std::move(key)];
  CHECK(ids.empty() || ids.back() < id);
  ids.push_back(id);
  ++size_;
}

void SubscriberIndex::remove(Id id, const Selection& selection) {
  const TermKey key = filed_under(selection);
  const auto entry = filed_.find(key);
  CHECK(entry != filed_.end());
  std::vector<Id>& ids = entry->second;
  const auto at = std::ranges::lower_bound(ids, id);
  CHECK(at != ids.end() && *at == id);
  ids.erase(at);
  if (ids.empty()) filed_.erase(entry);
  if (key.term == Term::field && --fields_in_use_[key.field] == 0) fields_in_use_.erase(key.field);
  --size_;
}

void SubscriberIndex::collect(TermView term, std::vector<Id>& into) const {
  const auto entry = filed_.find(term);
  if (entry != filed_.end()) into.insert(into.end(), entry->second.begin(), entry->second.end());
}

void SubscriberIndex::collect(const Object& object, std::vector<Id>& into) const {
  collect({Term::everything, 0, {}}, into);
  collect({Term::namespace_name, 0, object.namespace_name}, into);
  collect({Term::name, 0, object.name}, into);
  for (const auto& [field, users] : fields_in_use_)
    collect({Term::field, field, value_of(object, field)}, into);
}

std::vector<SubscriberIndex::Id> SubscriberIndex::candidates(const Object* before,
                                                             const Object* after) const {
  std::vector<Id> ids;
  if (size_ == 0) return ids;
  if (before) collect(*before, ids);
  if (after) collect(*after, ids);
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

}  // namespace fairlead::watchcache
