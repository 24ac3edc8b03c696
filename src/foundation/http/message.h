// HTTP messages as values, the same for HTTP/1.1 and HTTP/2 and for both sides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/bytes.h"

namespace fairlead::http {

// In order, names compared without case. HTTP/2 pseudo headers never appear here.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  void set(std::string_view name, std::string value);  // replaces every field of that name
  void remove(std::string_view name);
  // The first value of that name; empty when absent.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;

  void reserve(std::size_t fields) { fields_.reserve(fields); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

bool equals_ignoring_case(std::string_view a, std::string_view b);

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query exactly as sent: "/api/v1/nodes?limit=5"
  std::string authority;     // Host, or :authority
  Headers headers;
  std::string body;
};

struct ResponseHead {
  int status = 200;
  Headers headers;
};

// A whole response. The body is a run of shared pieces, sent one after the other without joining.
struct Response {
  int status = 200;
  Headers headers;
  std::vector<Bytes> body;

  std::size_t body_size() const;
  std::string body_text() const;  // joined copy
};

}  // namespace fairlead::http
