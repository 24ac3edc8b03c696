// Request targets: "/api/v1/pods?labelSelector=a%3Db" taken apart and put together. Pure and
// strict.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fairlead::http {

// %XX only with two hex digits; a decoded NUL is refused. `plus_is_space` for queries.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
// Everything but unreserved characters (letters, digits, - . _ ~) becomes %XX.
std::string percent_encode(std::string_view text);

// The parameters of a query in their order; a name may occur several times.
class Query {
 public:
  Query() = default;
  Query(std::initializer_list<std::pair<std::string, std::string>> parameters)
      : parameters_(parameters) {}
  static Result<Query> parse(std::string_view text);  // without the '?'

  void add(std::string name, std::string value) {
    parameters_.emplace_back(std::move(name), std::move(value));
  }
  // The first value of that name; empty when absent.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  bool empty() const { return parameters_.empty(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::string encode() const;  // without the '?'

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

struct Target {
  std::string path;  // as sent, still encoded
  Query query;
};

// Fails with invalid on a malformed escape in the query.
Result<Target> parse_target(std::string_view target);

// The decoded segments of a path: "/a/b%2Fc/" → {"a", "b/c", ""}. Fails with invalid on a path that
// does not begin with '/', on a malformed escape, and on the segments "." and "..".
Result<std::vector<std::string>> path_segments(std::string_view path);

}  // namespace fairlead::http
