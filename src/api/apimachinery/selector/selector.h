// Label and field selectors: text → requirements → yes or no.
//
// The watch cache inspects requirements to index subscribers by `path=value`; everything else only
// calls matches(). Pure; parsing fails with invalid and the wording of Kubernetes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/kind.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

class LabelSelector {
 public:
  enum class Operator {
    exists,
    not_exists,
    equals,
    double_equals,
    not_equals,
    in,
    not_in,
    greater,
    less
  };
  struct Requirement {
    std::string key;
    Operator op = Operator::exists;
    std::vector<std::string> values;  // sorted, no duplicates

    // `value` is the label's value, nullopt when the object does not carry the label.
    bool matches(std::optional<std::string_view> value) const;
    std::string to_string() const;
    bool operator==(const Requirement&) const = default;
  };

  LabelSelector() = default;  // matches everything
  static Result<LabelSelector> parse(std::string_view text);

  bool empty() const { return requirements_.empty(); }
  bool matches(const Json& object) const;  // looks at metadata.labels
  bool matches_labels(const JsonObject* labels) const;
  const std::vector<Requirement>& requirements() const { return requirements_; }  // by key
  // Canonical text: equal selectors written differently give the same.
  std::string to_string() const;
  bool operator==(const LabelSelector&) const = default;

 private:
  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  struct Term {
    std::string path;
    bool equal = true;  // false: !=
    std::string value;
    bool operator==(const Term&) const = default;
  };

  FieldSelector() = default;  // matches everything
  static Result<FieldSelector> parse(std::string_view text);

  // Every path is metadata.name, metadata.namespace or one that the kind declares selectable;
  // else invalid, `field label not supported: spec.size`.
  Result<> check(const resource::Kind& kind) const;

  bool empty() const { return terms_.empty(); }
  bool matches(const Json& object) const;
  const std::vector<Term>& terms() const { return terms_; }
  // The value an `=` term demands of `path`, so that one key or one index entry is enough to look
  // at.
  std::optional<std::string_view> required(std::string_view path) const;
  std::string to_string() const;
  bool operator==(const FieldSelector&) const = default;

 private:
  std::vector<Term> terms_;
};

}  // namespace fairlead::apimachinery
