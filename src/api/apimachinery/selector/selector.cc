#include "api/apimachinery/selector/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "api/apimachinery/selector/label_parser.h"

namespace fairlead::apimachinery {
namespace {

using Operator = LabelSelector::Operator;

// A selector longer than this is an attack, not a question.
constexpr std::size_t kMaxSelectorBytes = 64 << 10;
// A watch keeps its selector, in many times the room of its text.
constexpr std::size_t kMaxRequirements = 100;
constexpr std::size_t kMaxSelectorValues = 1'000;

std::optional<std::int64_t> as_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool compare_numbers(std::string_view label, std::string_view bound, bool greater) {
  const auto left = as_integer(label);
  const auto right = as_integer(bound);
  if (!left || !right) return false;
  return greater ? *left > *right : *left < *right;
}

bool holds(const std::vector<std::string>& values, std::string_view value) {
  return std::binary_search(values.begin(), values.end(), value, std::less<>());
}

std::string_view operator_text(Operator op) {
  switch (op) {
    case Operator::equals:
      return "=";
    case Operator::double_equals:
      return "==";
    case Operator::not_equals:
      return "!=";
    case Operator::in:
      return " in ";
    case Operator::not_in:
      return " notin ";
    case Operator::greater:
      return ">";
    case Operator::less:
      return "<";
    case Operator::exists:
    case Operator::not_exists:
      break;
  }
  return "";
}

}  // namespace

bool LabelSelector::Requirement::matches(std::optional<std::string_view> value) const {
  switch (op) {
    case Operator::exists:
      return value.has_value();
    case Operator::not_exists:
      return !value;
    case Operator::equals:
    case Operator::double_equals:
    case Operator::in:
      return value && holds(values, *value);
    case Operator::not_equals:
    case Operator::not_in:
      return !value || !holds(values, *value);
    case Operator::greater:
      return value && compare_numbers(*value, values.front(), true);
    case Operator::less:
      return value && compare_numbers(*value, values.front(), false);
  }
  return false;
}

std::string LabelSelector::Requirement::to_string() const {
  if (op == Operator::exists) return key;
  if (op == Operator::not_exists) return "!" + key;
  const bool set = op == Operator::in || op == Operator::not_in;
  const std::string joined = fmt::format("{}", fmt::join(values, ","));
  return fmt::format("{}{}{}{}{}", key, operator_text(op), set ? "(" : "", joined, set ? ")" : "");
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  if (text.size() > kMaxSelectorBytes) return fail(Code::invalid, "label selector is too long");
  LabelSelector selector;
  FL_TRY(selector.requirements_, parse_label_requirements(text));
  std::size_t values = 0;
  for (const Requirement& requirement : selector.requirements_) values += requirement.values.size();
  if (selector.requirements_.size() > kMaxRequirements || values > kMaxSelectorValues)
    return fail(Code::invalid, fmt::format("label selector: more than {} requirements or {} values",
                                           kMaxRequirements, kMaxSelectorValues));
  std::sort(selector.requirements_.begin(), selector.requirements_.end(),
            [](const Requirement& a, const Requirement& b) {
              return std::tie(a.key, a.op, a.values) < std::tie(b.key, b.op, b.values);
            });
  selector.requirements_.shrink_to_fit();
  return selector;
}

bool LabelSelector::matches(const Json& object) const {
  if (requirements_.empty()) return true;
  const Json* labels = wire::find(object, "metadata.labels");
  return matches_labels(labels ? labels->if_object() : nullptr);
}

bool LabelSelector::matches_labels(const JsonObject* labels) const {
  for (const Requirement& requirement : requirements_) {
    std::optional<std::string_view> value;
    if (labels) {
      const Json* found = labels->if_contains(requirement.key);
      if (found && found->is_string()) value = std::string_view(found->get_string());
    }
    if (!requirement.matches(value)) return false;
  }
  return true;
}

std::string LabelSelector::to_string() const {
  std::string out;
  for (const Requirement& requirement : requirements_) {
    if (!out.empty()) out += ',';
    out += requirement.to_string();
  }
  return out;
}

}  // namespace fairlead::apimachinery
