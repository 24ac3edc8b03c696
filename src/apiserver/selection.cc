#include "apiserver/selection.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/check.h"

namespace fairlead::apiserver {

using apimachinery::LabelSelector;
using watchcache::FieldTerm;
using watchcache::Object;
using watchcache::Selection;

namespace {

int field_number(const resource::Kind& kind, std::string_view path) {
  if (path == "metadata.name") return FieldTerm::kName;
  if (path == "metadata.namespace") return FieldTerm::kNamespace;
  const auto at = std::ranges::find(kind.selectable, path);
  CHECK(at != kind.selectable.end());
  return static_cast<int>(at - kind.selectable.begin());
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
