// The query part of a URL as decoded names and values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/result.h"

namespace fairlead::apimachinery {

class Query {
 public:
  Query() = default;
  // "limit=5&watch=true": '+' is a space, %XX is decoded. Fails with invalid on a broken escape or
  // more than 100 parameters.
  static Result<Query> parse(std::string_view text);

  // The first value of that name.
  std::optional<std::string_view> get(std::string_view name) const;
  std::string_view get_or_empty(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  bool has(std::string_view name) const { return get(name).has_value(); }
  bool empty() const { return values_.empty(); }
  void add(std::string name, std::string value) {
    values_.emplace_back(std::move(name), std::move(value));
  }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// %XX decoded; with `plus_is_space` also '+'.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space);

}  // namespace fairlead::apimachinery
