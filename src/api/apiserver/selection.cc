#include "api/apiserver/selection.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "foundation/base/check.h"

namespace fairlead::apiserver {

using apimachinery::LabelSelector;
using watchcache::FieldTerm;
using watchcache::Object;
using watchcache::Selection;

namespace {

// The place of a field among the values that the cache keeps of each object.
int field_number(const resource::Kind& kind, std::string_view path) {
  if (path == "metadata.name") return FieldTerm::kName;
  if (path == "metadata.namespace") return FieldTerm::kNamespace;
  if (kind.view) {
    const auto renamed =
        std::ranges::find(kind.view->paths, path, &std::pair<std::string, std::string>::first);
    CHECK(renamed != kind.view->paths.end());
    path = renamed->second;
  }
  const std::vector<std::string>& selectable = kind.storage().selectable;
  const auto at = std::ranges::find(selectable, path);
  CHECK(at != selectable.end());
  return static_cast<int>(at - selectable.begin());
}

}  // namespace

Selection make_selection(const resource::Kind& kind, std::string_view namespace_name,
                         std::string_view name, const apimachinery::ListOptions& options) {
  Selection selection;
  selection.namespace_name = namespace_name;
  selection.name = name;
  for (const auto& term : options.fields.terms()) {
    selection.fields.push_back({field_number(kind, term.path), term.value, term.equal});
    if (term.equal && term.path == "metadata.name" && name.empty()) selection.name = term.value;
  }
  if (!options.labels.empty()) {
    auto requirements = std::make_shared<const std::vector<LabelSelector::Requirement>>(
        options.labels.requirements());
    selection.labels = [requirements](const Object& object) {
      return std::ranges::all_of(*requirements, [&](const LabelSelector::Requirement& requirement) {
        std::optional<std::string_view> value;
        if (object.has_label(requirement.key)) value = object.label(requirement.key);
        return requirement.matches(value);
      });
    };
  }
  return selection;
}

}  // namespace fairlead::apiserver
